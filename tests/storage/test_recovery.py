"""Opening a log after a crash: nothing whole is lost, nothing broken is kept, and it is said what was cut."""

import logging
import os
from pathlib import Path

import pytest
from pybroker.storage.log_config import LogConfig
from pybroker.storage.log_loader import StartingPoint
from pybroker.storage.segment import file_name
from support.storage_logs import CRASHED, NOW_MS, batch_of, close_cleanly, crash_copy, open_log, records_from

SMALL = LogConfig(segment_bytes=2000, index_interval_bytes=200)


def fill(directory: Path, count: int = 60, config: LogConfig = SMALL):  # type: ignore[no-untyped-def]
    log = open_log(directory, config)
    for number in range(count):
        log.append_as_leader(batch_of(f"value {number}" * 5, timestamp_ms=NOW_MS + number), 0, NOW_MS)
    return log


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    log = fill(tmp_path / "live")
    start = crash_copy(log, tmp_path / "crashed")
    recovered = open_log(tmp_path / "crashed", SMALL, start)
    assert records_from(recovered) == records_from(log)
    assert [len(segment.offset_index) for segment in recovered.segments] == [
        len(segment.offset_index) for segment in log.segments
    ]


@pytest.mark.parametrize("cut", [1, 11, 12, 30, 60, 61, 80])
def test_a_torn_batch_is_cut_off_and_said(cut: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = fill(tmp_path, 5)
    expected = records_from(log)
    log.close_files()
    torn = bytes(batch_of("torn" * 10))[:cut]
    with open(log.segments[-1].log_ref.path, "ab") as stream:
        stream.write(torn)
    with caplog.at_level(logging.WARNING):
        recovered = open_log(tmp_path, SMALL, CRASHED)
    assert records_from(recovered) == expected
    assert f"cutting {cut} bytes" in caplog.text
    assert os.path.getsize(recovered.segments[-1].log_ref.path) == recovered.segments[-1].size_bytes
    assert recovered.append_as_leader(batch_of("next"), 0, NOW_MS).first_offset == 5


def test_a_flipped_bit_cuts_there_and_drops_the_segments_behind(tmp_path: Path) -> None:
    log = fill(tmp_path)
    close_cleanly(log)
    second = log.segments[1]
    with open(second.log_ref.path, "r+b") as stream:
        stream.seek(second.size_bytes // 2)
        byte = stream.read(1)[0]
        stream.seek(second.size_bytes // 2)
        stream.write(bytes([byte ^ 1]))
    recovered = open_log(tmp_path, SMALL, CRASHED)
    assert len(recovered.segments) == 2
    offsets = [offset for offset, _ in records_from(recovered)]
    assert offsets == list(range(recovered.log_end_offset))
    assert second.base_offset < recovered.log_end_offset < log.segments[2].base_offset
    names = os.listdir(recovered.directory)
    assert not [name for name in names if name.startswith(file_name(log.segments[2].base_offset, ""))]


def test_what_is_before_the_recovery_point_is_not_read(tmp_path: Path) -> None:
    log = fill(tmp_path)
    close_cleanly(log)
    with open(log.segments[0].log_ref.path, "r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff")
    start = StartingPoint(0, log.segments[1].base_offset, clean_stop=False)
    recovered = open_log(tmp_path, SMALL, start)
    assert recovered.log_end_offset == log.log_end_offset
    assert len(recovered.segments) == len(log.segments)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "ragged"])
def test_a_damaged_index_is_rebuilt_even_after_a_clean_stop(suffix: str, damage: str, tmp_path: Path) -> None:
    log = fill(tmp_path)
    start = close_cleanly(log)
    path = Path(log.directory) / file_name(log.segments[1].base_offset, suffix)
    original = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(original + b"\0\0\0")
    recovered = open_log(tmp_path, SMALL, start)
    assert path.read_bytes() == original
    assert records_from(recovered) == records_from(log)


def test_leftovers_are_handled_as_kafka_does(tmp_path: Path) -> None:
    log = fill(tmp_path)
    start = close_cleanly(log)
    directory = Path(log.directory)
    first, second, third = (segment.base_offset for segment in log.segments[:3])
    # A finished compaction of the first two segments that was not swapped in yet:
    (directory / file_name(first, ".log.swap")).write_bytes(
        (directory / file_name(first, ".log")).read_bytes() + (directory / file_name(second, ".log")).read_bytes()
    )
    (directory / file_name(first, ".index.swap")).write_bytes(b"")
    (directory / file_name(first, ".timeindex.swap")).write_bytes(b"")
    (directory / file_name(third, ".log.cleaned")).write_bytes(b"half made")
    (directory / file_name(third, ".log.deleted")).write_bytes(b"to be deleted")
    (directory / file_name(third + 1, ".index")).write_bytes(b"")
    expected = records_from(log)
    recovered = open_log(tmp_path, SMALL, start)
    assert [segment.base_offset for segment in recovered.segments][:2] == [first, third]
    assert records_from(recovered) == expected
    assert not [name for name in os.listdir(directory) if name.endswith((".swap", ".cleaned", ".deleted"))]
    assert not (directory / file_name(third + 1, ".index")).exists()


def test_a_log_that_ends_before_its_start_begins_anew_there(tmp_path: Path) -> None:
    close_cleanly(fill(tmp_path, 5))
    recovered = open_log(tmp_path, SMALL, StartingPoint(100, 5, clean_stop=True))
    assert (recovered.log_start_offset, recovered.log_end_offset) == (100, 100)
    assert recovered.append_as_leader(batch_of("x"), 0, NOW_MS).first_offset == 100


def test_the_time_index_knows_the_last_timestamp_after_a_clean_stop(tmp_path: Path) -> None:
    log = fill(tmp_path, 7)
    start = close_cleanly(log)
    again = open_log(tmp_path, SMALL, start)
    assert again.segments[-1].time_index.last() == (NOW_MS + 6, 6)
    found = again.offset_for_timestamp(NOW_MS + 6)
    assert found is not None
    assert found.offset == 6
