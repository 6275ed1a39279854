"""The broker does with rights, retention and offsets as ``explain`` says."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from pybroker import Broker
from pybroker.cli.explain.shapes import OffsetExplanation, RetentionExplanation
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.errors import KafkaError as RefusedError
from pybroker.protocol.messages import describe_configs as dc
from pybroker.protocol.messages import offset_commit as oc
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.views.explanations import AclExplanation
from support.clients.commands import checked_json, rows_of, run
from support.clients.produced import Produced, produce
from support.time.patience import await_that

HOUR_MS = 3_600_000
REFUSALS = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED)
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


# -- rights


def describe_topic(cluster: AdminCluster, name: str) -> int:
    return int(cluster.metadata([name]).topics[0].error_code)


def describe_configs(cluster: AdminCluster, name: str) -> int:
    asked = dc.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
    return int(cluster.ask_any(dc.DescribeConfigsRequest(resources=[asked])).results[0].error_code)


def read_topic(cluster: AdminCluster, name: str) -> int:
    """Commit an offset of the topic, in a group that everybody may use."""
    part = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
    topic = oc.OffsetCommitRequestTopic(name=name, partitions=[part])
    answer = cluster.ask_coordinator("free", oc.OffsetCommitRequest(group_id="free", topics=[topic]))
    return int(answer.topics[0].partitions[0].error_code)


def describe_group(cluster: AdminCluster, name: str) -> int:
    return int(cluster.ask_any(DescribeGroupsRequest(groups=[name])).groups[0].error_code)


def delete_group(cluster: AdminCluster, name: str) -> int:
    return int(cluster.ask_any(DeleteGroupsRequest(groups_names=[name])).results[0].error_code)


ACTS: dict[tuple[str, str], Callable[[AdminCluster, str], int]] = {
    ("Describe", "topic"): describe_topic,
    ("DescribeConfigs", "topic"): describe_configs,
    ("Read", "topic"): read_topic,
    ("Describe", "group"): describe_group,
    ("Delete", "group"): delete_group,
}
RULES = (
    ("--allow", "*", "--read", "--describe", "--group", "free"),
    ("--allow", "ana", "--read", "--topic", "or", "--prefixed"),
    ("--deny", "ana", "--read", "--topic", "orders"),
    ("--allow", "ana", "--all", "--group", "g", "--prefixed"),
    ("--deny", "ana", "--delete", "--group", "gold"),
    ("--allow", "*", "--describe-configs", "--topic", "orders"),
    ("--allow", "bob", "--alter-configs", "--topic", "origin"),
    ("--allow", "bob", "--read", "--topic", "*", "--host", "10.0.0.9"),
    ("--allow", "bob", "--delete", "--group", "gold"),
)


def settings_of(user: str) -> dict[str, str]:
    login = f'{MODULE} username="{user}" password="x";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[str, str]]:
    """The addresses of a broker for administrators, and for users."""
    settings = {
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "security.inter.broker.protocol": "PLAINTEXT",
        "offsets.topic.num.partitions": "1",
    }
    with Broker(settings, users={"ana": "x", "bob": "x"}) as broker:
        own = broker.bootstrap_servers
        assert run(own, "topics", "create", "orders", "origin", "other", "-p", "1", "--wait").code == 0
        reset = ("groups", "reset", "free", "--to", "earliest", "--topics", "other", "--execute")
        assert run(own, *reset).code == 0
        for rule in RULES:
            assert run(own, "acls", "add", *rule).code == 0
        yield own, str(broker.config.text("listeners")).split("SASL_PLAINTEXT://")[1]


@pytest.mark.parametrize("user", ["ana", "bob"])
def test_rights_are_explained_as_the_broker_grants_them(guarded: tuple[str, str], user: str) -> None:
    own, servers = guarded
    client = take_client_settings(GivenOptions({"bootstrap.servers": servers, **settings_of(user)}), "t")
    verdicts = {}
    with AdminCluster(client) as cluster:
        for (operation, kind), act in ACTS.items():
            for name in ("orders", "origin", "other") if kind == "topic" else ("gold", "green", "other"):
                asked = ("--user", user, "--operation", operation, f"--{kind}", name)
                (view,) = rows_of(run(own, "explain", "acl", *asked, "-o", "json").out, AclExplanation)
                try:
                    code = act(cluster, name)
                except RefusedError as error:
                    code = int(error.code)
                assert view["allowed"] == (code not in REFUSALS), (asked, view["text"], code)
                verdicts[operation, name] = view["allowed"]
    assert set(verdicts.values()) == {True, False}, "the table has both"


# -- retention


def ages(*hours: float) -> list[int]:
    return [round(time.time() * 1000 - each * HOUR_MS) for each in hours]


def test_retention_deletes_what_was_said_and_nothing_else(tmp_path: Path) -> None:
    topics = {
        "each": (ages(2, 2, 0.5, 0), 2),
        "pinned": (ages(2, -48, 2), 1),
        "shared": (ages(2, 2, 0), 0),
        "old": (ages(2, 2), 2),
        "kept": (ages(2, 2), 0),
    }
    settings = {"log.dirs": str(tmp_path), "broker.id": "1"}
    with Broker({**settings, "log.retention.check.interval.ms": str(24 * HOUR_MS)}) as broker:
        servers = broker.bootstrap_servers
        said = {}
        for name, (times, _) in topics.items():
            rules = ["-c", f"retention.ms={-1 if name == 'kept' else HOUR_MS}"]
            rules += [] if name == "shared" else ["-c", "segment.bytes=100"]
            assert run(servers, "topics", "create", name, "-p", "1", *rules, "--wait").code == 0
            produce(servers, [Produced(name, 0, 0, at, None, b"v") for at in times], batch_num_messages="1")
            ran = run(servers, "explain", "retention", name, "-o", "json")
            (said[name],) = rows_of(ran.out, RetentionExplanation)
    assert {name: [each["kind"] for each in view["findings"]] for name, view in said.items()} == {
        "each": ["shared_segment"],
        "pinned": ["timestamp_in_future"],
        "shared": ["shared_segment"],
        "old": ["shared_segment"],
        "kept": [],
    }
    with Broker({**settings, "log.retention.check.interval.ms": "10", "log.initial.task.delay.ms": "0"}) as broker:
        for name, (_, start) in topics.items():
            await_that(lambda name=name, start=start: start_of(broker, name) == start, name)  # type: ignore[misc]
        left = {name: start_of(broker, name) for name in topics}
    for name, view in said.items():
        (row,) = view["partitions"]
        gone = row["expired_records"] if name not in ("shared", "kept") else 0
        assert left[name] == row["start_offset"] + (gone or 0), name


def start_of(broker: Any, topic: str) -> int:
    (row,) = checked_json(broker.bootstrap_servers, OffsetExplanation, "explain", "offset", f"{topic}:0", "2")
    return int(row["start_offset"])


# -- offsets

VERDICTS = ["deleted"] * 2 + ["readable"] * 2 + ["open_transaction"] * 2 + ["next", "beyond_end"]


@pytest.fixture(scope="module")
def placed() -> Iterator[str]:
    """A partition whose offsets 0 and 1 are deleted, and whose offsets from 4 on belong to an open transaction."""
    with Broker({"log.retention.ms": "-1", "transaction.state.log.num.partitions": "1"}) as broker:
        servers = broker.bootstrap_servers
        assert run(servers, "topics", "create", "placed", "-p", "1", "--wait").code == 0
        produce(servers, [Produced("placed", 0, 0, at, None, b"v") for at in ages(0, 0, 0, 0)])
        assert run(servers, "topics", "truncate", "placed", "--before", "2", "-y").code == 0
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "placed"})
        producer.init_transactions()
        producer.begin_transaction()
        for _ in range(2):
            producer.produce("placed", b"v")
        producer.flush()
        yield servers
        producer.abort_transaction()


def read_at(servers: str, offset: int, isolation: str, patience_s: float = 60) -> tuple[int | None, int | None]:
    """The offset of the record that a consumer gets, or the code of its error; neither: it waits."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "auto.offset.reset": "error"}
    reader = Consumer({**settings, "enable.partition.eof": True, "isolation.level": isolation})
    reader.assign([TopicPartition("placed", 0, offset)])
    message = reader.poll(patience_s)
    reader.close()
    if message is None:
        return None, None
    error = message.error()
    return (message.offset(), None) if error is None else (None, error.code())


@pytest.mark.parametrize("offset", range(8))
def test_offset_is_explained_as_a_fetch_there_ends(placed: str, offset: int) -> None:
    ran = run(placed, "explain", "offset", "placed:0", str(offset), "-o", "json")
    (view,) = rows_of(ran.out, OffsetExplanation)
    match view["verdict"]:
        case "readable":
            assert read_at(placed, offset, "read_committed") == (offset, None)
        case "open_transaction":
            assert read_at(placed, offset, "read_uncommitted") == (offset, None)
            assert read_at(placed, offset, "read_committed", 0.3)[0] is None
        case "next":
            assert read_at(placed, offset, "read_uncommitted") == (None, KafkaError._PARTITION_EOF)
        case _:
            assert read_at(placed, offset, "read_committed") == (None, KafkaError._AUTO_OFFSET_RESET)
    assert view["verdict"] == VERDICTS[offset]
