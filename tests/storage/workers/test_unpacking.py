"""Batches that are large when decompressed are not read in the broker's own process."""

import pytest
from pybroker.protocol.errors import CorruptRecordError
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.inline_limits import DEFAULT_INLINE_BYTES, DEFAULT_INLINE_RECORDS
from pybroker.storage.workers.unpacking import BigBatchError, check_wrapped, unpack_records
from support.logs.bombs import packed_batch, zstd_bomb

PACKING = [Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY]


def records_of(size_bytes: int) -> list[Record]:
    return [Record(number, 0, None, bytes(size_bytes // 4)) for number in range(4)]


def batch_of(size_bytes: int, codec: Codec = Codec.ZSTD) -> RecordBatch:
    return RecordBatch(build_batch(records_of(size_bytes), codec=codec), 0)


@pytest.mark.parametrize("codec", PACKING, ids=lambda codec: codec.name)
def test_small_batch_is_read_in_this_process_and_a_big_one_is_not(codec: Codec) -> None:
    assert list(unpack_records(batch_of(DEFAULT_INLINE_BYTES // 2, codec))) == records_of(DEFAULT_INLINE_BYTES // 2)
    with pytest.raises(BigBatchError):
        next(unpack_records(batch_of(2 * DEFAULT_INLINE_BYTES, codec)))


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKING], ids=lambda codec: codec.name)
def test_batch_of_many_records_is_not_read_in_this_process(codec: Codec) -> None:
    some = [Record(number, 0, None, None) for number in range(DEFAULT_INLINE_RECORDS)]
    assert sum(1 for _ in unpack_records(RecordBatch(build_batch(some, codec=codec), 0))) == DEFAULT_INLINE_RECORDS
    with pytest.raises(BigBatchError):
        next(
            unpack_records(
                RecordBatch(build_batch([*some, Record(DEFAULT_INLINE_RECORDS, 0, None, None)], codec=codec), 0)
            )
        )


def test_large_uncompressed_batch_is_read_in_this_process() -> None:
    assert list(unpack_records(batch_of(2 * DEFAULT_INLINE_BYTES, Codec.NONE))) == records_of(2 * DEFAULT_INLINE_BYTES)


@pytest.mark.parametrize("codec", PACKING, ids=lambda codec: codec.name)
def test_batch_that_unpacks_to_more_than_the_limit_is_corrupt(codec: Codec) -> None:
    with pytest.raises(CorruptRecordError):
        next(unpack_records(batch_of(DEFAULT_INLINE_BYTES, codec), DEFAULT_INLINE_BYTES // 2))


@pytest.mark.parametrize("count", [1000, DEFAULT_INLINE_RECORDS + 1])
def test_batch_that_claims_too_large_a_size_is_refused_without_another_process(count: int) -> None:
    bomb = RecordBatch(packed_batch(Codec.ZSTD, zstd_bomb(1 << 30), count), 0)
    with pytest.raises(CorruptRecordError):
        next(unpack_records(bomb, 1 << 29))
    with pytest.raises(BigBatchError):
        next(unpack_records(bomb, 1 << 30))


def test_broken_batch_is_refused_without_another_process() -> None:
    broken = RecordBatch(packed_batch(Codec.ZSTD, b"\x28\xb5\x2f\xfd" + bytes(9), 1), 0)
    with pytest.raises(CorruptRecordError):
        next(unpack_records(broken))


def test_checksums_inside_a_compressed_message_are_checked_in_this_process_unless_it_is_big() -> None:
    for size, is_big in ((DEFAULT_INLINE_BYTES // 2, False), (DEFAULT_INLINE_BYTES * 2, True)):
        wrapper = RecordBatch(build_message_set(records_of(size), 1, Codec.GZIP), 0)
        if is_big:
            with pytest.raises(BigBatchError):
                check_wrapped(wrapper)
        else:
            check_wrapped(wrapper)
