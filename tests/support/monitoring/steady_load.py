"""The same load for every broker: requests whose sizes, batches and offsets are the same each time."""

import time

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.leave_group import LeaveGroupRequest
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, make_coordinator, produce_request
from support.clients.wire_client import WireClient
from support.time.patience import await_that

__all__ = ["BATCHES", "RECORDS_OF_BATCH", "TOPIC", "TOPICS", "run_load"]

TOPICS = TOPIC, COMPACTED, OLD = "orders", "compacted", "old"
GROUP, WORKERS = "billing", "workers"
BATCHES, RECORDS_OF_BATCH = 300, 10
FETCHES, COMMITTED = 20, 1200
REFUSED = 7


def run_load(servers: str) -> None:
    """Create topics, produce, fetch, be refused for several reasons, and rebalance and commit as groups."""
    with WireClient(servers) as client:
        make_coordinator(client)  # a Kafka that has just started knows no live broker
        create_topic(client, TOPIC, {"retention.ms": "-1", "min.insync.replicas": "1"})
        create_topic(client, COMPACTED, {"cleanup.policy": "compact"})
        create_topic(client, OLD)
        now_ms = time.time_ns() // 1_000_000
        for number in range(BATCHES):
            assert _produce(client, TOPIC, build_batch(_records(now_ms, number))) == ErrorCode.NONE
        for _ in range(FETCHES):
            wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 24)
            topic = FetchTopic(topic=TOPIC, partitions=[wanted])
            request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 24, session_epoch=-1, topics=[topic])
            assert client.ask(request, 12).responses[0].partitions[0].records
        await_that(lambda: _commit(client) == ErrorCode.NONE, "the coordinator stores offsets")
        _rebalance(client)
        for _ in range(REFUSED):
            assert _produce(client, "no topic of this name", build_batch([Record(0, now_ms, None, b"x")]))
        _be_refused(client, now_ms)
        old = build_message_set(_records(now_ms, 1), 1, Codec.NONE)
        assert _produce(client, OLD, old, version=2) == ErrorCode.NONE


def _be_refused(client: WireClient, now_ms: int) -> None:
    """Each kind of refusal another number of times, so that no two counters can be mistaken for each other."""
    damaged = bytearray(build_batch(_records(now_ms, 1)))
    damaged[-1] ^= 1
    kinds: list[tuple[str, bytes, ErrorCode]] = [
        (TOPIC, bytes(damaged), ErrorCode.CORRUPT_MESSAGE),
        (TOPIC, build_batch([Record(0, now_ms, None, b"x" * 1_200_000)]), ErrorCode.MESSAGE_TOO_LARGE),
        (COMPACTED, build_batch([Record(0, now_ms, None, b"without a key")]), ErrorCode.INVALID_RECORD),
    ]
    for times, (topic, records, error) in enumerate(kinds, 2):
        for _ in range(times):
            assert _produce(client, topic, records) == error


def _records(now_ms: int, number: int) -> list[Record]:
    return [
        Record(offset, now_ms, b"key", f"{number:08} {offset:08}".encode() * 6) for offset in range(RECORDS_OF_BATCH)
    ]


def _produce(client: WireClient, topic: str, records: bytes, version: int = 9) -> int:
    """The error code."""
    answer = client.ask(produce_request(topic, records), version)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def _rebalance(client: WireClient) -> None:
    """A member joins a group, gets its assignment, and leaves."""
    protocol = JoinGroupRequestProtocol(name="any", metadata=b"")
    joining = JoinGroupRequest(
        group_id=WORKERS,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="x",
        protocols=[protocol],
    )
    member = client.ask(joining, 3)
    assert member.error_code == ErrorCode.NONE
    assignment = SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"all")
    syncing = SyncGroupRequest(
        group_id=WORKERS,
        generation_id=member.generation_id,
        member_id=member.member_id,
        assignments=[assignment],
    )
    assert client.ask(syncing, 2).error_code == ErrorCode.NONE
    leaving = LeaveGroupRequest(group_id=WORKERS, member_id=member.member_id)
    assert client.ask(leaving, 2).error_code == ErrorCode.NONE


def _commit(client: WireClient) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=COMMITTED)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=[topic])
    answer = client.ask(request, 8)
    code: int = answer.topics[0].partitions[0].error_code
    return code
