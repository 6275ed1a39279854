"""Attacks with malformed frames: partial frames, false sizes, random bytes, headers with random bodies."""

import struct

import pytest
from pybroker.protocol.apis import API_SPECS
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.produce import ProduceRequest
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, framed, header_of

from .conftest import OpenArena

MIB = 1 << 20

AT_REST_MIB = 64
"""A broker at rest takes about 40 MiB; the rest is a margin for other versions of Python and libraries."""


def test_stalled_partial_frame_holds_128_kib_and_not_its_announced_size(field: Arena) -> None:
    for _ in range(500):
        field.throw(struct.pack(">i", 100_000_000) + bytes(100))
    field.until(lambda: field.sockets_of_attackers == 500)
    # Each frame announces 100 MB; the broker sets 128 KiB aside for it.
    field.recovers(lines=0, mib=AT_REST_MIB + 500 / 8)


@pytest.mark.parametrize("now_and_then", [pytest.param(b"", marks=pytest.mark.long), b"x"])
def test_stalled_partial_frames_that_fill_the_memory_give_way_to_large_requests(
    open_arena: OpenArena, now_and_then: bytes
) -> None:
    field = open_arena({"queued.max.request.bytes": str(MIB), "socket.request.max.bytes": str(MIB)})
    with WireClient(field.servers) as client:
        create_topic(client, "large")
        field.begin()
        peers = [field.throw(struct.pack(">i", 900_000) + bytes(60_000)) for _ in range(40)]
        for _ in range(2):  # the bytes of the first round are read; then the memory is full
            field.good.is_served()
            for peer in peers:
                peer.sendall(now_and_then)
        batch = build_batch([Record(0, 0, None, bytes(700_000))])
        for _ in range(3):
            answer = client.ask(produce_request("large", batch), 9)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    field.recovers(lines=2, mib=AT_REST_MIB)


@pytest.mark.parametrize(
    "size", [2**31 - 1, *(pytest.param(each, marks=pytest.mark.long) for each in (104_857_601, 0, -(2**31))), -1]
)
def test_impossible_frame_size_closes_the_connection_and_is_logged_once(field: Arena, size: int) -> None:
    for _ in range(100):
        field.is_hung_up(field.throw(struct.pack(">i", size) + b"\0" * 20))
    field.recovers(lines=1, mib=AT_REST_MIB)
    field.until(lambda: len(field.complaints()) >= 1)
    assert "socket.request.max.bytes" in field.complaints()[0]


def test_each_offending_address_is_logged_once(field: Arena) -> None:
    hosts = [f"127.0.0.{number}" for number in range(2, 22)]
    for host in hosts:
        for _ in range(5):
            peer = field.connect(host)
            peer.sendall(struct.pack(">i", -1))
            field.is_hung_up(peer)
    field.until(lambda: len(field.complaints()) >= len(hosts))
    assert all(sum(f"{host}:" in line for line in field.complaints()) == 1 for host in hosts)
    field.recovers(lines=len(hosts), mib=AT_REST_MIB)


def test_random_bytes_are_logged_once_per_kind_of_offence(field: Arena) -> None:
    for _ in range(1000):
        peer = field.throw(field.dice.randbytes(field.dice.randrange(1, 3000)))
        field.drop(peer)
    # An invalid size, an invalid header, an invalid body, an API that is not served.
    field.recovers(lines=4, mib=AT_REST_MIB)


def test_random_bodies_behind_valid_headers_of_every_api_do_no_harm(field: Arena) -> None:
    for spec in API_SPECS.values():
        for version in range(spec.min_version, spec.max_version + 1):
            head = header_of(spec.request_type(), version)
            for size in field.dice.sample((0, 3, 40, 900), 2):
                field.drop(field.throw(framed(head + field.dice.randbytes(size))))
    # By chance some bodies are valid requests, which may create topics.
    field.recovers(lines=6, mib=AT_REST_MIB, files=1000)


@pytest.mark.parametrize(
    "count", [2**31 - 1, *(pytest.param(each, marks=pytest.mark.long) for each in (2**31 - 2, 100_000_000))]
)
@pytest.mark.parametrize(
    ("request_type", "version", "before"),
    [
        (MetadataRequest, 1, b""),
        (ProduceRequest, 3, b"\xff\xff" + struct.pack(">hi", -1, 1000)),
        (FetchRequest, 4, struct.pack(">iiiib", -1, 500, 1, 1000, 0)),
    ],
    ids=["metadata", "produce", "fetch"],
)
def test_array_with_a_huge_announced_length_takes_no_memory(
    field: Arena, request_type: type[MetadataRequest], version: int, before: bytes, count: int
) -> None:
    content = header_of(request_type, version) + before + struct.pack(">i", count) + bytes(30)
    for _ in range(100):
        field.is_hung_up(field.throw(framed(content)))
    field.recovers(lines=1, mib=AT_REST_MIB)


@pytest.mark.parametrize("count", [2**31 - 1, pytest.param(2**28, marks=pytest.mark.long)])
def test_compact_array_with_a_huge_announced_length_takes_no_memory(field: Arena, count: int) -> None:
    varint = b""
    while count > 0x7F:
        varint += bytes([count & 0x7F | 0x80])
        count >>= 7
    content = header_of(MetadataRequest, 12) + varint + bytes([count]) + bytes(30)
    for _ in range(100):
        field.is_hung_up(field.throw(framed(content)))
    field.recovers(lines=1, mib=AT_REST_MIB)
