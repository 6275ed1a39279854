"""Lost or damaged index, snapshot and checkpoint files: the start rebuilds their contents from the records."""

import logging
import os
import shutil
import struct
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from pybroker.config.load import load_config
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.files.files import FileRegion, Files
from pybroker.storage.log.log import Log
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.recovery.log_recovery import StartingPoint
from pybroker.storage.segment.offset_index import OffsetIndex
from pybroker.storage.segment.segment import file_name
from pybroker.storage.segment.time_index import TimeIndex
from pybroker.storage.store.log_directory import CLEANER_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import NOW_MS, TP, append_as_leader, batch_of, close_cleanly, open_log, records_from
from support.logs.storage_pools import InlinePool

TOPIC_ID = uuid.UUID(int=5)
CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=200)


def missing(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 + 1)


def garbage(path: Path) -> None:
    path.write_bytes(b"\x11\xf0\x0d\x91" * (path.stat().st_size // 4 + 1))


def zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def newer_version(path: Path) -> None:
    """Raise the format version, which is in the first bytes or the first line."""
    data = path.read_bytes()
    path.write_bytes(b"7" + data[1:] if data.startswith(b"0\n") else b"\0\x07" + data[2:])


def random_bytes(path: Path) -> None:
    path.write_bytes(Random(1).randbytes(path.stat().st_size))


def longer(path: Path) -> None:
    """Add less than an entry."""
    path.write_bytes(path.read_bytes() + b"\x5a" * 7)


def longer_by_entries(path: Path) -> None:
    """Add noise of the length of whole entries of any index."""
    path.write_bytes(path.read_bytes() + Random(2).randbytes(8 * 3 * 17))


DAMAGES = (missing, emptied, cut_short, garbage, random_bytes, zeros, longer, longer_by_entries, newer_version)


def busy_log(directory: Path) -> Log:
    """Make a log of several segments, each with producers, aborted transactions and leader epochs."""
    log = open_log(directory, CONFIG)
    for number in range(30):
        epoch = number // 4
        append_as_leader(log, batch_of(f"plain {number}" * 3, timestamp_ms=NOW_MS + number), epoch, NOW_MS)
        for producer_id in (1, 2):
            records = batch_of(
                f"of {producer_id}" * 3,
                timestamp_ms=NOW_MS + number,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=number,
                is_transactional=True,
            )
            append_as_leader(log, records, epoch, NOW_MS)
        if number < 29:
            for producer_id in (1, 2):
                marker = build_marker_batch(
                    EndTransactionMarker(producer_id == 2, 0),
                    producer_id=producer_id,
                    producer_epoch=0,
                    timestamp_ms=NOW_MS + number,
                )
                append_as_leader(log, bytearray(marker), epoch, NOW_MS, AppendOrigin.COORDINATOR)
    assert len(log.segments) > 4
    return log


def region_at(log: Log, offset: int) -> FileRegion:
    region = log.read(offset, 1, log.log_end_offset, min_one_batch=True).region
    assert region is not None
    return region


def what_is_known(log: Log) -> dict[str, object]:
    """Return everything that a reader or a producer can observe."""
    producers = {
        producer_id: (entry.producer_epoch, entry.last_sequence, entry.current_txn_first_offset, entry.last_timestamp)
        for producer_id, entry in log.producer_state.producers.items()
    }
    end = log.log_end_offset
    return {
        "records": records_from(log),
        "bounds": (log.log_start_offset, end),
        "segments": [segment.base_offset for segment in log.segments],
        "epochs": log.leader_epochs.entries,
        "producers": producers,
        "aborted": log.aborted_transactions(0, end),
        "stable": log.last_stable_offset(end),
        "found": [log.offset_for_timestamp(NOW_MS + number) for number in range(30)],
        "located": [region_at(log, offset).position for offset in range(end)],
    }


class Example(NamedTuple):
    """A stopped log, of which each test gets a copy."""

    directory: Path
    segments: list[int]
    end: int
    known: dict[str, object]

    def copy_to(self, target: Path) -> Path:
        return Path(shutil.copytree(self.directory, target / self.directory.name))

    def start_after(self, stop: str) -> StartingPoint:
        if stop == "clean":
            return StartingPoint(0, self.end, clean_stop=True)
        return StartingPoint(0, self.segments[2] if stop == "crash" else 0)

    def is_recovered(self, number: int, stop: str) -> bool:
        return stop == "crash without recovery point" or (stop == "crash" and number % len(self.segments) >= 2)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    log = busy_log(tmp_path_factory.mktemp("example"))
    known = what_is_known(log)
    close_cleanly(log)
    return Example(Path(log.directory), [segment.base_offset for segment in log.segments], log.log_end_offset, known)


@pytest.mark.parametrize("stop", ["clean", "crash", "crash without recovery point"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("number", [*(pytest.param(each, marks=pytest.mark.long) for each in (0, 1)), -2, -1])
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
def test_start_rebuilds_a_lost_or_damaged_index_file(
    suffix: str, number: int, damage: Callable[[Path], None], stop: str, example: Example, tmp_path: Path
) -> None:
    path = example.copy_to(tmp_path) / file_name(example.segments[number], suffix)
    if not path.exists():
        assert (suffix, number) == (".snapshot", 0) or suffix == ".txnindex"
        return
    if suffix == ".txnindex" and damage is missing and not example.is_recovered(number, stop):
        return  # most segments have no such file, and only the records show that this segment had one
    damage(path)
    again = open_log(tmp_path, CONFIG, example.start_after(stop))
    assert what_is_known(again) == example.known
    append_as_leader(again, batch_of("next"), 9, NOW_MS)
    close_cleanly(again)


@pytest.mark.parametrize("stop", ["clean", "crash", "crash without recovery point"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_start_rebuilds_lost_or_damaged_leader_epochs(
    damage: Callable[[Path], None], stop: str, example: Example, tmp_path: Path
) -> None:
    path = example.copy_to(tmp_path) / "leader-epoch-checkpoint"
    text = path.read_bytes()
    damage(path)
    again = open_log(tmp_path, CONFIG, example.start_after(stop))
    assert what_is_known(again) == example.known
    assert path.read_bytes() == text
    close_cleanly(again)


@pytest.mark.parametrize("damage", DAMAGES)
def test_start_rebuilds_a_lost_or_damaged_snapshot_of_a_clean_stop(
    damage: Callable[[Path], None], example: Example, tmp_path: Path
) -> None:
    damage(example.copy_to(tmp_path) / file_name(example.end, ".snapshot"))
    assert what_is_known(open_log(tmp_path, CONFIG, example.start_after("clean"))) == example.known


@pytest.mark.parametrize("stop", ["clean", "crash", "crash without recovery point"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_start_rebuilds_producers_when_all_snapshots_are_lost_or_damaged(
    damage: Callable[[Path], None], stop: str, example: Example, tmp_path: Path
) -> None:
    for path in example.copy_to(tmp_path).glob("*.snapshot"):
        damage(path)
    again = open_log(tmp_path, CONFIG, example.start_after(stop))
    assert what_is_known(again) == example.known
    close_cleanly(again)
    assert what_is_known(open_log(tmp_path, CONFIG, example.start_after("clean"))) == example.known


def test_start_without_snapshots_goes_on_past_a_damaged_batch_below_the_recovery_point(
    example: Example, tmp_path: Path
) -> None:
    """The producers before the batch are known, and the log is served."""
    directory = example.copy_to(tmp_path)
    for path in directory.glob("*.snapshot"):
        path.unlink()
    damaged = directory / file_name(example.segments[2], ".log")
    data = bytearray(damaged.read_bytes())
    second = next(iter_batches(bytes(data))).end
    data[second + 8 : second + 12] = b"\xff" * 4  # its length
    damaged.write_bytes(data)
    again = open_log(tmp_path, CONFIG, example.start_after("clean"))
    assert again.log_end_offset == example.end
    assert sorted(again.producer_state.producers) == [1, 2]


def test_start_rebuilds_a_time_index_that_was_not_synced_after_the_roll(example: Example, tmp_path: Path) -> None:
    """The recovery point is the next segment's base: the records were flushed before the closing entry was written."""
    path = example.copy_to(tmp_path) / file_name(example.segments[1], ".timeindex")
    whole = path.read_bytes()
    os.truncate(path, len(whole) - TimeIndex.layout.size)
    again = open_log(tmp_path, CONFIG, example.start_after("crash"))
    assert path.read_bytes() == whole
    assert what_is_known(again) == example.known


def damaged_entries(path: Path, layout: struct.Struct) -> Iterator[tuple[int, bytes]]:
    """Yield (position, bytes) of each entry but the last, which a start checks, with single bits flipped."""
    data = path.read_bytes()
    for start in range(0, len(data) - layout.size, layout.size):
        for bit in range(0, 8 * layout.size, 5):
            entry = bytearray(data[start : start + layout.size])
            entry[bit // 8] ^= 1 << (bit % 8)
            yield start, bytes(entry)


@pytest.mark.parametrize("number", [0, 1, -2, -1])
@pytest.mark.parametrize(
    ("suffix", "layout"), [(".index", OffsetIndex.layout), (".timeindex", TimeIndex.layout)], ids=["offsets", "times"]
)
def test_read_works_with_a_wrong_entry_in_the_middle_of_an_index(
    suffix: str, layout: struct.Struct, number: int, example: Example, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It hides no record and no timestamp, and the start after a search has found it rebuilds the index.

    (An entry for a later batch with the same timestamp cannot be distinguished from a right one.)
    """

    def told(known: dict[str, object]) -> dict[str, object]:
        found = known["found"]
        assert isinstance(found, list)
        return {**known, "found": [each.timestamp for each in found]} if suffix == ".timeindex" else known

    path = example.copy_to(tmp_path) / file_name(example.segments[number], suffix)
    whole = path.read_bytes()
    misled = 0
    for start, entry in damaged_entries(path, layout):
        path.write_bytes(whole[:start] + entry + whole[start + layout.size :])
        caplog.clear()
        again = open_log(tmp_path, CONFIG, example.start_after("clean"))
        assert told(what_is_known(again)) == told(example.known), (start, entry)
        lines = [record.getMessage() for record in caplog.records if "wrong entry" in record.getMessage()]
        assert len(lines) <= 1
        close_cleanly(again)
        assert path.exists() is not bool(lines)
        if lines:
            misled += 1
            open_log(tmp_path, CONFIG, example.start_after("clean")).close_files()
            assert path.read_bytes() == whole
        path.write_bytes(whole)
    assert misled or number == -1 or len(whole) <= layout.size


def test_start_rebuilds_everything_when_only_the_log_files_are_left(example: Example, tmp_path: Path) -> None:
    for path in example.copy_to(tmp_path).iterdir():
        if path.suffix != ".log":
            path.unlink()
    assert what_is_known(open_log(tmp_path, CONFIG, StartingPoint())) == example.known


def test_recovery_changes_no_byte_of_undamaged_files(example: Example, tmp_path: Path) -> None:
    paths = sorted(example.copy_to(tmp_path).glob("*.log"))
    data = [path.read_bytes() for path in paths]
    open_log(tmp_path, CONFIG, StartingPoint())
    assert [path.read_bytes() for path in paths] == data
    assert sum(1 for content in data for _ in iter_batches(content)) == example.end


def cut_by_a_digit(path: Path) -> None:
    """Cut a digit off the number in the last line, so that it reads as another number."""
    os.truncate(path, path.stat().st_size - 2)


def open_store(directory: Path) -> LogStore:
    settings = {"log.segment.bytes": "1500", "log.index.interval.bytes": "200"}
    config = load_config(f"log.dirs={directory}\n", settings)
    return LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS, broker_id=1, cluster_id="cluster")


@pytest.fixture(scope="module", params=["clean", "crash"])
def stopped_store(
    request: pytest.FixtureRequest, example: Example, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, object]]:
    """Return a log directory with the example, whose checkpoints are all filled, and what is known of its log."""
    root = tmp_path_factory.mktemp("store")
    example.copy_to(root)
    store = open_store(root)
    log = store.get_or_create(TP, is_new=False, topic_id=TOPIC_ID)
    append_as_leader(log, batch_of("last"), 9, NOW_MS)
    log.flush(NOW_MS)
    store.checkpoints.write_recovery_points()
    store.checkpoints.write_log_starts()
    store.checkpoints.write_high_watermarks({TP: log.log_end_offset})
    store.checkpoints.note_compacted(TP, 10)
    known = what_is_known(log)
    if request.param == "clean":
        store.close()
    else:
        store.release()
    return root, known


@pytest.mark.parametrize("damage", [*DAMAGES, cut_by_a_digit])
@pytest.mark.parametrize("name", [RECOVERY_POINT_FILE, LOG_START_FILE, HIGH_WATERMARK_FILE, CLEANER_FILE])
def test_start_goes_on_without_a_lost_or_damaged_checkpoint(
    name: str,
    damage: Callable[[Path], None],
    stopped_store: tuple[Path, dict[str, object]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    root, known = stopped_store
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    damage(copy / name)
    store = open_store(copy)
    log = store.get(TP)
    assert log is not None
    assert what_is_known(log) == known
    assert store.read_high_watermarks().get(TP) in (None, log.log_end_offset)
    assert store.checkpoints.compacted_up_to(TP) in (None, 10)
    store.close()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("damage", DAMAGES)
def test_start_goes_on_without_a_lost_or_damaged_topic_id(
    damage: Callable[[Path], None],
    stopped_store: tuple[Path, dict[str, object]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The file is written again when the topic is opened, and the log is served."""
    root, known = stopped_store
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    path = copy / str(TP) / "partition.metadata"
    text = path.read_bytes()
    damage(path)
    store = open_store(copy)
    said = [record.getMessage() for record in caplog.records if "partition.metadata" in record.getMessage()]
    assert len(said) == (damage is not missing)
    assert all(f"{path} is corrupt (" in line and "\n" not in line for line in said)
    log = store.get_or_create(TP, is_new=False, topic_id=TOPIC_ID)
    assert (what_is_known(log), log.topic_id) == (known, TOPIC_ID)
    store.close()
    assert path.read_bytes() == text
