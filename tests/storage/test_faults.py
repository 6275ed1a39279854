"""Appends, flushes, truncation and retention on a full disk and on a failing disk."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.errors import NoSpaceError
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_host import StandaloneHost
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_fully_and_start_at, truncate_to
from pybroker.storage.log_config import LogConfig
from support.logs.storage_faults import FaultyFiles, no_more_descriptors
from support.logs.storage_logs import NOW_MS, TP, append_as_leader, batch_of, close_cleanly, open_log, records_from


class RecordingHost(StandaloneHost):
    def __init__(self, files: FaultyFiles) -> None:
        super().__init__(files)
        self.failures: list[str] = []
        self.full = 0

    def disk_full(self) -> None:
        self.full += 1

    def directory_failed(self, what: str, error: OSError) -> None:
        self.failures.append(what)


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def host(files: FaultyFiles) -> RecordingHost:
    return RecordingHost(files)


@pytest.fixture
def log(tmp_path: Path, files: FaultyFiles, host: RecordingHost) -> Log:
    log = open_log(tmp_path, LogConfig(segment_bytes=2000, index_interval_bytes=100), files=files, host=host)
    for number in range(5):
        append_as_leader(log, batch_of(f"value {number}"), 0, NOW_MS)
    return log


def test_append_on_a_full_disk_is_refused_and_leaves_the_file_unchanged(
    log: Log, files: FaultyFiles, host: RecordingHost
) -> None:
    before = records_from(log)
    size = log.size_bytes
    files.fault, files.torn_bytes, files.operations = errno.ENOSPC, 40, ("write",)
    for _ in range(3):
        with pytest.raises(KafkaStorageError, match="no space"):
            append_as_leader(log, batch_of("lost"), 0, NOW_MS)
    assert log.segments[-1].log_ref.file().size() == size == log.size_bytes
    assert (host.full, records_from(log)) == (3, before)
    files.fault = None
    assert append_as_leader(log, batch_of("found"), 0, NOW_MS).first_offset == 5
    assert (host.full, log.is_offline) == (3, False)
    assert records_from(log) == [*before, (5, b"found")]
    assert host.failures == []


def test_index_entries_that_a_full_disk_refused_are_written_later(log: Log, files: FaultyFiles) -> None:
    files.fault, files.suffixes = errno.ENOSPC, (".index", ".timeindex")
    for number in range(40):
        try:
            append_as_leader(log, batch_of(f"more {number}"), 0, NOW_MS + number)
        except KafkaStorageError:
            break  # the segment was due to roll
    files.fault = None
    append_as_leader(log, batch_of("at last"), 0, NOW_MS)
    assert len(log.segments) == 2
    assert log.segments[0].offset_index.last().position > 1000
    assert [offset for offset, _ in records_from(log)] == list(range(log.log_end_offset))


def test_segment_that_cannot_be_created_on_a_full_disk_leaves_no_files(
    tmp_path: Path, log: Log, files: FaultyFiles
) -> None:
    """The segment would begin far above the log's end, but the producer state ends with the log."""
    far = batch_of("far")
    far[:8] = (1 << 33).to_bytes(8, "big")
    files.fault, files.operations = errno.ENOSPC, ("create",)
    with pytest.raises(NoSpaceError):
        log.append_as_follower(far, NOW_MS)
    files.fault = None
    close_cleanly(log)
    assert [snapshot.name for snapshot in tmp_path.rglob("*.snapshot")] == [f"{5:020}.snapshot"]


def test_group_of_appends_on_a_full_disk_fails_as_a_whole_and_the_next_succeeds(log: Log, files: FaultyFiles) -> None:
    files.fault, files.torn_bytes, files.operations = errno.ENOSPC, 100, ("write",)
    results = append_together(log, [LeaderAppend(batch_of("a"), 0, NOW_MS), LeaderAppend(batch_of("b"), 0, NOW_MS)])
    assert all(isinstance(result, KafkaStorageError) for result in results)
    files.fault = None
    results = append_together(log, [LeaderAppend(batch_of("c"), 0, NOW_MS), LeaderAppend(batch_of("d"), 0, NOW_MS)])
    assert [result.first_offset for result in results if isinstance(result, LogAppendInfo)] == [5, 6]
    assert records_from(log)[-2:] == [(5, b"c"), (6, b"d")]


class FullOnce(FaultyFiles):
    """Files whose disk is full once, and has space afterwards."""

    def check(self, operation: str, path: str) -> None:
        try:
            super().check(operation, path)
        except OSError:
            self.fault = None
            raise


@pytest.mark.parametrize(
    ("value", "leader_epoch"), [("c", 1), ("c" * 1900, 0)], ids=["a leader epoch begins", "the segment is full"]
)
def test_append_that_depends_on_a_failed_group_is_not_written(value: str, leader_epoch: int, tmp_path: Path) -> None:
    files = FullOnce()
    log = open_log(tmp_path, LogConfig(segment_bytes=2000), files=files)
    append_as_leader(log, batch_of("first"), 0, NOW_MS)
    files.fault, files.operations = errno.ENOSPC, ("write",)
    appends = [("a", 0), ("b", 0), (value, leader_epoch)]
    results = append_together(log, [LeaderAppend(batch_of(each), epoch, NOW_MS) for each, epoch in appends])
    assert all(isinstance(result, KafkaStorageError) for result in results)
    assert append_as_leader(log, batch_of("second"), leader_epoch, NOW_MS).first_offset == 1
    assert records_from(log) == [(0, b"first"), (1, b"second")]


