"""Tests of the rules for which appends may run on the event loop."""

import pytest
from pybroker.protocol.records.batch import TimestampType, set_max_timestamp
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record
from pybroker.storage.log.inline_append import (
    FEW_BATCHES,
    LARGE_APPEND_BYTES,
    SMALL_APPEND_BYTES,
    is_quick_append,
)
from pybroker.storage.log.log_append import FollowerAppend, LeaderAppend
from pybroker.storage.log_config import LogConfig
from support.logs.storage_logs import NOW_MS

PLAIN = LogConfig()
SMALL = 100
MIDDLE = SMALL_APPEND_BYTES + 1
HUGE = LARGE_APPEND_BYTES + 1


def batch(value_size: int, codec: Codec = Codec.NONE, timestamp_ms: int = NOW_MS) -> bytearray:
    """Return a batch of about `size` bytes. Its value does not compress well."""
    value = b"".join(number.to_bytes(4, "big") for number in range(value_size // 4 + 1))
    return bytearray(build_batch([Record(0, timestamp_ms, b"k", value)], base_offset=0, codec=codec))


def little(records: bytearray, config: LogConfig = PLAIN) -> bool:
    return is_quick_append(LeaderAppend(records, 0, NOW_MS), config)


@pytest.mark.parametrize("size", [SMALL, MIDDLE])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_batch_stored_unchanged_may_be_appended_on_the_loop(size: int, codec: Codec) -> None:
    assert little(batch(size, codec))


def test_long_write_is_not_done_on_the_loop() -> None:
    assert not little(batch(HUGE))


def test_append_that_must_be_synced_is_not_done_on_the_loop() -> None:
    assert not little(batch(SMALL), LogConfig(flush_messages=10))


WALKED = [
    LogConfig(cleanup_policy=("compact",)),
    LogConfig(validate_every_record=True),
    LogConfig(message_timestamp_before_max_ms=1000),
]


@pytest.mark.parametrize("config", WALKED)
def test_only_small_uncompressed_batches_are_walked_on_the_loop(config: LogConfig) -> None:
    assert little(batch(SMALL), config)
    assert not little(batch(MIDDLE), config)


@pytest.mark.parametrize(
    "config", [*WALKED, LogConfig(compression_type="gzip"), LogConfig(compression_type="uncompressed")]
)
def test_batch_that_must_be_decompressed_is_not_appended_on_the_loop(config: LogConfig) -> None:
    assert not little(batch(SMALL, Codec.LZ4), config)


def test_producer_cannot_force_a_decompression_on_the_loop() -> None:
    claimed = batch(SMALL, Codec.LZ4)
    set_max_timestamp(claimed, 0, TimestampType.LOG_APPEND_TIME, NOW_MS)
    assert not little(claimed)
    of_the_future = batch(SMALL, Codec.LZ4, timestamp_ms=NOW_MS + 5000)
    assert not little(of_the_future, LogConfig(message_timestamp_after_max_ms=1000))


def test_messages_of_old_formats_are_not_converted_on_the_loop() -> None:
    old = bytearray(build_message_set([Record(0, NOW_MS, b"k", b"v")], magic=1))
    assert not little(old)


def test_small_invalid_record_set_is_refused_on_the_loop_and_a_longer_one_in_the_pool() -> None:
    assert little(bytearray(5))
    assert not little(bytearray(b"\xff" * MIDDLE))


def replicated(records: bytes | bytearray) -> bool:
    return is_quick_append(FollowerAppend(records, NOW_MS), PLAIN)


def test_follower_append_of_few_batches_is_done_on_the_loop() -> None:
    assert replicated(batch(SMALL))
    assert replicated(batch(MIDDLE))
    assert replicated(b"".join([batch(MIDDLE)] * 3))
    assert not replicated(batch(HUGE))


def test_follower_append_of_many_batches_is_not_done_on_the_loop() -> None:
    small = batch(SMALL)
    assert len(small) * FEW_BATCHES > SMALL_APPEND_BYTES
    assert replicated(b"".join([small] * FEW_BATCHES))
    assert not replicated(b"".join([small] * (FEW_BATCHES + 1)))


def test_last_batch_of_a_follower_append_may_be_cut_off_anywhere() -> None:
    sent = b"".join([batch(MIDDLE)] * 2)
    for left in (1, 11, 12, 60, 1000):
        assert replicated(sent[:-left])
        assert replicated(sent[: len(sent) // 2 + left])


def test_invalid_batch_length_ends_the_count_of_a_follower_append() -> None:
    for length in (-1, -12, -(2**31), 2**31 - 1):
        torn = bytearray(batch(MIDDLE))
        torn[8:12] = length.to_bytes(4, "big", signed=True)
        assert replicated(torn)
