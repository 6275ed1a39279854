"""Quotas written by a Kafka broker and by a pybroker: the same nodes, obeyed by both."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, ThrottleEvent
from support.clients.kafka_tools import run_tool
from support.processes.mixed_cluster import MixedCluster
from support.processes.zookeeper_tree import read_tree
from support.time.patience import await_that

KAFKA, PYBROKER = 1, 2
# Each command with the entity and the quotas that it sets, as kafka-configs wants them.
COMMANDS = [
    (["--entity-type", "users", "--entity-name", "ann"], "producer_byte_rate=1048576,consumer_byte_rate=2000"),
    (["--entity-type", "users", "--entity-name", "a b/c*<default>"], "request_percentage=12.5"),
    (["--entity-type", "users", "--entity-default"], "controller_mutation_rate=0.25"),
    (
        ["--entity-type", "users", "--entity-name", "ann", "--entity-type", "clients", "--entity-name", "x~y"],
        "request_percentage=12345678.5",
    ),
    (
        ["--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-default"],
        "consumer_byte_rate=9",
    ),
    (["--entity-type", "clients", "--entity-name", "50%"], "producer_byte_rate=7"),
    (["--entity-type", "clients", "--entity-default"], "producer_byte_rate=9223372036854775807"),
    (["--entity-type", "ips", "--entity-name", "10.0.0.1"], "connection_creation_rate=3"),
    (["--entity-type", "ips", "--entity-default"], "connection_creation_rate=2147483647"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path_factory.mktemp("cluster"), {KAFKA: "kafka", PYBROKER: "pybroker"})
    cluster.start(KAFKA, PYBROKER)
    yield cluster
    cluster.close()


def configs(cluster: MixedCluster, broker_id: int, *arguments: str) -> str:
    servers = cluster.brokers[broker_id].bootstrap_servers
    return run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", servers, *arguments)


def nodes(cluster: MixedCluster) -> dict[str, object]:
    return {
        path: node.value
        for path, node in read_tree(cluster.zookeeper.connect).items()
        if path.startswith(("/config/users", "/config/clients", "/config/ips"))
    }


def set_all(cluster: MixedCluster, broker_id: int) -> None:
    for entity, quotas in COMMANDS:
        configs(cluster, broker_id, "--alter", *entity, "--add-config", quotas)


def remove_all(cluster: MixedCluster, broker_id: int) -> None:
    for entity, quotas in COMMANDS:
        keys = ",".join(quota.partition("=")[0] for quota in quotas.split(","))
        configs(cluster, broker_id, "--alter", *entity, "--delete-config", keys)


def shown(cluster: MixedCluster, broker_id: int) -> list[str]:
    users = configs(cluster, broker_id, "--describe", "--entity-type", "users", "--entity-type", "clients")
    ips = configs(cluster, broker_id, "--describe", "--entity-type", "ips")
    return sorted([*users.splitlines(), *ips.splitlines()])


def test_kafka_configs_makes_the_same_nodes_at_either_broker(cluster: MixedCluster) -> None:
    empty = nodes(cluster)
    set_all(cluster, KAFKA)
    by_kafka = nodes(cluster)
    assert shown(cluster, PYBROKER) == shown(cluster, KAFKA)
    remove_all(cluster, PYBROKER)
    assert nodes(cluster) == empty
    set_all(cluster, PYBROKER)
    assert nodes(cluster) == by_kafka
    assert shown(cluster, PYBROKER) == shown(cluster, KAFKA)
    remove_all(cluster, KAFKA)
    assert nodes(cluster) == empty


@pytest.mark.parametrize("writer", [KAFKA, pytest.param(PYBROKER, marks=pytest.mark.long)])
def test_a_quota_set_at_one_broker_throttles_producers_at_both(cluster: MixedCluster, writer: int) -> None:
    client_id, topics = f"slow{writer}", {leader: f"t{writer}-{leader}" for leader in (KAFKA, PYBROKER)}
    for leader, topic in topics.items():
        cluster.create_topic(topic, [leader])
    configs(
        cluster, writer, "--alter", "--entity-type", "clients", "--entity-name", client_id, "--add-config",
        "producer_byte_rate=1000",
    )  # fmt: skip
    for leader, topic in topics.items():
        throttled: list[ThrottleEvent] = []
        producer = Producer(
            {"bootstrap.servers": cluster.servers, "client.id": client_id, "throttle_cb": throttled.append}
        )
        producer.produce(topic, b"x" * 20_000)
        producer.flush()
        await_that(lambda: producer.poll(0.1) >= 0 and bool(throttled), "a response with a throttle time")  # noqa: B023
        assert throttled[0].broker_id == leader
        assert throttled[0].throttle_time > 5
