"""Tests of the expiry of offsets (`offsets.retention.minutes`, KIP-211)."""

import json
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition
from interop.side_by_side.requests import commit, offsets
from pybroker.base.topic_partition import TopicPartition as StoredPartition
from pybroker.broker.coordinator.group.record_keys import OffsetKey, encode_group_key
from pybroker.broker.coordinator.group.records import decode_group, encode_group
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.clients.kafka_tools import run_tool
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.logs.offset_keys import GroupKey
from support.logs.offsets_files import OffsetsFiles
from support.processes.broker_process import BrokerProcess
from support.processes.started_broker import Broker, StartBroker
from support.time.patience import await_answer, await_that

SETTINGS = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "50",
    "offsets.topic.num.partitions": "1",
}
HOUR_MS = 3_600_000
OLD, FRESH = 0, 1
"""Partitions: the offset of OLD must expire, that of FRESH must stay."""


def offset_key(group: str, topic: str, partition: int) -> OffsetKey:
    return OffsetKey(group, StoredPartition(topic, partition))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Offsets:
    """Offsets of groups in two partitions of a topic, as the broker has them."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._broker = broker
        self._topic = topic

    def commit(self, request: Message, version: int) -> None:
        with WireClient(self._broker.bootstrap_servers) as client:
            (partition,) = client.ask(request, version).topics[0].partitions
            assert partition.error_code == 0

    def of(self, group: str) -> tuple[int, int]:
        """Returns the offsets of the old and the fresh partition; -1 means none."""
        with WireClient(self._broker.bootstrap_servers) as client:
            answer = client.ask(offsets(group, {self._topic: [OLD, FRESH]}), 5)
        assert answer.error_code == 0, answer
        first, second = answer.topics[0].partitions
        return first.committed_offset, second.committed_offset

    def wait_until_gone(self, group: str) -> None:
        await_answer(lambda: self.of(group), lambda known: known[0] == -1, f"the expiry of an offset of {group}")

    def wait_until_loaded(self, group: str) -> None:
        """Waits until groups are loaded after a start; the first request for a coordinator creates
        __consumer_offsets."""
        with WireClient(self._broker.bootstrap_servers) as client:

            def error_code() -> int:
                client.ask(FindCoordinatorRequest(key=group), 1)
                return int(client.ask(offsets(group, {self._topic: [OLD]}), 5).error_code)

            await_answer(error_code, lambda code: code == 0, f"the coordinator of {group}")


def committed_by_hand_an_hour_ago(known: Offsets, group: str, topic: str) -> None:
    """Commits by OffsetCommit v1, which carries the time of each commit."""
    known.commit(commit(group, topic, 6, partition=FRESH), 7)
    request = commit(group, topic, 5, partition=OLD)
    request.topics[0].partitions[0].commit_timestamp = now_ms() - HOUR_MS
    known.commit(request, 1)


def committed_for_a_millisecond(known: Offsets, group: str, topic: str) -> None:
    """Commits by OffsetCommit v2 to v4, which carry a retention time."""
    known.commit(commit(group, topic, 6, partition=FRESH, retention_time_ms=HOUR_MS), 4)
    known.commit(commit(group, topic, 5, partition=OLD, retention_time_ms=1), 2)


@pytest.mark.parametrize("committed", [committed_by_hand_an_hour_ago, committed_for_a_millisecond])
@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.long), "kill"])
def test_expired_offset_is_removed_permanently_and_fresh_one_stays(
    committed: Callable[[Offsets, str, str], None], end: str, start_broker: StartBroker, topic: str, group: str
) -> None:
    broker = start_broker(SETTINGS)
    if end == "kill" and not isinstance(broker, BrokerProcess):
        pytest.skip("a killed Kafka can't start before ZooKeeper has missed it")
    create_topic(broker.bootstrap_servers, topic, 2)
    known = Offsets(broker, topic)
    known.wait_until_loaded(group)
    committed(known, group, topic)
    known.wait_until_gone(group)
    assert known.of(group) == (-1, 6)
    files = OffsetsFiles(broker.log_directory)
    # Tombstones are written after the offsets are removed from memory.
    await_that(files.tombstones, "a tombstone of the expired offset")
    getattr(broker, end)()
    if isinstance(broker, BrokerProcess):
        assert [line for line in broker.lines if f"group {group}: offsets of {topic}-{OLD} deleted" in line]
    assert files.tombstones() == [offset_key(group, topic, OLD)]
    broker.start()
    known.wait_until_loaded(group)
    assert known.of(group) == (-1, 6)


def test_kafka_log_dump_shows_tombstones_of_expired_offsets(start_broker: StartBroker, topic: str, group: str) -> None:
    broker = start_broker(SETTINGS)
    create_topic(broker.bootstrap_servers, topic, 2)
    known = Offsets(broker, topic)
    known.wait_until_loaded(group)
    committed_by_hand_an_hour_ago(known, group, topic)
    known.wait_until_gone(group)
    broker.stop()
    (segment,) = OffsetsFiles(broker.log_directory).segments
    dump = run_tool("kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", str(segment))
    deleted = [line.partition("key: ")[2] for line in dump.splitlines() if line.endswith("payload: <DELETE>")]
    key = {"type": "1", "data": {"group": group, "topic": topic, "partition": OLD}}
    assert [json.loads(each.removesuffix(" payload: <DELETE>")) for each in deleted] == [key]


def member_that_commits_and_leaves(servers: str, topic: str, group: str) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False})
    assigned: list[TopicPartition] = []
    consumer.subscribe([topic], on_assign=lambda _, partitions: assigned.extend(partitions))
    while not assigned:
        consumer.poll(0.05)
    consumer.commit(offsets=[TopicPartition(topic, OLD, 5), TopicPartition(topic, FRESH, 6)], asynchronous=False)
    consumer.close()


def make_empty_since_an_hour(files: OffsetsFiles, group: str) -> None:
    """Writes the record that the coordinator wrote when the last member left, with another time."""
    stored = [record for record in files.records() if record.key == encode_group_key(group)][-1]
    assert stored.value is not None
    emptied = decode_group(group, stored.value)
    emptied.state_timestamp_ms = now_ms() - HOUR_MS
    files.append(encode_group_key(group), encode_group(emptied, {}), now_ms())


def test_group_empty_for_longer_than_the_retention_is_removed_with_its_offsets(
    start_broker: StartBroker, topic: str, group: str
) -> None:
    broker = start_broker(SETTINGS)
    create_topic(broker.bootstrap_servers, topic, 2)
    known = Offsets(broker, topic)
    for each in ("forgotten", "recent"):
        member_that_commits_and_leaves(broker.bootstrap_servers, topic, each)
    assert known.of("forgotten") == known.of("recent") == (5, 6)
    broker.stop()
    make_empty_since_an_hour(OffsetsFiles(broker.log_directory), "forgotten")
    broker.start()
    known.wait_until_loaded("recent")
    known.wait_until_gone("forgotten")
    assert known.of("forgotten") == (-1, -1)
    assert known.of("recent") == (5, 6)
    broker.stop()
    tombstones = OffsetsFiles(broker.log_directory).tombstones()
    assert tombstones == [
        offset_key("forgotten", topic, OLD),
        offset_key("forgotten", topic, FRESH),
        GroupKey("forgotten"),
    ]
    broker.start()
    known.wait_until_loaded("recent")
    assert known.of("forgotten") == (-1, -1)
    assert known.of("recent") == (5, 6)
