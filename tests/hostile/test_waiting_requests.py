"""Attacks on the memory of waiting requests and of the responses behind them."""

import socket
import struct

import pytest
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pybroker.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.clients.good_client import create_topic, make_coordinator
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of, framed

from .conftest import OpenArena
from .test_frames import AT_REST_MIB
from .test_groups import OFFSETS_FILES, join_request

MIB = 1 << 20


def waiting_fetch(forgotten: list[ForgottenTopic] | None = None) -> FetchRequest:
    """Return a fetch that waits for weeks, from a topic that gets no records."""
    wanted = FetchTopic(topic="still", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
    return FetchRequest(
        max_wait_ms=2**31 - 1,
        min_bytes=1,
        max_bytes=1000,
        session_epoch=-1,
        topics=[wanted],
        forgotten_topics_data=forgotten or [],
    )


def with_junk(request: Message, version: int, junk_bytes: int) -> bytes:
    """Return the frame of a request, with bytes at its end that the broker ignores."""
    return framed(frame_of(request, version)[4:] + bytes(junk_bytes))


def read_answer(peer: socket.socket) -> None:
    (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
    assert len(peer.recv(size, socket.MSG_WAITALL)) == size


@pytest.mark.parametrize("size_mib", [pytest.param(1, marks=pytest.mark.long), 8])
def test_waiting_request_does_not_keep_unread_bytes_of_its_frame(open_arena: OpenArena, size_mib: int) -> None:
    # On a busy machine many of them may arrive, or be queued, at the same time.
    limits = ("queued.max.request.bytes", "socket.request.max.bytes")
    field = open_arena(dict.fromkeys(limits, str(16 * MIB)))
    with WireClient(field.servers) as client:
        create_topic(client, "still")
        make_coordinator(client)
    field.begin()
    for number in range(160 // size_mib):
        fetch = with_junk(waiting_fetch(), 12, size_mib * MIB // 2)
        join = with_junk(join_request(f"g{number}", instance="i", timeout_ms=60_000), 7, size_mib * MIB // 2)
        field.throw(fetch)
        field.throw(join)
        field.good.is_served(1)
    field.recovers(lines=0, mib=AT_REST_MIB + 16 + 16, files=OFFSETS_FILES)


def test_decoded_contents_of_waiting_fetches_count_as_their_memory(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.fetch.waiting.max.bytes": str(16 * MIB)})
    with WireClient(field.servers) as client:
        create_topic(client, "still")
    field.begin()
    wide = "\N{PILE OF POO}" + "x" * 32_000  # Python keeps all of it at four bytes a character
    said = [ForgottenTopic(topic=wide, partitions=[number]) for number in range(30)]
    request = frame_of(waiting_fetch(said), 12)
    for _ in range(50):  # 1 MB in the frame, 4 MB when it is decoded
        field.throw(request)
        field.good.is_served(1)
    field.recovers(lines=0, mib=AT_REST_MIB + 16 + 16, files=8)


def test_responses_behind_a_waiting_fetch_are_bounded_over_all_connections(open_arena: OpenArena) -> None:
    limits = ("queued.max.request.bytes", "socket.request.max.bytes", "pybroker.unsent.max.bytes")
    field = open_arena(dict.fromkeys(limits, str(16 * MIB)))
    with WireClient(field.servers) as client:
        create_topic(client, "still")
    field.begin()
    names = [MetadataRequestTopic(name=f"{number:05}" + "x" * 240) for number in range(2000)]
    half_a_megabyte = frame_of(MetadataRequest(topics=names, allow_auto_topic_creation=False), 12)
    for _ in range(60):  # 180 MB if all of it stayed
        field.throw(frame_of(waiting_fetch(), 12) + half_a_megabyte * 6)
        field.good.is_served(1)
    field.until(lambda: len(field.complaints()) >= 1)
    assert "pybroker.unsent.max.bytes" in field.complaints()[0]
    field.recovers(lines=1, mib=AT_REST_MIB + 16 + 16 + 32, files=8)


def test_connections_do_not_keep_long_client_ids(field: Arena) -> None:
    count = 1000
    request = frame_of(MetadataRequest(topics=[]), 12, client_id="\N{PILE OF POO}" + "x" * 32_000)
    for _ in range(count):
        peer = field.throw(request)
        (size,) = struct.unpack(">i", peer.recv(4))
        assert peer.recv(size)
    field.recovers(lines=0, mib=AT_REST_MIB + 8 + count * 6 / 1024)


def test_memory_of_decoded_small_requests_in_progress_is_bounded_over_all_connections(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.decoded.requests.max.bytes": str(4 * MIB)})
    field.begin()
    topics = [CreatableTopic(name=f"{number}", num_partitions=1, replication_factor=1) for number in range(500)]
    # one iteration of the loop for each topic
    request = CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=True)
    peers = [field.throw(frame_of(request, 4) * 8) for _ in range(9)]
    for peer in peers:
        for _ in range(2):  # the most memory is used at the beginning
            read_answer(peer)
    field.recovers(lines=0, mib=AT_REST_MIB)  # 46 MiB; 75 without a bound


@pytest.mark.long  # those of all APIs are in progress one at a time
def test_large_requests_in_progress_are_not_all_in_memory_at_once(field: Arena) -> None:
    partitions = [DeleteRecordsPartition(partition_index=number, offset=0) for number in range(90_000)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="nowhere", partitions=partitions)], timeout_ms=1000)
    peers = [field.throw(frame_of(request, 2)) for _ in range(10)]
    for peer in peers[:3]:
        read_answer(peer)
    field.recovers(lines=0, mib=AT_REST_MIB + 128)  # 110 MiB; 431 without a bound


def test_large_requests_of_all_apis_are_in_progress_one_at_a_time(field: Arena) -> None:
    requests = large_requests(50_000)
    peers = [field.throw(request) for request in 2 * requests]
    for peer in peers[: len(requests)]:
        read_answer(peer)
    field.recovers(lines=len(peers), mib=AT_REST_MIB + 100)  # 143 MiB; 196 with one of each API


def large_requests(count: int) -> list[bytes]:
    """Return one large request of each of six APIs, about topics that do not exist."""
    records = [DeleteRecordsPartition(partition_index=number, offset=0) for number in range(count)]
    offsets = [OffsetDeleteRequestPartition(partition_index=number) for number in range(count)]
    replicas = [AlterReplicaLogDirTopic(name="nowhere", partitions=list(range(count)))]
    growth = [CreatePartitionsTopic(name=f"t{number}", count=9, assignments=None) for number in range(count)]
    creation = [CreatableTopic(name=f"!{number}", num_partitions=1, replication_factor=1) for number in range(count)]
    elections = [TopicPartitions(topic="nowhere", partitions=list(range(count)))]
    deletion = OffsetDeleteRequest(group_id="g", topics=[OffsetDeleteRequestTopic(name="nowhere", partitions=offsets)])
    move = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path="/nowhere", topics=replicas)])
    return [
        frame_of(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="nowhere", partitions=records)]), 2),
        frame_of(deletion, 0),
        frame_of(move, 2),
        frame_of(CreatePartitionsRequest(topics=growth, timeout_ms=1000, validate_only=True), 3),
        frame_of(CreateTopicsRequest(topics=creation, timeout_ms=1000, validate_only=True), 7),
        frame_of(ElectLeadersRequest(topic_partitions=elections, timeout_ms=1000), 2),
    ]
