"""Batches that are large when unpacked are read one at a time."""

import pytest
from pybroker.protocol.errors import CorruptRecordError, RequestTimedOutError
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.unpacking import SMALL_BYTES, BigBatches, unpack_records

ALONE = 0


def batch_of(size_bytes: int) -> RecordBatch:
    value = bytes(size_bytes // 4)
    return RecordBatch(build_batch([Record(n, 0, None, value) for n in range(4)], codec=Codec.ZSTD), 0)


def test_a_small_batch_waits_for_nobody() -> None:
    big = BigBatches(ALONE)
    with big.turn():
        assert len(list(unpack_records(batch_of(SMALL_BYTES // 2), big=big))) == 4


def test_a_big_batch_is_refused_until_later_while_enough_wait() -> None:
    big = BigBatches(ALONE)
    batch = batch_of(2 * SMALL_BYTES)
    with big.turn(), pytest.raises(RequestTimedOutError):
        list(unpack_records(batch, big=big))
    assert len(list(unpack_records(batch, big=big))) == 4


def test_who_reads_a_part_of_a_big_batch_gives_the_turn_back() -> None:
    big = BigBatches(ALONE)
    batch = batch_of(2 * SMALL_BYTES)
    records = unpack_records(batch, big=big)
    next(records)
    records.close()  # type: ignore[attr-defined]
    assert len(list(unpack_records(batch, big=big))) == 4


def test_a_batch_over_the_limit_is_corrupt() -> None:
    with pytest.raises(CorruptRecordError):
        list(unpack_records(batch_of(2 * SMALL_BYTES), SMALL_BYTES + 1))
