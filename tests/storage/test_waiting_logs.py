"""Logs that cannot be opened at a start on a full disk wait for space, and the other logs are served."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.errors import NoSpaceError
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from pybroker.storage.store.log_directories import LogDirectoriesError
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from
from support.logs.storage_pools import InlinePool

ONE, OTHER = TopicPartition("one", 0), TopicPartition("other", 0)
FAR = MAX_RELATIVE_OFFSET + 10


def open_store(*directories: Path, files: Files | None = None) -> LogStore:
    config = load_config(f"log.dirs={','.join(map(str, directories))}\n")
    return LogStore.open(config, files or Files(), InlinePool(), lambda: NOW_MS)


def full_files() -> FaultyFiles:
    files = FaultyFiles()
    files.fault, files.operations = errno.ENOSPC, ("write", "create")
    return files


def fill(store: LogStore) -> None:
    """Append records 0 to 4 to both logs, delete the first two of `ONE`, and flush."""
    for tp in (ONE, OTHER):
        log = store.get_or_create(tp, is_new=True)
        for number in range(5):
            append_as_leader(log, batch_of(f"{tp} {number}"), 0, NOW_MS)
        log.flush(NOW_MS)
    log_of(store, ONE).increment_log_start_offset(2)
    store.checkpoints.write_recovery_points()
    store.checkpoints.write_log_starts()


def log_of(store: LogStore, tp: TopicPartition) -> Log:
    log = store.get(tp)
    assert log is not None
    return log


def without_segments(directory: Path, tp: TopicPartition = ONE) -> None:
    for path in (directory / str(tp)).glob("0*"):
        path.unlink()


def with_a_segment_to_split(directory: Path) -> None:
    """Make a segment as old cleaners left it: with an offset too far from its base (KAFKA-6264)."""
    path = directory / str(ONE) / f"{0:020d}.log"
    batch = batch_of("far")
    batch[:8] = FAR.to_bytes(8, "big")
    with path.open("ab") as stream:
        stream.write(batch)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()[2:]


@pytest.fixture
def stopped(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a killed store with a log that needs disk space to be opened."""
    directory = tmp_path / "data"
    store = open_store(directory)
    fill(store)
    store.release()
    return directory


Case = tuple[Callable[[Path], None], int, list[tuple[int, bytes]]]
BEGUN_ANEW: Case = (without_segments, 2, [])
SPLIT: Case = (
    with_a_segment_to_split,
    FAR + 1,
    [*((number, f"one-0 {number}".encode()) for number in (2, 3, 4)), (FAR, b"far")],
)


@pytest.mark.parametrize(("damage", "end", "records"), [BEGUN_ANEW, SPLIT], ids=["begun anew", "split"])
def test_log_that_cannot_be_opened_on_a_full_disk_waits_and_others_are_served(
    damage: Callable[[Path], None], end: int, records: list[tuple[int, bytes]], stopped: Path
) -> None:
    damage(stopped)
    files = full_files()
    store = open_store(stopped, files=files)
    assert store.directories.offline_paths() == []
    assert len(records_from(log_of(store, OTHER))) == 5
    for _ in range(2):
        assert store.get(ONE) is None
        with pytest.raises(NoSpaceError):
            store.get_or_create(ONE, is_new=False)
    files.fault = None
    log = store.get_or_create(ONE, is_new=False)
    assert (log.log_start_offset, log.log_end_offset) == (2, end)
    assert records_from(log) == records
    assert append_as_leader(log, batch_of("next"), 1, NOW_MS).first_offset == end
    store.close()
    again = open_store(stopped)
    assert records_from(log_of(again, ONE)) == [*records, (end, b"next")]
    again.close()


