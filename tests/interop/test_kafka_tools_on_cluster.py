"""Tests of Apache Kafka's own command line tools on a cluster of three pybrokers, and with `--long` of Kafkas."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from support.clients.kafka_tools import run_tool
from support.processes.mixed_cluster import Kind, MixedCluster
from support.time.patience import await_that

BROKERS = (1, 2, 3)
KINDS = ["pybroker", pytest.param("kafka", marks=pytest.mark.long)]
SETTINGS = {"offsets.topic.replication.factor": "3", "offsets.topic.num.partitions": "1"}


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MixedCluster]:
    kinds: dict[int, Kind] = dict.fromkeys(BROKERS, request.param)
    cluster = MixedCluster(tmp_path, kinds, SETTINGS)
    cluster.start(*BROKERS)
    yield cluster
    cluster.close()


def produce(cluster: MixedCluster, topic: str, amount: int) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.servers})
    for number in range(amount):
        producer.produce(
            topic,
            b"%d" % number,
            partition=0,
            on_delivery=lambda error, _: failed.append(error) if error is not None else None,
        )
    producer.flush()
    assert not failed


def described(cluster: MixedCluster, flag: str) -> list[str]:
    """Returns the partitions that kafka-topics lists."""
    lines = cluster.tool("TopicCommand", "--describe", flag)
    return [f"{topic}-{number}" for topic, number in re.findall(r"Topic: (\S+)\tPartition: (\d+)", lines)]


def everything_described(cluster: MixedCluster) -> dict[str, list[str]]:
    flags = ("under-replicated", "at-min-isr", "under-min-isr", "unavailable")
    return {flag: sorted(described(cluster, f"--{flag}-partitions")) for flag in flags}


def isr(cluster: MixedCluster, partition: str) -> set[int]:
    topic, _, number = partition.rpartition("-")
    value = cluster.tree()[f"/brokers/topics/{topic}/partitions/{number}/state"].value
    assert isinstance(value, dict)
    return set(value["isr"])


def leader(cluster: MixedCluster, topic: str) -> int:
    return cluster.leaders(topic)[0]


def test_kafka_topics_lists_unhealthy_partitions(cluster: MixedCluster) -> None:
    cluster.create_topic("orders", [1, 2, 3], [2, 3, 1], config={"min.insync.replicas": "2"})
    cluster.create_topic("alone", [3])
    nothing: dict[str, list[str]] = {"under-replicated": [], "under-min-isr": [], "unavailable": []}
    assert everything_described(cluster) == {**nothing, "at-min-isr": ["alone-0"]}
    cluster.stop(3)
    await_that(lambda: isr(cluster, "orders-0") == isr(cluster, "orders-1") == {1, 2}, "broker 3 is out of sync")
    await_that(lambda: leader(cluster, "alone") == -1, "nobody leads")
    assert everything_described(cluster) == {
        "under-replicated": ["orders-0", "orders-1"],
        "at-min-isr": ["alone-0", "orders-0", "orders-1"],  # its only replica is in sync, but down
        "under-min-isr": ["alone-0"],
        "unavailable": ["alone-0"],
    }
    cluster.stop(2)
    await_that(lambda: isr(cluster, "orders-0") == isr(cluster, "orders-1") == {1}, "broker 2 is out of sync")
    assert everything_described(cluster) == {
        "under-replicated": ["orders-0", "orders-1"],
        "at-min-isr": ["alone-0"],
        "under-min-isr": ["alone-0", "orders-0", "orders-1"],
        "unavailable": ["alone-0"],
    }
    for broker_id in (2, 3):
        cluster.brokers[broker_id].start()
    cluster.await_in_sync()
    assert everything_described(cluster) == {**nothing, "at-min-isr": ["alone-0"]}


def test_kafka_reassign_partitions_moves_with_throttle_lists_and_cancels(cluster: MixedCluster, tmp_path: Path) -> None:
    cluster.create_topic("orders", [1, 2])
    produce(cluster, "orders", 1000)
    plan = tmp_path / "plan.json"

    def reassign(*arguments: str) -> str:
        """Runs the tool against brokers 1 (the controller) and 2: a tool that begins at a stopped broker waits for a
        minute.
        """
        servers = ",".join(cluster.brokers[each].bootstrap_servers for each in (1, 2))
        command = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        return run_tool(command, "--bootstrap-server", servers, *arguments)

    assert cluster.controller == 1
    wish = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [3, 2]}]}
    plan.write_text(json.dumps(wish))
    of_plan = ("--reassignment-json-file", str(plan))
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "orders"}]}))
    proposed = reassign("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3")
    assert '"topic":"orders","partition":0,"replicas":[1,2]' in proposed

    os.kill(cluster.brokers[3].pid, signal.SIGSTOP)  # the reassignment can't finish without it
    assert "Successfully started partition reassignment" in reassign("--execute", *of_plan)
    assert "orders-0: replicas: 3,2,1. adding: 3. removing: 1." in reassign("--list")
    assert "Reassignment of partition orders-0 is still in progress" in reassign(
        "--verify", *of_plan, "--preserve-throttles"
    )
    assert "Successfully cancelled partition reassignment" in reassign("--cancel", *of_plan, "--preserve-throttles")
    assert "No partition reassignments found" in reassign("--list")

    os.kill(cluster.brokers[3].pid, signal.SIGCONT)
    assert "Successfully started partition reassignment" in reassign("--execute", *of_plan, "--throttle", "1000000")
    cluster.await_in_sync()
    await_that(lambda: isr(cluster, "orders-0") == {2, 3}, "the replicas have moved")
    verified = reassign("--verify", *of_plan)
    assert "Reassignment of partition orders-0 is completed" in verified
    assert "Clearing broker-level throttles" in verified
    settings = {path: node.value for path, node in cluster.tree().items() if path.startswith("/config/")}
    assert not [path for path, value in settings.items() if "throttled" in json.dumps(value)]


def test_kafka_leader_election_elects_preferred_and_unclean_leaders(cluster: MixedCluster) -> None:
    cluster.create_topic("orders", [2, 3])
    elect = ("LeaderElectionCommand", "--topic", "orders", "--partition", "0", "--election-type")
    cluster.restart(2)
    cluster.await_in_sync()
    assert leader(cluster, "orders") == 3
    assert "Successfully completed leader election (PREFERRED)" in cluster.tool(*elect, "preferred")
    await_that(lambda: leader(cluster, "orders") == 2, "the preferred replica leads")
    assert "Valid replica already elected" in cluster.tool(*elect, "preferred")

    cluster.stop(3)
    await_that(lambda: isr(cluster, "orders-0") == {2}, "broker 3 is out of sync")
    cluster.stop(2)
    cluster.brokers[3].start()
    await_that(lambda: leader(cluster, "orders") == -1, "nobody in sync is there")
    assert "Successfully completed leader election (UNCLEAN)" in cluster.tool(*elect, "unclean")
    await_that(lambda: leader(cluster, "orders") == 3, "one that was out of sync leads")
    cluster.brokers[2].start()
    cluster.await_in_sync()


def test_kafka_configs_changes_one_broker_and_all_brokers(cluster: MixedCluster) -> None:
    def configs(*arguments: str) -> str:
        return run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", cluster.servers, *arguments)

    one, everyone = ("--entity-type", "brokers", "--entity-name", "2"), ("--entity-type", "brokers", "--entity-default")
    assert "Completed updating config for broker 2" in configs(*one, "--alter", "--add-config", "log.cleaner.threads=2")
    assert "Completed updating default config" in configs(*everyone, "--alter", "--add-config", "log.retention.ms=9999")
    assert re.search(
        r"log.cleaner.threads=2 .*DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2", configs(*one, "--describe")
    )
    assert "log.retention.ms=9999" in configs(*everyone, "--describe")
    for broker_id in ("1", "3"):
        shown = configs("--entity-type", "brokers", "--entity-name", broker_id, "--describe", "--all")
        assert "log.cleaner.threads=1 " in shown
        assert "log.retention.ms=9999 " in shown
    assert "Completed updating default config" in configs(*everyone, "--alter", "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in configs(*everyone, "--describe")


def test_kafka_consumer_groups_describes_resets_and_deletes(cluster: MixedCluster) -> None:
    cluster.create_topic("orders", [1, 2, 3])
    produce(cluster, "orders", 10)
    consumer = Consumer({"bootstrap.servers": cluster.servers, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    read = 0
    while read < 10:
        message = consumer.poll(1.0)
        read += message is not None and message.error() is None
    consumer.commit(asynchronous=False)

    def groups(*arguments: str) -> str:
        patience = ("--timeout", "300000")  # for a busy machine; the tool's own default is five seconds
        return cluster.tool("consumer.group.ConsumerGroupCommand", *arguments, *patience)

    assert groups("--list").splitlines() == ["readers"]
    assert re.search(r"readers +orders +0 +10 +10 +0 ", groups("--describe", "--group", "readers"))
    assert re.search(r"readers .*Stable +1", groups("--describe", "--group", "readers", "--state"))
    consumer.close()
    reset = ("--reset-offsets", "--group", "readers", "--topic", "orders", "--shift-by", "-4")
    assert re.search(r"readers +orders +0 +6", groups(*reset, "--execute"))
    assert "Deletion of requested consumer groups ('readers') was successful" in groups(
        "--delete", "--group", "readers"
    )
    assert groups("--list") == ""
