"""Attacks with invalid record batches, and with batches that decompress to far more than their size."""

import struct
import time
import zlib

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.logs.bombs import gzip_bomb, lz4_bomb, packed_batch, snappy_bomb, with_crc, zstd_bomb, zstd_mine
from support.processes.arena import Arena

from .conftest import OpenArena

AT_REST_MIB = 64
UNPACKED_LIMIT = {"pybroker.batch.max.decompressed.bytes": str(16 * 1024 * 1024)}
UNPACKED_MIB = 8 * 6
"""Up to three times 2 MiB for each worker. Batches that decompress to more are read in another process."""


def answer_to(client: WireClient, topic: str, records: bytes) -> ErrorCode:
    answer = client.ask(produce_request(topic, records), 9)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def good_batch(count: int = 3) -> bytearray:
    now_ms = time.time_ns() // 1_000_000
    return bytearray(build_batch([Record(number, now_ms, b"key", b"value") for number in range(count)]))


def changed(offset: int, code: str, value: int, *, rightly_summed: bool = True) -> bytes:
    batch = good_batch()
    struct.pack_into(f">{code}", batch, offset, value)
    return with_crc(batch) if rightly_summed else bytes(batch)


LIES = {
    "a count of 0": changed(57, "i", 0),
    "a count of 2^31-1": changed(57, "i", 2**31 - 1),
    "a negative count": changed(57, "i", -5),
    "a count and last offset that fit each other and not the bytes": with_crc(
        bytearray(changed(57, "i", 1_000_000)[:23] + struct.pack(">i", 999_999) + changed(57, "i", 1_000_000)[27:])
    ),
    "a last offset delta that is not the count's": changed(23, "i", 7),
    "a negative last offset delta": changed(23, "i", -1),
    "a base offset": changed(0, "q", 2**62),
    "a length of 2^31-1": changed(8, "i", 2**31 - 1, rightly_summed=False),
    "a length of 0": changed(8, "i", 0, rightly_summed=False),
    "a negative length": changed(8, "i", -1, rightly_summed=False),
    "a wrong crc": changed(17, "I", 1, rightly_summed=False),
    "an unknown magic": changed(16, "b", 9, rightly_summed=False),
    "an unknown codec": changed(21, "h", 7),
    "control records": changed(21, "h", 0x20),
    "a producer without a sequence": changed(43, "q", 5),
    "nothing": b"",
    "a header cut short": bytes(good_batch()[:40]),
    "two batches": bytes(good_batch() * 2),
}


def test_invalid_batches_are_refused_and_not_stored(field: Arena) -> None:
    with WireClient(field.servers) as liar:
        create_topic(liar, "lies")
        for lie, batch in LIES.items():
            for _ in range(20):
                assert answer_to(liar, "lies", batch) is not ErrorCode.NONE, lie
        assert answer_to(liar, "lies", bytes(good_batch())) is ErrorCode.NONE
        latest = ListOffsetsPartition(partition_index=0, timestamp=-1)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="lies", partitions=[latest])])
        assert liar.ask(request, 7).topics[0].partitions[0].offset == 3
    field.recovers(lines=0, mib=AT_REST_MIB, files=8)


BOMBS = {
    Codec.GZIP: gzip_bomb,
    Codec.ZSTD: zstd_bomb,
    Codec.LZ4: lz4_bomb,
    Codec.SNAPPY: snappy_bomb,
}
BOMB_TOPICS = {
    "compacted": {"cleanup.policy": "compact"},
    "of another codec": {"compression.type": "uncompressed"},
    "with bounds of time": {"message.timestamp.before.max.ms": "1000000000"},
}


@pytest.mark.parametrize("codec", BOMBS, ids=lambda codec: codec.name.lower())
def test_decompression_bomb_is_refused_for_every_kind_of_topic(open_arena: OpenArena, codec: Codec) -> None:
    field = open_arena({**UNPACKED_LIMIT, "pybroker.record.validation": "full", "message.max.bytes": "10000000"})
    bomb = packed_batch(codec, BOMBS[codec](64 * 1024 * 1024), 1000)
    with WireClient(field.servers) as bomber:
        for kind, settings in {"plain": {}, **BOMB_TOPICS}.items():
            name = kind.replace(" ", "-")
            create_topic(bomber, name, settings)
            for _ in range(5):
                assert answer_to(bomber, name, bomb) is ErrorCode.INVALID_RECORD, kind
    field.recovers(lines=0, mib=AT_REST_MIB + UNPACKED_MIB, files=40)


