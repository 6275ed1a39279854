"""Attacks by clients that write single bytes, read slowly, or never read."""

import socket
import struct

import pytest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.clients.good_client import create_topic
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of

from .conftest import OpenArena
from .test_batches import answer_to, good_batch

AT_REST_MIB = 64


def test_clients_that_write_single_bytes_get_their_responses(field: Arena) -> None:
    request = frame_of(MetadataRequest(topics=[MetadataRequestTopic(name="good")]), 12)
    peers = [field.connect() for _ in range(50)]
    for peer in peers:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in request:
        for peer in peers:
            peer.sendall(bytes([byte]))
    for peer in peers:
        (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
        assert len(peer.recv(size, socket.MSG_WAITALL)) == size
    field.recovers(lines=0, mib=AT_REST_MIB)


def fill(field: Arena, topic: str, batches: int) -> None:
    with WireClient(field.servers) as writer:
        create_topic(writer, topic)
        for _ in range(batches):
            batch = good_batch(9000)
            assert not answer_to(writer, topic, bytes(batch))


def fetch_of(topic: str, max_bytes: int = 50_000_000) -> bytes:
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, partition_max_bytes=max_bytes)])
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=max_bytes, session_epoch=-1, topics=[wanted])
    return frame_of(request, 12)


def test_fetch_responses_that_are_never_read_hold_no_records_in_memory(field: Arena) -> None:
    fill(field, "big", 100)
    field.begin()
    for _ in range(200):
        field.connect(receive_buffer_bytes=4096).sendall(fetch_of("big") * 10)
    field.good.is_served(20)
    field.recovers(lines=0, mib=AT_REST_MIB + 32, files=8)


def test_clients_that_stop_reading_a_response_hold_no_records_in_memory(field: Arena) -> None:
    fill(field, "big", 100)
    field.begin()
    peers = [field.connect(receive_buffer_bytes=4096) for _ in range(50)]
    for peer in peers:
        peer.sendall(fetch_of("big"))
    for _ in range(20):
        for peer in peers:
            assert peer.recv(512)
    field.recovers(lines=0, mib=AT_REST_MIB + 16, files=8)


def test_responses_that_are_never_read_are_bounded_over_all_connections(open_arena: OpenArena) -> None:
    limits = ("queued.max.request.bytes", "socket.request.max.bytes", "pybroker.unsent.max.bytes")
    field = open_arena(dict.fromkeys(limits, str(16 * 1024 * 1024)))
    # 300 answers of half a megabyte would be 150 MB: the response repeats each unknown topic name.
    names = [MetadataRequestTopic(name=f"{number:05}" + "x" * 240) for number in range(2000)]
    request = frame_of(MetadataRequest(topics=names, allow_auto_topic_creation=False), 12)
    for _ in range(300):
        field.connect(receive_buffer_bytes=4096).sendall(request)
        field.good.is_served(1)
    # A fifth of a megabyte of each response is in the system's buffers, and a third of a megabyte counts.
    field.until(lambda: field.sockets_of_attackers <= 64)
    field.until(lambda: len(field.complaints()) >= 1)
    assert "pybroker.unsent.max.bytes" in field.complaints()[0]
    # The requests of half a megabyte each are queued; queued.max.request.bytes bounds them.
    field.recovers(lines=1, mib=AT_REST_MIB + 16 + 16 + 32)


LONG_MS = 2**31 - 1


def long_poll() -> bytes:
    wanted = FetchTopic(topic="good", partitions=[FetchPartition(partition=0, fetch_offset=0)])
    return frame_of(FetchRequest(max_wait_ms=LONG_MS, min_bytes=LONG_MS, session_epoch=-1, topics=[wanted]), 12)


TINY_FRAMES = bytes([0, 0, 0, 1, 0]) * 12_000
"""These frames fit into one read, but would take a megabyte if all were objects at once."""


@pytest.mark.parametrize("before", [pytest.param("long polls", marks=pytest.mark.long), "an answer that is not read"])
def test_requests_behind_unfinished_responses_are_bounded_over_all_connections(
    open_arena: OpenArena, before: str
) -> None:
    field = open_arena({"pybroker.unsent.max.bytes": str(16 * 1024 * 1024)})
    fill(field, "big", 100)
    field.begin()
    first = long_poll() * 8 if before == "long polls" else fetch_of("big")
    for _ in range(400):
        field.connect(receive_buffer_bytes=4096).sendall(first + TINY_FRAMES)
    field.good.is_served(5)
    field.until(lambda: len(field.complaints()) >= 1)
    assert "pybroker.unsent.max.bytes" in field.complaints()[0]
    field.recovers(lines=1, mib=AT_REST_MIB + 16 + 8, files=8)


def half_frame() -> bytes:
    return struct.pack(">i", 1024 * 1024) + bytes(100)


def test_partial_requests_behind_long_polls_are_bounded_over_all_connections(open_arena: OpenArena) -> None:
    limits = ("queued.max.request.bytes", "socket.request.max.bytes", "pybroker.unsent.max.bytes")
    field = open_arena(dict.fromkeys(limits, str(16 * 1024 * 1024)))
    for _ in range(200):  # each takes 128 KiB for the size that it announces
        field.connect().sendall(long_poll() * 8 + half_frame())
    field.good.is_served(5)
    field.until(lambda: len(field.complaints()) >= 1)
    assert "pybroker.unsent.max.bytes" in field.complaints()[0]
    field.recovers(lines=1, mib=AT_REST_MIB + 16 + 8, files=8)


@pytest.mark.parametrize(
    "more",
    [pytest.param(TINY_FRAMES, marks=pytest.mark.long), TINY_FRAMES[:5] + half_frame()],
    ids=["requests", "half a request"],
)
def test_bytes_behind_garbage_are_not_kept(field: Arena, more: bytes) -> None:
    for _ in range(300):
        field.throw(long_poll() + more)
    field.recovers(lines=1, mib=AT_REST_MIB + 8)


def test_hang_up_after_garbage_behind_a_long_poll_is_noticed(field: Arena) -> None:
    for _ in range(50):
        field.drop(field.throw(long_poll() + struct.pack(">i", -1)))
    field.recovers(lines=1, mib=AT_REST_MIB)
