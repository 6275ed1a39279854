"""Opening a log after a crash: whole batches are kept, broken ones are cut off, and a log line says so."""

import logging
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pybroker.protocol.records.batch import RecordBatch, read_header
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from pybroker.storage.recovery.log_recovery import StartingPoint
from pybroker.storage.segment.segment import file_name
from support.logs.storage_logs import (
    CRASHED,
    NOW_MS,
    TP,
    append_as_leader,
    batch_of,
    batches_in,
    close_cleanly,
    crash_copy,
    open_log,
    records_from,
)
from support.record_bytes import set_base_offset

SMALL = LogConfig(segment_bytes=2000, index_interval_bytes=200)


def fill(directory: Path, count: int = 60, config: LogConfig = SMALL):  # type: ignore[no-untyped-def]
    log = open_log(directory, config)
    for number in range(count):
        append_as_leader(log, batch_of(f"value {number}" * 5, timestamp_ms=NOW_MS + number), 0, NOW_MS)
    return log


def test_kill_loses_no_acknowledged_record(tmp_path: Path) -> None:
    log = fill(tmp_path / "live")
    start = crash_copy(log, tmp_path / "crashed")
    recovered = open_log(tmp_path / "crashed", SMALL, start)
    assert records_from(recovered) == records_from(log)
    assert [len(segment.offset_index) for segment in recovered.segments] == [
        len(segment.offset_index) for segment in log.segments
    ]


def test_log_without_records_starts_after_a_kill_without_a_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path / "live")
    log.assign_epoch_start(3)
    start = crash_copy(log, tmp_path / "crashed")
    synced: list[object] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    started = open_log(tmp_path / "crashed", start=start)
    assert list(started.leader_epochs.entries) == [], "the epoch began at the log's end, and no record confirms it"
    started.assign_epoch_start(3)
    assert synced == []
    append_as_leader(started, batch_of("value"), 3, NOW_MS)
    assert (started.leader_epochs.entries, started.log_end_offset) == (((3, 0),), 1)
    started.assign_epoch_start(4)
    assert synced, "a new epoch is synced"
    again = open_log(tmp_path / "crashed", start=start)
    assert (again.leader_epochs.entries, records_from(again)) == (((3, 0),), records_from(started))


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_log_without_records_is_recovered_when_another_file_has_bytes(suffix: str, tmp_path: Path) -> None:
    start = crash_copy(open_log(tmp_path / "live"), tmp_path / "crashed")
    file = tmp_path / "crashed" / str(TP) / file_name(0, suffix)
    file.write_bytes(bytes(24))
    started = open_log(tmp_path / "crashed", start=start)
    append_as_leader(started, batch_of("value"), 0, NOW_MS)
    assert not file.exists() or file.stat().st_size == 0
    assert (len(started.segments[0].offset_index), started.producer_state.producers) == (0, {})