def test_megabyte_that_decompresses_to_ten_gigabytes_is_refused(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.record.validation": "full"})
    bomb = packed_batch(Codec.ZSTD, zstd_bomb(10 * 1024**3), 1000)
    assert len(bomb) < 1024 * 1024
    with WireClient(field.servers) as bomber:
        create_topic(bomber, "bombed")
        assert answer_to(bomber, "bombed", bomb) is ErrorCode.INVALID_RECORD
    field.recovers(lines=0, mib=AT_REST_MIB + UNPACKED_MIB, files=8)


@pytest.mark.parametrize("mib", [pytest.param(240, marks=pytest.mark.long), 1000])
def test_batches_that_decompress_to_hundreds_of_megabytes_take_no_memory_of_the_broker(
    open_arena: OpenArena, mib: int
) -> None:
    field = open_arena({"pybroker.record.validation": "full"})
    mine = packed_batch(Codec.ZSTD, zstd_mine(mib * 1024 * 1024), 1000)
    assert len(mine) < 1024 * 1024
    with WireClient(field.servers) as bomber:
        create_topic(bomber, "mined")
        for _ in range(3):
            assert answer_to(bomber, "mined", mine) is ErrorCode.INVALID_RECORD
    field.recovers(lines=0, mib=AT_REST_MIB + UNPACKED_MIB, files=8)


def test_concurrent_decompression_bombs_are_refused_or_time_out_in_bounded_memory(open_arena: OpenArena) -> None:
    field = open_arena({**UNPACKED_LIMIT, "pybroker.record.validation": "full"})
    bomb = packed_batch(Codec.ZSTD, zstd_mine(1024**3), 1000)
    clients = [WireClient(field.servers) for _ in range(16)]
    for number, client in enumerate(clients):
        create_topic(client, f"bombed-{number}")
    for number, client in enumerate(clients):
        client.send(produce_request(f"bombed-{number}", bomb), 9)
    codes = {client.receive().responses[0].partition_responses[0].error_code for client in clients}
    for client in clients:
        client.close()
    assert ErrorCode.INVALID_RECORD in codes
    assert codes <= {ErrorCode.INVALID_RECORD, ErrorCode.REQUEST_TIMED_OUT}
    field.recovers(lines=0, mib=AT_REST_MIB + UNPACKED_MIB, files=100)


def test_stored_decompression_bomb_fails_old_fetches_and_searches_by_time_in_bounded_memory(
    open_arena: OpenArena,
) -> None:
    field = open_arena(UNPACKED_LIMIT)
    bomb = packed_batch(Codec.GZIP, gzip_bomb(512 * 1024 * 1024), 1000)  # the header is right, so it is stored
    with WireClient(field.servers) as reader:
        create_topic(reader, "mined")
        assert answer_to(reader, "mined", bomb) is ErrorCode.NONE
        wanted = FetchTopic(topic="mined", partitions=[FetchPartition(partition=0, partition_max_bytes=10_000_000)])
        old = reader.ask(FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=10_000_000, topics=[wanted]), 3)
        assert old.responses[0].partitions[0].error_code != ErrorCode.NONE
        earliest = ListOffsetsPartition(partition_index=0, timestamp=1)
        by_time = reader.ask(ListOffsetsRequest(topics=[ListOffsetsTopic(name="mined", partitions=[earliest])]), 7)
        assert by_time.topics[0].partitions[0].error_code != ErrorCode.NONE
    field.recovers(lines=2, mib=AT_REST_MIB + UNPACKED_MIB, files=8)


def test_million_messages_of_an_old_format_take_little_more_memory_than_their_request(field: Arena) -> None:
    message = bytes(build_message_set([Record(0, 1, None, None)], 1, Codec.NONE))
    size_mib = 30
    with WireClient(field.servers) as client:
        create_topic(client, "old")
        field.begin()
        request = produce_request("old", message * ((size_mib << 20) // len(message)))
        (answer,) = client.ask(request, 2).responses[0].partition_responses
        assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    field.recovers(lines=0, mib=AT_REST_MIB + size_mib + 16, files=8)


def test_refusal_of_100000_invalid_records_names_a_thousand_of_them(open_arena: OpenArena) -> None:
    field = open_arena({"message.max.bytes": "10000000"})
    records = bytearray()
    for number in range(100_000):
        delta = number << 1
        varint = bytearray()
        while delta > 0x7F:
            varint.append(delta & 0x7F | 0x80)
            delta >>= 7
        varint.append(delta)
        body = b"\x00\x00" + bytes(varint) + b"\x01\x00\x00"
        records += bytes([len(body) << 1]) + body
    batch = packed_batch(Codec.GZIP, zlib.compress(bytes(records), wbits=31), 100_000)
    with WireClient(field.servers) as client:
        create_topic(client, "compacted", {"cleanup.policy": "compact"})
        (answer,) = client.ask(produce_request("compacted", batch), 9).responses[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert len(answer.record_errors) == 1000
    assert "100000 record errors" in (answer.error_message or "")
    field.recovers(lines=0, mib=AT_REST_MIB + 32, files=8)