def test_logs_that_wait_for_space_are_logged_in_one_line_for_their_directory(
    stopped: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for tp in (ONE, OTHER):
        without_segments(stopped, tp)
    files = full_files()
    store = open_store(stopped, files=files)
    waiting = [record.getMessage() for record in caplog.records if "until there is" in record.getMessage()]
    assert len(waiting) == 1
    assert f"log directory {stopped}: 2 logs cannot be opened until there is disk space; the first: " in waiting[0]
    assert store.directories.all[0].is_full
    files.fault = None
    store.close()


def test_waiting_log_keeps_its_checkpoints_and_is_recovered_by_another_start(stopped: Path) -> None:
    with_a_segment_to_split(stopped)
    files = full_files()
    store = open_store(stopped, files=files)
    files.fault, files.operations, files.suffixes = errno.ENOSPC, ("write", "create"), (".cleaned",)
    store.checkpoints.write_recovery_points()
    store.checkpoints.write_log_starts()
    store.close()
    assert lines(stopped / "recovery-point-offset-checkpoint") == ["one 0 5", "other 0 5"]
    assert lines(stopped / "log-start-offset-checkpoint") == ["one 0 2"]
    with (stopped / str(ONE) / f"{0:020d}.log").open("ab") as stream:
        stream.write(b"torn")
    again = open_store(stopped)  # had the stop been marked as clean, nothing would have been read here
    assert len(records_from(log_of(again, ONE))) == 4
    again.close()


def test_waiting_log_can_be_deleted_and_created_again(stopped: Path) -> None:
    without_segments(stopped)
    files = full_files()
    store = open_store(stopped, files=files)
    told: list[object] = []
    store.deletion.delete_log(ONE, told.append)
    assert told == [None]
    assert not (stopped / str(ONE)).exists()
    files.fault = None
    assert store.get_or_create(ONE, is_new=True).log_end_offset == 0
    assert lines(stopped / "recovery-point-offset-checkpoint") == ["other 0 5"]
    store.close()


def test_recreated_log_does_not_find_the_offsets_of_one_deleted_on_a_full_disk(stopped: Path) -> None:
    files = FaultyFiles()
    store = open_store(stopped, files=files)
    files.fault, files.operations, files.suffixes = errno.ENOSPC, ("write",), (".tmp",)
    store.deletion.delete_log(ONE)
    with pytest.raises(NoSpaceError):
        store.get_or_create(ONE, is_new=True)
    files.fault = None
    log = store.get_or_create(ONE, is_new=True)
    append_as_leader(log, batch_of("first", "second", "third"), 0, NOW_MS)
    store.release()
    again = open_store(stopped)
    assert len(records_from(log_of(again, ONE))) == 3
    again.close()


def test_waiting_log_goes_offline_with_its_directory_and_is_not_created_in_another(
    stopped: Path, tmp_path: Path
) -> None:
    without_segments(stopped)
    store = open_store(stopped, tmp_path / "second", files=full_files())
    told: dict[str, list[TopicPartition]] = {}
    store.directories.on_failure = told.__setitem__
    directory = store.directories.all[0]
    store.directories.failed(directory, "cannot write", OSError(errno.EIO, "Input/output error"))
    assert told == {str(stopped): [OTHER, ONE]}
    with pytest.raises(KafkaStorageError, match="offline") as caught:
        store.get_or_create(ONE, is_new=True)
    assert not isinstance(caught.value, NoSpaceError)
    with pytest.raises(KafkaStorageError, match="offline"):
        store.deletion.delete_log(ONE)
    store.release()


def test_log_that_waits_in_one_directory_and_exists_in_another_stops_the_start(stopped: Path, tmp_path: Path) -> None:
    second = open_store(tmp_path / "second")
    fill(second)
    second.deletion.delete_log(OTHER)
    second.close()
    without_segments(stopped)
    for directories in ((stopped, tmp_path / "second"), (tmp_path / "second", stopped)):
        with pytest.raises(
            LogDirectoriesError,
            match=r"one-0 is in two log directories: .*; move the outdated one out of its log directory",
        ):
            open_store(*directories, files=full_files())
