"""A broker whose clock a test moves: what becomes due is done when the move returns, and living clients stay."""

import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import Producer as ConfluentProducer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from pybroker import Broker
from pybroker.broker.clock.clocks import TestClock
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import describe_groups as d
from pybroker.protocol.messages import describe_producers as p
from pybroker.protocol.messages import join_group as j
from pybroker.protocol.messages import list_offsets as lo
from pybroker.protocol.messages import offset_fetch as of
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.storage.files.files import Files
from support.clients.wire_client import WireClient
from support.clients.wire_member import WireMember, wait_for_coordinator
from support.time.patience import HANGS_AFTER_S

SETTINGS = {
    "num.partitions": "2",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}
POLL_MS = 60_000
"""Longer than any rebalance: kafka-python 3.0 discards a JoinGroup response that arrives after a poll ends."""
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
COMPACTED_LATE = {
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": str(HOUR_MS),
    "min.cleanable.dirty.ratio": "1",
}
"""A topic that is compacted only because of the longest lag: no part of it is larger than the whole."""
EARLIEST, LATEST, COMMITTED = -2, -1, 1


@pytest.fixture
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker:
        yield broker


def produce(
    broker: BlockingBroker, *values: bytes | None, partition: int = 0, key: bytes | None = None, topic: str = "t"
) -> list[Any]:
    """Produces to a partition of the topic; returns the metadata of the records."""
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all")) as producer:
        return [producer.send(topic, value, key, partition=partition).get(HANGS_AFTER_S) for value in values]


def ask(broker: BlockingBroker, request: Message, version: int) -> Any:
    """The response."""
    with WireClient(broker.bootstrap_servers, HANGS_AFTER_S) as client:
        return client.ask(request, version)


def offset(broker: BlockingBroker, which: int, *, isolation: int = 0) -> int:
    """The earliest or latest offset of partition 0."""
    part = lo.ListOffsetsPartition(partition_index=0, timestamp=which)
    request = lo.ListOffsetsRequest(
        replica_id=-1, isolation_level=isolation, topics=[lo.ListOffsetsTopic(name="t", partitions=[part])]
    )
    return int(ask(broker, request, 5).topics[0].partitions[0].offset)


def committed(broker: BlockingBroker, group: str) -> int:
    """The group's offset of partition 0; -1 for none."""
    topic = of.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    answer = ask(broker, of.OffsetFetchRequest(group_id=group, topics=[topic]), 5)
    return int(answer.topics[0].partitions[0].committed_offset)


def described(broker: BlockingBroker, group: str) -> tuple[str, set[str]]:
    """The state of the group and the ids of its members."""
    (found,) = ask(broker, d.DescribeGroupsRequest(groups=[group]), 4).groups
    return found.group_state, {member.member_id for member in found.members}


def member(broker: BlockingBroker, group: str = "g", **settings: Any) -> WireMember:
    wait_for_coordinator(broker.bootstrap_servers, group)
    return WireMember(broker.bootstrap_servers, group, ["t"], session_timeout_ms=45_000, **settings)


def pair(broker: BlockingBroker) -> tuple[WireMember, WireMember]:
    """Two members of a stable group."""
    first, second = member(broker), member(broker)
    first.join_alone({"t": [0, 1]})
    join_both(first, second)
    return first, second


def join_both(first: WireMember, second: WireMember) -> None:
    """Two members join; the first of them leads."""
    second.begin_join()
    first.begin_join()
    first.finish_join()
    second.finish_join()
    first.sync({first: {"t": [0]}, second: {"t": [1]}})
    second.sync()


def consumer_of(broker: BlockingBroker, **settings: Any) -> KafkaConsumer:
    return KafkaConsumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        group_id="g",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=200,
        session_timeout_ms=45_000,
        **settings,
    )


def read(consumer: KafkaConsumer, count: int) -> list[bytes]:
    """Polls until there are so many values."""
    values: list[bytes] = []
    while len(values) < count:
        found = consumer.poll(POLL_MS)
        assert found, "no record came"
        values += [record.value for records in found.values() for record in records]
    return values


def read_until_assigned(consumer: KafkaConsumer, partitions: int) -> None:
    """Polls until the consumer has so many partitions; each has a record without a committed offset."""
    while len(consumer.assignment()) != partitions:
        assert consumer.poll(POLL_MS), f"no record came, and the consumer has {consumer.assignment()}"


# -- the wall clock


