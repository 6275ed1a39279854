"""Searches by timestamp in batches whose header has a timestamp that none of their records has."""

import struct
from pathlib import Path

import pytest
from pybroker.storage.log import log_view
from pybroker.storage.log.log import Log
from pybroker.storage.segment import record_search
from support.logs.bombs import with_crc
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, open_log

PROMISED_MS = NOW_MS + 1000
_MAX_TIMESTAMP_POSITION = 35


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("honest"), 0, NOW_MS)
    for _ in range(20):
        batch = batch_of("a", "b", "c")
        struct.pack_into(">q", batch, _MAX_TIMESTAMP_POSITION, PROMISED_MS)
        append_as_leader(log, bytearray(with_crc(batch)), 0, NOW_MS)
    append_as_leader(log, batch_of("late", timestamp_ms=PROMISED_MS + 1), 0, NOW_MS)
    return log


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The batches whose records were read."""
    found: list[object] = []
    search = record_search.first_between

    def note(batch: object, *bounds: object) -> object:
        found.append(batch)
        return search(batch, *bounds)  # type: ignore[arg-type]

    monkeypatch.setattr(log_view, "first_between", note)
    return found


def test_search_returns_the_header_timestamp_of_the_first_batch_without_such_a_record(
    log: Log, unpacked: list[object]
) -> None:
    assert log.offset_for_timestamp(PROMISED_MS) == (PROMISED_MS, 3, 0)
    assert len(unpacked) == 1


def test_search_finds_real_records_before_a_false_header_timestamp_and_after_one_that_is_too_small(log: Log) -> None:
    assert log.offset_for_timestamp(NOW_MS) == (NOW_MS, 0, 0)
    assert log.offset_for_timestamp(PROMISED_MS + 1) == (PROMISED_MS + 1, 61, 0)


def test_search_skips_a_batch_with_a_false_timestamp_that_the_log_starts_inside(log: Log) -> None:
    log.increment_log_start_offset(2)  # offsets 1 to 3 are one batch
    assert log.offset_for_timestamp(PROMISED_MS) == (PROMISED_MS, 6, 0)


def test_search_for_the_greatest_timestamp_reads_one_batch(tmp_path: Path, unpacked: list[object]) -> None:
    log = open_log(tmp_path / "other")
    for _ in range(20):
        batch = batch_of("a", "b", "c")
        struct.pack_into(">q", batch, _MAX_TIMESTAMP_POSITION, PROMISED_MS)
        append_as_leader(log, bytearray(with_crc(batch)), 0, NOW_MS)
    assert log.offset_of_max_timestamp() == (PROMISED_MS, 2, 0)
    assert len(unpacked) == 1
