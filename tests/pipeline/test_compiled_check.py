"""Tests that the compiled check of batches finds the same faults as the plain one."""

import random
import struct
from pathlib import Path

from pybroker.pipeline.audit.compiled_check import quick_batch_faults
from pybroker.protocol.records.batch import HEADER_SIZE_V2, RecordBatch
from pybroker.storage.files.files import Files
from pybroker.storage.segment.segment_reader import SegmentReader
from pybroker.storage.verify.batch_check import batch_faults
from support.logs.kafka_directories import LOGDIRS
from support.spark.gathered_rows import need_columns

FIELDS = [(23, ">i"), (27, ">q"), (35, ">q"), (57, ">i")]
"""Last offset delta, base timestamp, greatest timestamp, count."""


def stored(path: Path) -> list[bytes]:
    with SegmentReader(Files(), str(path)) as reader:
        return [bytes(batch.view()) for _, batch in reader.batches()]


def with_right_crc(data: bytes | bytearray) -> bytes:
    return bytes(data[:17]) + struct.pack(">I", RecordBatch(data, 0).compute_crc()) + bytes(data[21:])


def both(data: bytes) -> tuple[list[str], list[str]]:
    batch = RecordBatch(data, 0)
    return list(quick_batch_faults(batch, with_records=True)), list(batch_faults(batch, with_records=True))


def test_compiled_check_finds_the_same_faults_as_the_plain_check() -> None:
    need_columns()
    chance = random.Random(5)
    batches = [data for path in sorted(LOGDIRS.glob("*/data/golden1-*/*.log")) for data in stored(path)]
    damaged = 0
    for data in batches:
        assert both(data) == ([], []), "Kafka wrote it"
        if RecordBatch(data, 0).magic < 2 or len(data) == HEADER_SIZE_V2:
            continue
        for _ in range(5):
            harmed = bytearray(data)
            harmed[chance.randrange(61, len(data))] ^= 1 << chance.randrange(8)
            quick, plain = both(with_right_crc(harmed))
            assert quick == plain
            damaged += bool(plain)
        for position, kind in FIELDS:
            harmed = bytearray(data)
            (value,) = struct.unpack_from(kind, harmed, position)
            struct.pack_into(kind, harmed, position, value + chance.choice((-1, 1)))
            quick, plain = both(with_right_crc(harmed))
            assert quick == plain
            damaged += bool(plain)
        quick, plain = both(data[:-1] + bytes([data[-1] ^ 1]))
        assert quick == plain != []
    assert damaged > 500