def test_old_segments_and_offsets_go_while_the_members_of_a_live_consumer_stay(broker: BlockingBroker) -> None:
    produce(broker, b"1", b"2", b"3")
    with closing(consumer_of(broker)) as consumer, member(broker, "left") as leaver:
        assert read(consumer, 3) == [b"1", b"2", b"3"]
        consumer.commit()
        leaver.join_alone({"t": [0]})
        leaver.commit("t", 0, 2)
        leaver.leave()
        before = described(broker, "g")
        broker.clock.advance(days=8)
        assert offset(broker, EARLIEST) == 3
        assert committed(broker, "left") == -1
        assert committed(broker, "g") == 3
        assert described(broker, "g") == before
        produce(broker, b"4")
        assert read(consumer, 1) == [b"4"]
        assert described(broker, "g") == before


def test_eight_days_are_over_within_a_second(broker: BlockingBroker) -> None:
    """The least of three times counts: something else may keep the machine busy during one of them."""
    took_s = []
    for moves in (1, 2, 3):
        broker.append("t", b"1", partition=0)
        with member(broker, f"left-{moves}") as leaver:
            leaver.join_alone({"t": [0]})
            leaver.commit("t", 0, moves)
            leaver.leave()
        began_s = time.monotonic()
        broker.clock.advance(days=8)
        took_s.append(time.monotonic() - began_s)
        assert (offset(broker, EARLIEST), committed(broker, f"left-{moves}")) == (moves, -1)
    assert min(took_s) < 1


def test_nothing_goes_before_its_time(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    with member(broker, "left") as leaver:
        leaver.join_alone({"t": [0]})
        leaver.commit("t", 0, 1)
        leaver.leave()
    broker.clock.advance(days=6, hours=23)
    assert (offset(broker, EARLIEST), committed(broker, "left")) == (0, 1)
    broker.clock.advance(hours=2)
    assert (offset(broker, EARLIEST), committed(broker, "left")) == (1, -1)


def test_records_are_compacted_between_their_lags_and_tombstones_go_after_delete_retention() -> None:
    settings = {
        "log.cleanup.policy": "compact",
        "log.cleaner.min.compaction.lag.ms": str(HOUR_MS),
        "log.cleaner.min.cleanable.ratio": "0.01",
        "log.segment.bytes": "1000",
    }
    with Broker({**SETTINGS, **settings}) as broker:
        produce(broker, None, key=b"deleted")
        produce(broker, *fillers(10), key=b"key")
        with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)) as admin:
            admin.create_topics([NewTopic("late", 1, 1, topic_configs=COMPACTED_LATE)])
        produce(broker, *fillers(10), key=b"key", topic="late")
        broker.clock.advance(minutes=30)
        assert (len(all_values(broker)), len(all_values(broker, "late"))) == (11, 10)
        broker.clock.advance(minutes=31)
        assert len(all_values(broker, "late")) < 5
        left = all_values(broker)
        assert left[0] is None
        assert len(left) < 6
        assert left[-1] == fillers(10)[-1]
        produce(broker, *fillers(10), key=b"key")
        broker.clock.advance(hours=25)
        assert None not in all_values(broker)


def fillers(count: int) -> list[bytes]:
    """Values of which three fill a segment."""
    return [b"%03d" % number + 300 * b"." for number in range(count)]


