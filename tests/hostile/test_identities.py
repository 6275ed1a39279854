"""Attacks with ever new producer ids, fetch sessions, topics and offsets, and with requests of many elements."""

import select
import struct
import time

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    RequestEntityData,
    RequestEntryData,
)
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pybroker.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, make_coordinator
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of

from .conftest import OpenArena
from .test_batches import answer_to
from .test_frames import AT_REST_MIB


def batch_of(producer_id: int, sequence: int = 0) -> bytes:
    record = Record(0, time.time_ns() // 1_000_000, None, b"v")
    return build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def test_new_producer_ids_replace_the_oldest_ones_of_a_partition(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.producer.ids.max.per.partition": "100"})
    with WireClient(field.servers) as client:
        create_topic(client, "idempotent")
        for producer_id in range(1000):
            assert answer_to(client, "idempotent", batch_of(producer_id)) is ErrorCode.NONE
        wanted = TopicRequest(name="idempotent", partition_indexes=[0])
        (partition,) = client.ask(DescribeProducersRequest(topics=[wanted]), 0).topics[0].partitions
        known = {producer.producer_id for producer in partition.active_producers}
        assert len(known) <= 100
        assert set(range(950, 1000)) <= known
        # A producer that is still known cannot skip a sequence; a forgotten one begins anew.
        assert answer_to(client, "idempotent", batch_of(999, 5)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert answer_to(client, "idempotent", batch_of(1, 5)) is ErrorCode.NONE
    field.recovers(lines=0, mib=AT_REST_MIB, files=8)


def full_fetch(partition_count: int, session_id: int = 0, epoch: int = 0) -> FetchRequest:
    partitions = [FetchPartition(partition=number, partition_max_bytes=1) for number in range(partition_count)]
    topics = [FetchTopic(topic="nowhere", partitions=partitions)]
    return FetchRequest(max_bytes=1, session_id=session_id, session_epoch=epoch, topics=topics)


def test_partitions_of_all_fetch_sessions_together_are_bounded(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.fetch.sessions.max.partitions": "2000"})
    with WireClient(field.servers) as client:
        sessions = [client.ask(full_fetch(400), 12).session_id for _ in range(50)]
        assert 0 not in sessions[:5]
        assert set(sessions[5:]) == {0}  # served without a session
        grown = client.ask(full_fetch(500, sessions[0], 1), 12)
        assert grown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    field.recovers(lines=0, mib=AT_REST_MIB + 16)


def test_fetch_sessions_do_not_remember_invalid_topic_names(field: Arena) -> None:
    wide = "\N{PILE OF POO}" + "x" * 32_000  # 128 KB to Python
    wanted = [FetchPartition(partition=0, partition_max_bytes=1)]
    with WireClient(field.servers) as client:
        for number in range(30):  # 115 MB, if they were remembered
            topics = [FetchTopic(topic=f"{number} {each} {wide}", partitions=wanted) for each in range(30)]
            answer = client.ask(FetchRequest(max_bytes=1, session_epoch=0, topics=topics), 12)
            assert (answer.error_code, answer.session_id, len(answer.responses)) == (ErrorCode.NONE, 0, 30)
        session = client.ask(full_fetch(2), 12).session_id
        topics = [FetchTopic(topic=wide, partitions=wanted)]
        grown = client.ask(FetchRequest(max_bytes=1, session_id=session, session_epoch=1, topics=topics), 12)
        assert (session != 0, grown.session_id, len(grown.responses)) == (True, 0, 1)
    field.recovers(lines=0, mib=AT_REST_MIB + 32)


def test_number_of_fetch_sessions_is_bounded_by_the_cache_slots(open_arena: OpenArena) -> None:
    field = open_arena({"max.incremental.fetch.session.cache.slots": "3"})
    with WireClient(field.servers) as client:
        sessions = [client.ask(full_fetch(2), 12).session_id for _ in range(10)]
    assert [session != 0 for session in sessions] == [True] * 3 + [False] * 7
    field.recovers(lines=0, mib=AT_REST_MIB)


def test_request_with_too_many_elements_closes_its_connection(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.request.max.elements": "1000"})
    with WireClient(field.servers) as client:
        assert client.ask(full_fetch(999, epoch=-1), 12).error_code == ErrorCode.NONE
    for _ in range(20):
        field.is_hung_up(field.throw(frame_of(full_fetch(1000, epoch=-1), 12)))
    names = [MetadataRequestTopic(name="x") for _ in range(1001)]
    field.is_hung_up(field.throw(frame_of(MetadataRequest(topics=names), 9)))
    field.recovers(lines=1, mib=AT_REST_MIB)


def poll_for_weeks(partition_count: int) -> bytes:
    """Return the frame of a fetch that waits for weeks, from a topic that gets no records."""
    partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1) for _ in range(partition_count)]
    request = FetchRequest(
        max_wait_ms=2**31 - 1,
        min_bytes=1,
        max_bytes=1000,
        session_epoch=-1,
        topics=[FetchTopic(topic="still", partitions=partitions)],
    )
    return frame_of(request, 12)


def test_memory_of_waiting_fetches_is_bounded(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.fetch.waiting.max.bytes": str(16 * 1024 * 1024)})
    with WireClient(field.servers) as client:
        create_topic(client, "still")
    field.begin()
    poll = poll_for_weeks(1000)
    peers = [field.throw(poll) for _ in range(200)]
    # Forty of them fit.
    field.until(lambda: len(select.select(peers, [], [], 0)[0]) >= 150)
    field.recovers(lines=0, mib=AT_REST_MIB + 16 + 16)


def test_waiting_fetches_of_disconnected_clients_are_dropped(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.fetch.waiting.max.bytes": str(1 << 30)})
    with WireClient(field.servers) as client:
        create_topic(client, "still")
    field.begin()
    polls = poll_for_weeks(100) * 7  # with one more the connection is not read, and its end is noticed a second later
    for _ in range(1000):  # 16 KB for each fetch: 112 MB if all of them stayed
        field.drop(field.throw(polls))
    field.recovers(lines=0, mib=AT_REST_MIB + 32)


def creation(name: str, partition_count: int) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partition_count, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=60_000)


def refused_in(field: Arena) -> int:
    """Return the number of log lines about topics that could not be created on demand."""
    return sum("could not be created on demand" in line for line in field.lines())


def test_topics_and_partitions_over_pybroker_partitions_max_are_refused(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.partitions.max": "60", "num.partitions": "10"})
    with WireClient(field.servers) as client:
        codes = [client.ask(creation(f"topic-{number}", 10), 7).topics[0].error_code for number in range(8)]
        assert codes == [ErrorCode.NONE] * 5 + [ErrorCode.POLICY_VIOLATION] * 3  # the good client has one partition
        names = [MetadataRequestTopic(name=f"asked-for-{number}") for number in range(100)]
        asked_for = client.ask(MetadataRequest(topics=names), 9).topics
        assert {topic.error_code for topic in asked_for} == {ErrorCode.POLICY_VIOLATION}
        field.until(lambda: refused_in(field) > 0)
        assert refused_in(field) == 1
        growth = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="good", count=11)], timeout_ms=1000)
        assert client.ask(growth, 3).results[0].error_code == ErrorCode.POLICY_VIOLATION
        assert client.ask(creation("modest", 9), 7).topics[0].error_code == ErrorCode.NONE
        make_coordinator(client)  # internal topics are exempt
    field.recovers(lines=0, mib=AT_REST_MIB + 8, files=500)


def test_new_offsets_over_pybroker_offsets_max_bytes_are_refused(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.offsets.max.bytes": str(40_000)})  # an offset takes 400 bytes and its text 100
    with WireClient(field.servers) as client:
        make_coordinator(client)
        codes = []
        for number in range(100):
            partition = OffsetCommitRequestPartition(
                partition_index=0, committed_offset=number, committed_metadata="x" * 100
            )
            topics = [OffsetCommitRequestTopic(name="good", partitions=[partition])]
            commit = OffsetCommitRequest(group_id=f"group-{number}", generation_id_or_member_epoch=-1, topics=topics)
            codes.append(client.ask(commit, 6).topics[0].partitions[0].error_code)
        assert codes == [ErrorCode.NONE] * 80 + [ErrorCode.INVALID_COMMIT_OFFSET_SIZE] * 20
    field.until(lambda: "pybroker.offsets.max.bytes" in "".join(field.complaints()))
    field.recovers(lines=2, mib=AT_REST_MIB + 8, files=200)


def test_new_version_0_offsets_over_pybroker_legacy_offsets_max_bytes_are_refused(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.legacy.offsets.max.bytes": "1000000"})
    with WireClient(field.servers) as client:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
        topics = [OffsetCommitRequestTopic(name="good", partitions=[partition])]

        def committed(group_id: str) -> ErrorCode:
            answer = client.ask(OffsetCommitRequest(group_id=group_id, topics=topics), 0)
            return ErrorCode(answer.topics[0].partitions[0].error_code)

        codes = [committed(f"{number}" + "x" * 30_000) for number in range(60)]
        accepted = codes.index(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
        assert accepted >= 2
        assert codes == [ErrorCode.NONE] * accepted + [ErrorCode.INVALID_COMMIT_OFFSET_SIZE] * (60 - accepted)
        assert committed("0" + "x" * 30_000) is ErrorCode.NONE
        assert committed("/".join("deep" * 4000)) is ErrorCode.UNKNOWN_SERVER_ERROR
        assert committed("short") is ErrorCode.NONE
    field.recovers(lines=1, mib=AT_REST_MIB + 8)


def test_refused_requests_with_very_long_values_are_answered(field: Arena) -> None:
    replicas = ReassignablePartition(partition_index=0, replicas=list(range(25_000)))
    reassignment = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="good", partitions=[replicas])], timeout_ms=60_000
    )
    quota = RequestEntryData(entity=[RequestEntityData(entity_type="x" * 32_767, entity_name="y")], ops=[])
    with WireClient(field.servers) as client:
        (topic,) = client.ask(reassignment, 0).responses
        assert topic.partitions[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        (entry,) = client.ask(AlterClientQuotasRequest(entries=[quota]), 1).entries
        assert entry.error_code == ErrorCode.INVALID_REQUEST
    field.recovers(lines=0, mib=AT_REST_MIB + 8)


def test_topics_with_absurd_partition_counts_replicas_or_names_are_refused(field: Arena) -> None:
    assigned = [CreatableReplicaAssignment(partition_index=number, broker_ids=[0]) for number in range(20_000)]
    with WireClient(field.servers) as client:
        shapes = [
            CreatableTopic(name="wide", num_partitions=2**31 - 1, replication_factor=1),
            CreatableTopic(name="deep", num_partitions=1, replication_factor=2**15 - 1),
            CreatableTopic(name="none", num_partitions=0, replication_factor=1),
            CreatableTopic(name="less", num_partitions=-5, replication_factor=1),
            CreatableTopic(name="x" * 300, num_partitions=1, replication_factor=1),
            CreatableTopic(name="listed", num_partitions=-1, replication_factor=-1, assignments=assigned),
        ]
        for topic in shapes:
            (result,) = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7).topics
            assert result.error_code != ErrorCode.NONE, topic.name[:10]
        growth = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="good", count=2**31 - 1)], timeout_ms=1000)
        assert client.ask(growth, 3).results[0].error_code == ErrorCode.INVALID_PARTITIONS
    field.recovers(lines=0, mib=AT_REST_MIB + 32)


def test_header_with_too_many_tagged_fields_closes_its_connection(field: Arena) -> None:
    fields = b"".join(bytes([number & 0x7F | 0x80, number >> 7, 0]) for number in range(1, 5000))
    content = struct.pack(">hhih", 3, 12, 1, -1) + b"\x88\x27" + fields
    for _ in range(20):
        field.is_hung_up(field.throw(struct.pack(">i", len(content)) + content))
    field.recovers(lines=1, mib=AT_REST_MIB)