@pytest.mark.parametrize("cut", [1, 11, 12, 30, 60, 61, 80])
def test_incomplete_last_batch_is_cut_off_and_logged(
    cut: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = fill(tmp_path, 5)
    expected = records_from(log)
    log.close_files()
    torn = bytes(batch_of("torn" * 10))[:cut]
    with open(log.segments[-1].log_ref.path, "ab") as stream:
        stream.write(torn)
    with caplog.at_level(logging.WARNING):
        recovered = open_log(tmp_path, SMALL, CRASHED)
    assert records_from(recovered) == expected
    assert f"truncating {cut} bytes" in caplog.text
    assert os.path.getsize(recovered.segments[-1].log_ref.path) == recovered.segments[-1].size_bytes
    assert append_as_leader(recovered, batch_of("next"), 0, NOW_MS).first_offset == 5


def test_flipped_bit_truncates_the_log_there_and_drops_later_segments(tmp_path: Path) -> None:
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


def spoil(log: Log, number: int) -> None:
    """Delete a segment's index and snapshot, and write noise from its second batch on."""
    segment = log.segments[number]
    second_batch = segment.position_of(segment.base_offset + 1, segment.size_bytes)
    os.remove(segment.offset_index.path)
    path = Path(log.directory) / file_name(segment.base_offset, ".snapshot")
    path.write_bytes(bytes(path.stat().st_size))
    with open(segment.log_ref.path, "r+b") as stream:
        stream.seek(second_batch)
        stream.write(b"\xc5" * 40)


def test_several_damaged_segments_are_recovered_in_order(tmp_path: Path) -> None:
    log = fill(tmp_path)
    close_cleanly(log)
    for number in (1, 2, 3):
        spoil(log, number)
    recovered = open_log(tmp_path, SMALL, CRASHED)
    assert recovered.log_end_offset == log.segments[1].base_offset + 1
    assert [offset for offset, _ in records_from(recovered)] == list(range(recovered.log_end_offset))


def test_damaged_segment_without_an_index_drops_later_segments(tmp_path: Path) -> None:
    log = fill(tmp_path)
    close_cleanly(log)
    spoil(log, 1)
    recovered = open_log(tmp_path, SMALL, CRASHED)
    assert recovered.log_end_offset == log.segments[1].base_offset + 1


def test_records_before_the_recovery_point_are_not_read(tmp_path: Path) -> None:
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
def test_damaged_index_is_rebuilt_even_after_a_clean_stop(suffix: str, damage: str, tmp_path: Path) -> None:
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


def test_leftover_files_are_handled_as_kafka_does(tmp_path: Path) -> None:
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


def test_log_that_ends_before_its_start_offset_restarts_there(tmp_path: Path) -> None:
    close_cleanly(fill(tmp_path, 5))
    recovered = open_log(tmp_path, SMALL, StartingPoint(100, 5, clean_stop=True))
    assert (recovered.log_start_offset, recovered.log_end_offset) == (100, 100)
    assert append_as_leader(recovered, batch_of("x"), 0, NOW_MS).first_offset == 100


def test_time_index_has_the_last_timestamp_after_a_clean_stop(tmp_path: Path) -> None:
    log = fill(tmp_path, 7)
    start = close_cleanly(log)
    again = open_log(tmp_path, SMALL, start)
    assert again.segments[-1].time_index.last() == (NOW_MS + 6, 6)
    found = again.offset_for_timestamp(NOW_MS + 6)
    assert found is not None
    assert found.offset == 6


def cut_seven_bytes(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 7)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def fill_with_junk(path: Path) -> None:
    path.write_bytes(b"\x11\xf0\x0d\x91" * (path.stat().st_size // 4))


def fill_with_zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def cut_the_last_batch(path: Path) -> None:
    data = path.read_bytes()
    last = list(batches_in(data))[-1]
    os.truncate(path, len(data) - last.size_bytes)


def append_a_torn_batch(path: Path) -> None:
    with open(path, "ab") as stream:
        stream.write(bytes(batch_of("torn" * 10))[:40])


def rewrite_last_entry(layout: str, change: Callable[[int, int], tuple[int, int]]) -> Callable[[Path], None]:
    def rewrite(path: Path) -> None:
        size = struct.calcsize(layout)
        data = path.read_bytes()
        path.write_bytes(data[:-size] + struct.pack(layout, *change(*struct.unpack(layout, data[-size:]))))

    return rewrite


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (".log", cut_seven_bytes),
        (".log", empty),
        (".log", cut_the_last_batch),
        (".log", append_a_torn_batch),
        (".index", fill_with_junk),
        (".index", fill_with_zeros),
        (".index", rewrite_last_entry(">ii", lambda offset, position: (offset, 1 << 30))),
        (".index", rewrite_last_entry(">ii", lambda offset, position: (offset, position + 1))),
        (".index", rewrite_last_entry(">ii", lambda offset, position: (offset - 1, position))),
        (".index", rewrite_last_entry(">ii", lambda offset, position: (offset + 1000, position))),
        (".timeindex", fill_with_junk),
        (".timeindex", rewrite_last_entry(">qi", lambda timestamp, offset: (timestamp, offset + 1))),
        (".timeindex", rewrite_last_entry(">qi", lambda timestamp, offset: (timestamp - 1, offset))),
    ],
)
@pytest.mark.parametrize("segment_bytes", [2000, 1 << 20])
def test_last_segment_damaged_after_a_clean_stop_is_recovered_and_logged(
    suffix: str, damage: Callable[[Path], None], segment_bytes: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=200)
    log = fill(tmp_path, config=config)
    start = close_cleanly(log)
    before = records_from(log)
    last = log.segments[-1]
    path = Path(log.directory) / file_name(last.base_offset, suffix)
    damage(path)
    log_bytes = Path(last.log_ref.path).read_bytes()
    with caplog.at_level(logging.WARNING):
        again = open_log(tmp_path, config, start)
    assert f"rebuilding the indexes of segment {last.base_offset}: " in caplog.text
    whole = len(list(whole_batches(log_bytes)))
    assert records_from(again) == before[: last.base_offset + whole]
    assert again.log_end_offset == last.base_offset + whole
    for number in range(60):
        info = append_as_leader(again, batch_of(f"more {number}" * 5, timestamp_ms=NOW_MS + number), 0, NOW_MS)
        assert info.first_offset == last.base_offset + whole + number
    assert [offset for offset, _ in records_from(again)] == list(range(again.log_end_offset))


def whole_batches(data: bytes) -> Iterator[RecordBatch]:
    position = 0
    while (header := read_header(data, position, len(data))) is not None and header.end <= len(data):
        yield header
        position = header.end


def batch_at(offset: int, *values: str) -> bytearray:
    batch = batch_of(*values)
    set_base_offset(batch, 0, offset)
    return batch


@pytest.mark.parametrize("segment_bytes", [2000, 1 << 20])
def test_undamaged_log_is_not_recovered_after_a_clean_stop(
    segment_bytes: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=200)
    for count in (0, 1, 60, 7):
        with caplog.at_level(logging.INFO):
            log = open_log(tmp_path, config, close_cleanly(open_log(tmp_path, config)))
        for _number in range(count):
            append_together(log, [LeaderAppend(batch_of("a", "b"), 0, NOW_MS), LeaderAppend(batch_of("c"), 0, NOW_MS)])
            end_offset = log.log_end_offset
            log.append_as_follower(batch_at(end_offset, "d", "e") + batch_at(end_offset + 2, "f"), NOW_MS)
        close_cleanly(log)
    assert "rebuilding" not in caplog.text


def test_closed_segment_with_an_index_entry_outside_the_file_is_reindexed(tmp_path: Path) -> None:
    log = fill(tmp_path)
    start = close_cleanly(log)
    path = Path(log.directory) / file_name(log.segments[1].base_offset, ".index")
    original = path.read_bytes()
    rewrite_last_entry(">ii", lambda offset, position: (offset, log.segments[1].size_bytes))(path)
    recovered = open_log(tmp_path, SMALL, start)
    assert path.read_bytes() == original
    assert records_from(recovered) == records_from(log)


@pytest.mark.parametrize("base_offset", [0, 3, -5, 1 << 40])
def test_batch_with_an_offset_that_does_not_rise_is_cut_off(base_offset: int, tmp_path: Path) -> None:
    log = fill(tmp_path, 30, LogConfig(index_interval_bytes=0))
    log.close_files()
    path = Path(log.segments[0].log_ref.path)
    data = bytearray(path.read_bytes())
    position = sum(batch.size_bytes for batch in list(batches_in(bytes(data)))[:20])
    struct.pack_into(">q", data, position, base_offset)
    path.write_bytes(data)
    recovered = open_log(tmp_path, LogConfig(index_interval_bytes=0), CRASHED)
    assert recovered.log_end_offset == 20


def test_batch_with_a_changed_value_is_found_by_its_checksum_and_cut_off(tmp_path: Path) -> None:
    log = fill(tmp_path / "live")
    second = log.segments[1]
    start = StartingPoint(0, second.base_offset, clean_stop=False)
    close_cleanly(log)
    data = Path(second.log_ref.path).read_bytes()
    for number, batch in enumerate(list(batches_in(data))):
        offset = second.base_offset + number
        copy = tmp_path / str(number)
        shutil.copytree(log.directory, copy / str(TP))
        changed = data.index(b"value", batch.end - batch.size_bytes)
        damaged = copy / str(TP) / file_name(second.base_offset, ".log")
        damaged.write_bytes(data[:changed] + b"V" + data[changed + 1 :])
        recovered = open_log(copy, SMALL, start)
        assert recovered.log_end_offset == offset
        assert records_from(recovered) == records_from(log)[:offset]
        assert damaged.stat().st_size == batch.end - batch.size_bytes


def lay_segments_together(directory: Path, config: LogConfig) -> None:
    """Make one file with batches from offset 0 on and then distant ones, as old cleaners left it."""
    log = open_log(directory, config)
    for number in range(3):
        append_as_leader(log, batch_of(f"near {number}"), 0, NOW_MS)
    log.close_files()
    with open(log.segments[0].log_ref.path, "ab") as stream:
        for offset in (1 << 31, (1 << 31) + 1, 1 << 33):
            stream.write(batch_at(offset, f"far {offset}"))


FAR = [(0, b"near 0"), (1, b"near 1"), (2, b"near 2"), *((o, f"far {o}".encode()) for o in (2**31, 2**31 + 1, 2**33))]


@pytest.mark.parametrize("start", [CRASHED, StartingPoint(clean_stop=True)])
def test_segment_with_offsets_too_far_apart_is_split_and_loses_nothing(
    start: StartingPoint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lay_segments_together(tmp_path, SMALL)
    log = open_log(tmp_path, SMALL, start)
    assert records_from(log) == FAR
    assert [segment.base_offset for segment in log.segments] == [0, 1 << 31, 1 << 33]
    assert f"split segment 0; its parts begin at [0, {1 << 31}, {1 << 33}]" in caplog.text
    assert not [name for name in os.listdir(log.directory) if name.endswith((".swap", ".cleaned", ".deleted"))]
    again = open_log(tmp_path, SMALL, close_cleanly(log))
    assert records_from(again) == FAR
    assert append_as_leader(again, batch_of("next"), 0, NOW_MS).first_offset == (1 << 33) + 1


def test_segments_after_one_with_a_lost_end_are_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = fill(tmp_path)
    log.close_files()
    second = log.segments[1]
    last = list(batches_in(Path(second.log_ref.path).read_bytes()))[-1]
    os.truncate(second.log_ref.path, second.size_bytes - last.size_bytes)
    recovered = open_log(tmp_path, SMALL, CRASHED)
    assert recovered.log_end_offset == last.base_offset
    assert [offset for offset, _ in records_from(recovered)] == list(range(last.base_offset))
    assert f"the offsets from {last.base_offset} on are missing before it" in caplog.text


@pytest.mark.parametrize(
    ("config", "start"),
    [
        (LogConfig(segment_bytes=2000, cleanup_policy=("compact",)), CRASHED),
        (SMALL, StartingPoint(knows_recovery_point=False)),
    ],
)
def test_offsets_removed_by_compaction_do_not_drop_later_segments(
    config: LogConfig, start: StartingPoint, tmp_path: Path
) -> None:
    log = fill(tmp_path)
    log.close_files()
    second = log.segments[1]
    last = list(batches_in(Path(second.log_ref.path).read_bytes()))[-1]
    os.truncate(second.log_ref.path, second.size_bytes - last.size_bytes)
    assert open_log(tmp_path, config, start).log_end_offset == log.log_end_offset


def test_producer_snapshot_after_the_recovery_point_is_not_used(tmp_path: Path) -> None:
    """It may be an old one whose deletion a power failure has undone."""
    log = open_log(tmp_path, SMALL)
    for number in range(40):
        append_as_leader(log, batch_of("x" * 50, producer_id=7, producer_epoch=0, base_sequence=number), 0, NOW_MS)
    log.close_files()
    directory = Path(log.directory)
    second, third = (segment.base_offset for segment in log.segments[1:3])
    shutil.copyfile(directory / file_name(second, ".snapshot"), directory / file_name(third, ".snapshot"))
    recovered = open_log(tmp_path, SMALL, StartingPoint(0, second))
    assert recovered.producer_state.producers[7].last_sequence == 39
    truncated = open_log(tmp_path, SMALL, StartingPoint(0, second))
    truncate_to(truncated, third + 1, NOW_MS)
    assert truncated.producer_state.producers[7].last_sequence == third
