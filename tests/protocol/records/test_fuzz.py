"""Hostile bytes: any record set is either read or refused with a typed error."""

import gzip
import json
import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.control import read_marker
from pybroker.protocol.records.conversion import down_convert
from pybroker.protocol.records.crc import crc32, crc32c
from pybroker.protocol.records.record import read_records
from pybroker.storage.log_config import LogConfig
from support.logs.storage_logs import as_leader_stores
from support.record_bytes import first_offset

GOLDEN = Path(__file__).parents[2] / "reference" / "golden"
LIMIT = 1 << 20
TO_PLAIN = LogConfig(
    compression_type="uncompressed",
    max_decompressed_bytes=LIMIT,
    inline_max_bytes=LIMIT,
    inline_max_records=(1 << 31) - 1,
)
TO_GZIP = replace(TO_PLAIN, compression_type="gzip", message_timestamp_type="LogAppendTime")


def golden_sets() -> list[bytes]:
    with gzip.open(GOLDEN / "record-batches.jsonl.gz", "rt") as file:
        sets = [bytes.fromhex(json.loads(line)["hex"]) for line in file]
    # The long ones add no other cases.
    return [data for data in sets if len(data) < 1500]


SETS = golden_sets()


def read_everything(data: bytes) -> None:
    """Do everything that a broker may do with a record set from outside; only KafkaErrors are allowed."""
    try:
        for batch in iter_batches(data):
            for step in (
                lambda batch=batch: batch.is_valid_crc(),
                lambda batch=batch: sum(1 for _ in read_records(batch, LIMIT)),
                lambda batch=batch: first_offset(batch, LIMIT),
                lambda batch=batch: read_marker(batch),
                lambda batch=batch: repr(batch) + str(batch.last_sequence) + str(batch.delete_horizon_ms),
            ):
                try:
                    step()
                except KafkaError:
                    continue
    except KafkaError:
        pass
    conversions: tuple[Callable[[], bytes], ...] = (
        lambda: down_convert(data, 0, 3, max_bytes=LIMIT),
        lambda: down_convert(data, 1, 3, max_bytes=LIMIT),
        lambda: as_leader_stores(data, TO_PLAIN),
        lambda: as_leader_stores(data, TO_GZIP, next_offset=1 << 40),
    )
    for convert in conversions:
        try:
            convert()
        except KafkaError:
            continue


def with_good_checksums(data: bytearray) -> bytes:
    """Return the data with valid checksums, so that the damage is not found by them."""
    try:
        for batch in list(iter_batches(data)):
            if batch.magic == 2:
                struct.pack_into(">I", data, batch.position + 17, crc32c(data[batch.position + 21 : batch.end]))
            else:
                struct.pack_into(">I", data, batch.position + 12, crc32(data[batch.position + 16 : batch.end]))
    except KafkaError:
        pass
    return bytes(data)


def damaged(data: bytes, randomness: random.Random) -> bytearray:
    result = bytearray(data)
    for _ in range(randomness.choice((1, 1, 1, 2, 5))):
        position = randomness.randrange(len(result))
        kind = randomness.randrange(6)
        if kind == 0:
            result[position] ^= 1 << randomness.randrange(8)
        elif kind == 1:
            result[position] = randomness.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del result[position : position + randomness.randrange(1, 8)]
        elif kind == 3:
            result[position:position] = randomness.randbytes(randomness.randrange(1, 8))
        elif kind == 4:
            number = randomness.choice((-1, 0, 1, 0x7FFFFFFF, -0x80000000, randomness.randrange(-300, 300)))
            result[position : position + 4] = struct.pack(">i", number)
        else:
            result[position : position + 8] = struct.pack(">q", randomness.choice((-1, -(1 << 63), (1 << 63) - 1)))
        if not result:
            break
    return result


@pytest.mark.parametrize("seed", range(20))
def test_damaged_golden_set_has_a_typed_outcome(seed: int) -> None:
    randomness = random.Random(seed)
    for data in SETS:
        broken = damaged(data, randomness)
        read_everything(bytes(broken))
        read_everything(with_good_checksums(broken))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 600))
def test_damaged_golden_set_has_a_typed_outcome_for_many_seeds(seed: int) -> None:
    test_damaged_golden_set_has_a_typed_outcome(seed)


@given(st.binary(max_size=400))
def test_any_bytes_have_a_typed_outcome(data: bytes) -> None:
    read_everything(data)


@given(st.binary(max_size=300), st.integers(min_value=0, max_value=2), st.integers(min_value=0, max_value=255))
def test_any_body_after_a_valid_length_has_a_typed_outcome(body: bytes, magic: int, attributes: int) -> None:
    data = bytearray(17) + body
    struct.pack_into(">qi", data, 0, 0, len(data) - 12)
    data[16] = magic
    if magic == 2 and len(data) > 22:
        data[21:23] = bytes((0, attributes))
    elif len(data) > 17:
        data[17] = attributes
    read_everything(with_good_checksums(data))