def all_values(broker: BlockingBroker, topic: str = "t") -> list[bytes | None]:
    """The values in partition 0."""
    with closing(KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")) as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        values: list[bytes | None] = []
        while consumer.position(partition) < end:
            found = consumer.poll(POLL_MS)
            assert found, "no record came"
            values += [record.value for records in found.values() for record in records]
        return values


def test_log_append_time_and_age_of_segments_follow_a_clock_that_stands_still() -> None:
    settings = {"log.message.timestamp.type": "LogAppendTime", "log.retention.ms": "-1"}
    with Broker({**SETTINGS, **settings}) as broker:
        at_ms = broker.clock.clock_ms() + 100 * DAY_MS
        broker.clock.freeze(at_ms)
        assert [each.timestamp for each in produce(broker, b"1", b"2")] == [at_ms, at_ms]
        broker.clock.advance(hours=1)
        assert [each.timestamp for each in produce(broker, b"3")] == [at_ms + HOUR_MS]
        with pytest.raises(ValueError, match="moves ahead only"):
            broker.clock.freeze(at_ms)
        broker.clock.unfreeze()
        (last,) = produce(broker, b"4")
        assert at_ms + HOUR_MS <= last.timestamp < at_ms + 2 * HOUR_MS
        files = broker.data_directory / "t-0"
        assert len(list(files.glob("*.log"))) == 1
        broker.clock.advance(days=8)
        produce(broker, b"5")
        assert len(list(files.glob("*.log"))) == 2


def test_producers_expire_and_may_go_on_as_with_kafka(broker: BlockingBroker) -> None:
    producer = ConfluentProducer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    produce_by(producer, b"1")
    assert len(producers_of(broker)) == 1
    broker.clock.advance(days=2)
    assert producers_of(broker) == []
    produce_by(producer, b"2")  # a producer without state may go on with any sequence number
    assert offset(broker, LATEST) == 2


def produce_by(producer: ConfluentProducer, value: bytes) -> None:
    producer.produce("t", value, partition=0)
    assert producer.flush(30) == 0


def producers_of(broker: BlockingBroker) -> Sequence[Any]:
    request = p.DescribeProducersRequest(topics=[p.TopicRequest(name="t", partition_indexes=[0])])
    (topic,) = ask(broker, request, 0).topics
    return list(topic.partitions[0].active_producers)


def test_a_restart_does_not_move_the_clock_back(broker: BlockingBroker) -> None:
    broker.clock.advance(days=3)
    before_ms = broker.clock.clock_ms()
    broker.restart()
    assert broker.clock.clock_ms() >= before_ms
    produce(broker, b"1")
    broker.clock.advance(days=8)
    assert offset(broker, EARLIEST) == 1


def test_clock_shared_by_two_brokers_moves_both() -> None:
    clock = TestClock()
    with Broker(SETTINGS, clock=clock) as first, Broker(SETTINGS, clock=clock) as second:
        for broker in (first, second):
            produce(broker, b"1")
        with member(first) as one, member(second) as two:
            for each in (one, two):
                each.join_alone({"t": [0]})
            first.clock.advance(days=8)
            assert [offset(broker, EARLIEST) for broker in (first, second)] == [1, 1]
            second.clock.advance_timers(46, silent=[one.member_id])
            assert one.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
            assert two.heartbeat() == ErrorCode.NONE


# -- the timers


def test_silent_member_is_removed_and_living_member_stays(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    living, silent = pair(broker)
    with living, silent:
        broker.clock.advance_timers(44, silent=[silent.member_id])
        assert silent.heartbeat() == ErrorCode.NONE
        broker.clock.advance_timers(46, silent=[silent.member_id])
        assert silent.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
        assert living.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
        living.join_alone({"t": [0, 1]})
        assert described(broker, "g") == ("Stable", {living.member_id})


def test_member_whose_connection_is_closed_is_removed(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    living, gone = pair(broker)
    with living:
        gone.close()
        broker.clock.advance_timers(46)
        assert living.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
        assert described(broker, "g")[1] == {living.member_id}


def test_members_named_by_client_or_instance_id_are_removed(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    with member(broker, "a", instance_id="static") as static, member(broker, "b") as dynamic:
        static.join_alone({"t": [0]})
        dynamic.join_alone({"t": [0]})
        broker.clock.advance_timers(46, silent=("static",))
        assert described(broker, "a") == ("Empty", set())
        assert dynamic.heartbeat() == ErrorCode.NONE
        broker.clock.advance_timers(46, keep_alive=False)
        assert described(broker, "b") == ("Empty", set())


def test_member_of_an_old_client_is_known_by_its_first_request(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    wait_for_coordinator(broker.bootstrap_servers, "g")
    joining = j.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[j.JoinGroupRequestProtocol(name="range")],
    )
    with WireClient(broker.bootstrap_servers, HANGS_AFTER_S) as client:
        joined = client.ask(joining, 3)  # the client of this version has no id before it joins
        broker.clock.advance_timers(46)
        beat = HeartbeatRequest(group_id="g", generation_id=joined.generation_id, member_id=joined.member_id)
        assert client.ask(beat, 1).error_code == ErrorCode.NONE


def test_rebalance_waits_on_for_living_members_and_no_longer_for_silent_ones(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    with member(broker) as first, member(broker) as second:
        first.join_alone({"t": [0, 1]})
        second.begin_join()  # the first one does not know of the rebalance yet
        broker.clock.advance_timers(minutes=10)
        assert described(broker, "g") == ("PreparingRebalance", {first.member_id, second.member_id})
        first.begin_join()
        assert first.finish_join().error_code == second.finish_join().error_code == ErrorCode.NONE
        broker.clock.advance_timers(minutes=10)  # the rebalance now waits for both SyncGroups
        first.sync({first: {"t": [0]}, second: {"t": [1]}})
        second.sync()
        with member(broker) as third:
            third.begin_join()
            first.begin_join()
            broker.clock.advance_timers(minutes=10, silent=[second.member_id])
            assert first.finish_join().error_code == third.finish_join().error_code == ErrorCode.NONE
            assert described(broker, "g")[1] == {first.member_id, third.member_id}


def test_initial_rebalance_delay_is_over_at_once() -> None:
    with Broker({**SETTINGS, "group.initial.rebalance.delay.ms": str(HOUR_MS)}) as broker:
        produce(broker, b"1")
        with member(broker, rebalance_timeout_ms=2 * HOUR_MS) as joining:
            joining.begin_join()
            broker.clock.advance_timers(minutes=59)
            assert not joining._client.is_answered()
            broker.clock.advance_timers(minutes=61)  # a new member extends the delay once
            assert joining.finish_join().error_code == ErrorCode.NONE


KILLED = """
import sys
from kafka import KafkaConsumer
consumer = KafkaConsumer(
    "t",
    bootstrap_servers=sys.argv[1],
    group_id="g",
    auto_offset_reset="earliest",
    enable_auto_commit=False,
    heartbeat_interval_ms=200,
    session_timeout_ms=45_000,
)
while consumer.poll(60_000):
    print("assigned", flush=True)
"""


def test_killed_consumer_is_replaced_by_a_living_one(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    produce(broker, b"2", partition=1)
    line = [sys.executable, "-c", KILLED, broker.bootstrap_servers]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as killed:
        try:
            assert killed.stdout is not None
            assert killed.stdout.readline() == b"assigned\n"
            living = consumer_of(broker, client_id="living", enable_auto_commit=False)
            with closing(living):
                read_until_assigned(living, 1)
                killed.kill()
                killed.wait()
                broker.clock.advance_timers(46)
                read_until_assigned(living, 2)
                assert len(described(broker, "g")[1]) == 1
        finally:
            killed.kill()


def test_transaction_past_its_time_out_is_aborted_and_its_id_expires(broker: BlockingBroker) -> None:
    producer = ConfluentProducer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": "id",
            "transaction.timeout.ms": 8_000,
        }
    )
    broker.clock.freeze()
    producer.init_transactions(30)
    producer.begin_transaction()
    produce_by(producer, b"1")
    broker.clock.advance_timers(8)
    assert offset(broker, LATEST, isolation=COMMITTED) == 0
    broker.clock.advance_timers(ms=1)
    assert offset(broker, LATEST, isolation=COMMITTED) == 2  # the record, and the marker that aborts it
    with pytest.raises(KafkaException, match="fence"):
        producer.commit_transaction(30)
    assert transaction_code(broker) == ErrorCode.NONE
    broker.clock.advance(days=8)
    assert transaction_code(broker) == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def transaction_code(broker: BlockingBroker) -> int:
    """The error code of DescribeTransactions."""
    answer = ask(broker, DescribeTransactionsRequest(transactional_ids=["id"]), 0)
    return int(answer.transaction_states[0].error_code)


def test_idle_connections_are_closed_and_those_of_living_members_are_not(broker: BlockingBroker) -> None:
    produce(broker, b"1")
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with member(broker) as living, socket.create_connection((host, int(port))) as idle:
        living.join_alone({"t": [0]})
        ask(broker, ApiVersionsRequest(), 0)  # the broker knows the idle connection by then
        broker.clock.advance_timers(590)
        assert not select.select([idle], [], [], 0)[0]
        broker.clock.advance_timers(590)
        idle.settimeout(HANGS_AFTER_S)
        assert idle.recv(1) == b""
        assert living.heartbeat() == ErrorCode.NONE


def test_deleted_files_go_after_their_delay_and_the_move_waits_for_it(
    broker: BlockingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(broker, b"1")
    files = broker.data_directory / "t-0"
    broker.clock.advance(days=8)
    assert list(files.glob("*.log.deleted"))
    delete, may_delete = Files.delete, threading.Event()

    def held_delete(files: Files, path: str) -> bool:
        assert may_delete.wait(HANGS_AFTER_S)
        return delete(files, path)

    monkeypatch.setattr(Files, "delete", held_delete)
    try:
        with pytest.raises(TimeoutError):
            broker.clock.advance_timers(61, wait_s=0.3)
    finally:
        may_delete.set()
    broker.clock.advance_timers(1)
    assert not list(files.glob("*.deleted"))