@pytest.mark.parametrize(
    ("operation", "step"),
    [
        ("write", lambda log: append_as_leader(log, batch_of("x"), 0, NOW_MS)),
        ("sync", lambda log: log.flush(NOW_MS)),
        ("create", lambda log: log.roll(NOW_MS)),
        ("rename", lambda log: truncate_fully_and_start_at(log, 3, NOW_MS)),
        ("truncate", lambda log: truncate_to(log, 2, NOW_MS)),
    ],
)
def test_io_error_other_than_a_full_disk_takes_the_directory_offline(
    operation: str,
    step: Callable[[Log], object],
    log: Log,
    files: FaultyFiles,
    host: RecordingHost,
) -> None:
    files.fault, files.operations = errno.EIO, (operation,)
    with pytest.raises(KafkaStorageError):
        step(log)
    assert len(host.failures) == 1
    files.fault = None
    with pytest.raises(KafkaStorageError, match="offline"):
        append_as_leader(log, batch_of("x"), 0, NOW_MS)
    with pytest.raises(KafkaStorageError, match="offline"):
        log.read(0, 100, 5, min_one_batch=True)
    assert len(host.failures) == 1, str(TP)


def test_sync_that_fails_on_a_full_disk_takes_the_directory_offline(
    log: Log, files: FaultyFiles, host: RecordingHost
) -> None:
    files.fault, files.operations = errno.ENOSPC, ("sync",)
    with pytest.raises(KafkaStorageError):
        log.flush(NOW_MS)
    assert host.failures


def forget_descriptors(log: Log) -> None:
    for segment in log.segments:
        segment.close_files()


def test_log_without_file_descriptors_refuses_appends_and_reads_and_stays_online(log: Log, host: RecordingHost) -> None:
    before = records_from(log)
    forget_descriptors(log)
    with no_more_descriptors():
        for _ in range(2):
            with pytest.raises(KafkaStorageError, match="no file descriptor is left"):
                append_as_leader(log, batch_of("lost"), 0, NOW_MS)
            with pytest.raises(KafkaStorageError, match="no file descriptor is left"):
                log.read(0, 100, 5, min_one_batch=True)
            with pytest.raises(KafkaStorageError, match="no file descriptor is left"):
                log.flush(NOW_MS)
            with pytest.raises(KafkaStorageError, match="no file descriptor is left"):
                append_as_leader(log, batch_of("another epoch"), 1, NOW_MS)
    assert (host.failures, log.is_offline, host.full) == ([], False, 0)
    assert append_as_leader(log, batch_of("found"), 1, NOW_MS).first_offset == 5
    assert records_from(log) == [*before, (5, b"found")]


def test_open_log_files_are_closed_when_descriptors_run_out(
    log: Log, files: FaultyFiles, tmp_path: Path, host: RecordingHost, caplog: pytest.LogCaptureFixture
) -> None:
    other = open_log(tmp_path / "other", files=files, host=host)
    append_as_leader(other, batch_of("other"), 0, NOW_MS)
    forget_descriptors(other)
    records_from(log)
    with no_more_descriptors():
        assert append_as_leader(other, batch_of("more"), 0, NOW_MS).first_offset == 1
        assert records_from(log)[-1] == (4, b"value 4")
    assert host.failures == []
    assert "log files to go on" in caplog.text


def fill_segments(log: Log) -> None:
    for number in range(6):
        append_as_leader(log, batch_of(f"value {number}"), 0, NOW_MS)
        if number % 2:
            log.roll(NOW_MS)
    append_as_leader(log, batch_of("last"), 0, NOW_MS)


def test_retention_frees_space_on_a_full_disk_also_when_every_segment_is_too_old(log: Log, files: FaultyFiles) -> None:
    fill_segments(log)
    log.update_config(LogConfig(retention_ms=1))
    files.fault, files.operations = errno.ENOSPC, ("write", "create")
    assert apply_retention(log, NOW_MS + 60_000, log.log_end_offset) == [0, 7, 9]
    with pytest.raises(NoSpaceError):  # the last segment is deleted only when another can be created
        apply_retention(log, NOW_MS + 60_000, log.log_end_offset)
    assert records_from(log) == [(11, b"last")]
    files.fault = None
    assert apply_retention(log, NOW_MS + 60_000, log.log_end_offset) == [11]
    assert records_from(log) == []


def test_emptying_a_log_works_on_a_full_disk(log: Log, files: FaultyFiles) -> None:
    fill_segments(log)
    files.fault, files.operations = errno.ENOSPC, ("create",)
    with pytest.raises(NoSpaceError):
        truncate_fully_and_start_at(log, 100, NOW_MS)
    assert (records_from(log), log.is_offline) == ([], False)
    assert sum(segment.size_bytes for segment in log.segments) == 0
    files.fault = None
    truncate_fully_and_start_at(log, 100, NOW_MS)
    assert append_as_leader(log, batch_of("anew"), 0, NOW_MS).first_offset == 100
    assert records_from(log) == [(100, b"anew")]
