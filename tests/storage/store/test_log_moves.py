"""Moves of a log to another log directory while it is read and written."""

import asyncio
import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.base.buffer import Buffer
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.errors import NoSpaceError
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.store.log_store import LogStore
from pybroker.storage.store.move_throttle import MoveThrottle
from pybroker.storage.store.store_schedule import StoreSchedule
from pybroker.storage.workers.worker_pool import WorkerPool
from support.logs.moving_disks import ALL_AT_A, ALL_AT_B, TOPIC_ID, TP, UNDER_WAY, Disks
from support.logs.storage_faults import FaultyFiles, UnreadableFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from

APPENDS_A_MOVE = 2000


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    return Disks(tmp_path)


def values(count: int) -> list[tuple[int, bytes | None]]:
    return [(number, str(number).encode()) for number in range(count)]


def lead(log: Log, value: str) -> None:
    append_as_leader(log, batch_of(value), log.latest_epoch or 0, NOW_MS)


def test_moved_log_is_in_the_destination_and_nowhere_else(disks: Disks) -> None:
    log = disks.make(10)
    disks.store.moves.begin(TP, disks.paths[1])
    assert disks.directories() == UNDER_WAY
    disks.runner.run()
    assert disks.directories() == ALL_AT_B
    assert disks.store.get(TP) is log
    assert (log.directory, disks.store.directory_of(TP)) == (f"{disks.paths[1]}/topic-0", disks.paths[1])
    assert [directory.partition_count for directory in disks.store.directories.all] == [0, 1, 0]
    assert records_from(log) == values(10)
    lead(log, "10")
    disks.store.close()
    again = Disks(Path(disks.paths[0]).parent)
    assert (records_from(again.log()), again.log().topic_id) == (values(11), TOPIC_ID)
    assert again.directories() == ALL_AT_B
    again.kill()


def test_records_appended_during_a_move_are_in_the_moved_log(disks: Disks) -> None:
    log = disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    (move,) = disks.store.moves_to(disks.store.directories.all[1])
    for number in range(5, 8):
        disks.runner.run_one()
        disks.runner.run_one()
        lead(log, str(number))
    assert (move.future.log_end_offset, move.lag) == (3, 5)
    disks.runner.run()
    assert (move.lag, disks.directories()) == (0, ALL_AT_B)
    assert records_from(log) == values(8)
    disks.kill()


def test_reader_that_began_before_the_move_can_finish_its_read(disks: Disks) -> None:
    log = disks.make(5)
    view, region = log.view, log.read(0, 1 << 20, 5, True).region
    assert region is not None
    data = region.read()
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    assert region.read() == data
    assert view.log_end_offset == log.log_end_offset
    disks.kill()


def test_moved_log_keeps_producers_leader_epochs_and_transactions(disks: Disks) -> None:
    log = disks.make()
    append_as_leader(log, batch_of("a", producer_id=1, producer_epoch=0, base_sequence=0), 0, NOW_MS)
    append_as_leader(
        log, batch_of("b", producer_id=2, producer_epoch=0, base_sequence=0, is_transactional=True), 0, NOW_MS
    )
    append_as_leader(log, marker(2, 0, commit=False), 0, NOW_MS, AppendOrigin.COORDINATOR)
    log.assign_epoch_start(4)
    append_as_leader(
        log, batch_of("c", producer_id=3, producer_epoch=0, base_sequence=0, is_transactional=True), 4, NOW_MS
    )
    log.increment_log_start_offset(1)  # the copy has no batch of producer 1
    aborted, epochs = log.aborted_transactions(0, 10), log.leader_epochs.entries
    known = dict(log.producer_state.producers)
    assert (len(aborted), set(known)) == (1, {1, 2, 3})
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    for log in (disks.log(), reopened(disks)):
        assert log.directory.startswith(disks.paths[1])
        assert (log.aborted_transactions(0, 10), log.leader_epochs.entries) == (aborted, epochs)
        assert set(log.producer_state.producers) == set(known)
        assert log.last_stable_offset(4) == 3


def marker(producer_id: int, producer_epoch: int, *, commit: bool) -> bytearray:
    return bytearray(
        build_marker_batch(
            EndTransactionMarker(commit, 0), timestamp_ms=NOW_MS, producer_id=producer_id, producer_epoch=producer_epoch
        )
    )


def reopened(disks: Disks) -> Log:
    disks.store.close()
    again = Disks(Path(disks.paths[0]).parent)
    log = again.log()
    again.kill()
    return log


@pytest.mark.parametrize("stop", [Disks.kill, lambda disks: disks.store.close()], ids=["kill", "clean stop"])
@pytest.mark.parametrize("steps", [0, 1, 4, 9, 13])
def test_move_is_resumed_at_the_next_start(steps: int, stop: Callable[[Disks], None], tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    for _ in range(steps):
        if disks.runner.steps:
            disks.runner.run_one()
    stop(disks)
    again = Disks(tmp_path)
    again.runner.run()
    again.store.deletion.delete_leftovers()
    assert again.directories() == ALL_AT_B
    assert records_from(again.log()) == values(5)
    again.kill()


def copy_of(disks: Disks) -> Path:
    """Return the directory of the only copy."""
    (path,) = Path(disks.paths[1]).glob("topic-0.*-future")
    return path


def killed_while_moving(tmp_path: Path, policy: str = "delete") -> Disks:
    """Return disks on which several segments were copied and none is known to be flushed."""
    disks = Disks(tmp_path, log_segment_bytes="200", log_cleanup_policy=policy)
    disks.make(9)
    disks.store.moves.begin(TP, disks.paths[1])
    (move,) = disks.store.moves_to(disks.store.directories.all[1])
    while len(move.future.segments) < 4:
        disks.runner.run_one()
    disks.kill()
    return disks


@pytest.mark.parametrize("sync_bytes", [1, 1 << 30])
def test_copy_is_synced_at_each_new_segment_and_after_a_number_of_bytes(
    sync_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pybroker.storage.store.log_move._SYNC_BYTES", sync_bytes)
    disks = Disks(tmp_path, log_segment_bytes="200")
    disks.make(9)
    disks.store.moves.begin(TP, disks.paths[1])
    (move,) = disks.store.moves_to(disks.store.directories.all[1])
    unsynced = 0
    while len(move.future.segments) < 4:
        segments, end = len(move.future.segments), move.future.log_end_offset
        disks.runner.run_one()
        if len(move.future.segments) > segments or (sync_bytes == 1 and move.future.log_end_offset > end):
            assert move.future.recovery_point == move.future.log_end_offset
        unsynced += move.future.recovery_point < move.future.log_end_offset
    assert bool(unsynced) is (sync_bytes > 1)
    disks.kill()


def moved_after_a_start(tmp_path: Path, policy: str = "delete") -> list[tuple[int, bytes | None]]:
    again = Disks(tmp_path, log_cleanup_policy=policy)
    again.runner.run()
    again.store.deletion.delete_leftovers()
    assert again.directories() == ALL_AT_B
    records = records_from(again.log())
    again.kill()
    return records


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_records_that_a_power_failure_took_from_a_copy_are_copied_again(policy: str, tmp_path: Path) -> None:
    """Missing offsets between segments of a compacted log prove nothing, so only flushed segments are kept."""
    copy = copy_of(killed_while_moving(tmp_path, policy))
    second = sorted(copy.glob("*.log"))[1]
    data = second.read_bytes()
    second.write_bytes(data[: next(iter_batches(data)).end])
    assert moved_after_a_start(tmp_path, policy) == values(9)


def test_copy_that_lost_its_first_segment_is_restarted(tmp_path: Path) -> None:
    copy = copy_of(killed_while_moving(tmp_path))
    for path in copy.glob(f"{0:020}.*"):
        path.unlink()
    assert moved_after_a_start(tmp_path) == values(9)


@pytest.mark.parametrize("end", [lambda disks: disks.store.moves.begin(TP, disks.paths[0]), Disks.delete])
def test_copy_of_a_cancelled_move_is_renamed_before_it_is_deleted(end: Callable[[Disks], None], tmp_path: Path) -> None:
    """The next start would resume a half-deleted copy."""
    files = UndeletingFiles()
    disks = Disks(tmp_path, files)
    disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run_one()
    end(disks)
    assert disks.directories()["b"] == ["delete"]
    disks.kill()
    again = Disks(tmp_path)
    again.runner.run()
    again.store.deletion.delete_leftovers()
    assert again.directories()["b"] == []
    again.kill()


class UndeletingFiles(Files):
    """Files of a process that dies before a directory is deleted."""

    def delete_tree(self, path: str) -> None:
        pass


class CrashError(BaseException):
    """The process has died."""


class CrashingFiles(Files):
    """Files of a process that dies before rename number `crash_at` of a partition directory."""

    crash_at = -1

    def rename(self, old_path: str, new_path: str) -> None:
        if os.path.isdir(old_path):
            self.crash_at -= 1
            if self.crash_at < 0:
                raise CrashError
        super().rename(old_path, new_path)


@pytest.mark.parametrize(("renames", "left"), [(0, UNDER_WAY), (1, {"a": ["delete"], "b": ["future"], "c": []})])
def test_crash_between_the_renames_of_a_move_loses_nothing(renames: int, left: object, tmp_path: Path) -> None:
    files = CrashingFiles()
    files.crash_at = renames
    disks = Disks(tmp_path, files)
    disks.make(5).increment_log_start_offset(2)
    disks.store.checkpoints.write_log_starts()
    append_as_leader(disks.log(), batch_of("5", "6"), 0, NOW_MS)
    disks.log().increment_log_start_offset(6)
    disks.store.checkpoints.write_log_starts()
    disks.store.moves.begin(TP, disks.paths[1])
    with pytest.raises(CrashError):
        disks.runner.run()
    disks.kill()
    assert disks.directories() == left
    again = Disks(tmp_path)
    assert records_from(again.log()) == [(6, b"6")]
    again.runner.run()
    again.store.deletion.delete_leftovers()
    assert again.directories() == ALL_AT_B
    assert records_from(again.log()) == [(6, b"6")]
    again.kill()


def test_copy_is_truncated_when_the_log_was_truncated_and_has_grown_again(disks: Disks) -> None:
    log = disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    (move,) = disks.store.moves_to(disks.store.directories.all[1])
    while move.lag > 1:
        disks.runner.run_one()
    truncate_to(log, 2, NOW_MS)
    log.assign_epoch_start(1)
    for number in range(2, 6):
        append_as_leader(log, batch_of(f"again {number}"), 1, NOW_MS)
    expected = records_from(log)
    disks.runner.run()
    assert (disks.directories(), records_from(log)) == (ALL_AT_B, expected)
    disks.kill()


def test_start_ignores_a_copy_without_a_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy = tmp_path / "b" / f"topic-0.{uuid.UUID(int=1).hex}-future"
    copy.mkdir(parents=True)
    disks = Disks(tmp_path)
    assert disks.directories() == {"a": [], "b": ["future"], "c": []}
    assert "this broker has no log that it is a copy of" in caplog.text
    disks.kill()


def test_start_deletes_a_copy_with_another_topic_id(tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    disks.make(3)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run_one()
    disks.store.close()
    (tmp_path / "a" / "topic-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAACQ")
    again = Disks(tmp_path)
    again.runner.run()
    assert again.directories() == ALL_AT_A
    again.kill()


class TestEnds:
    def test_request_to_move_a_log_to_its_own_directory_cancels_the_move(self, disks: Disks) -> None:
        log = disks.make(5)
        disks.store.moves.begin(TP, disks.paths[1])
        disks.runner.run_one()
        disks.store.moves.begin(TP, disks.paths[0])
        disks.runner.run()
        assert (disks.directories(), records_from(log)) == (ALL_AT_A, values(5))
        assert [directory.partition_count for directory in disks.store.directories.all] == [1, 0, 0]
        disks.kill()

    def test_request_for_another_destination_restarts_the_move(self, disks: Disks) -> None:
        log = disks.make(5)
        disks.store.moves.begin(TP, disks.paths[1])
        disks.runner.run_one()
        disks.store.moves.begin(TP, disks.paths[2])
        disks.store.moves.begin(TP, disks.paths[2])  # the move is in progress
        disks.runner.run()
        assert (disks.directories(), records_from(log)) == ({"a": [], "b": [], "c": ["0"]}, values(5))
        disks.kill()

    @pytest.mark.parametrize("steps", [0, 1, 3, 6, 11])
    def test_deleting_a_log_during_its_move_deletes_the_copy_too(self, steps: int, disks: Disks) -> None:
        disks.make(4)
        disks.store.moves.begin(TP, disks.paths[1])
        for _ in range(steps):
            if disks.runner.steps:
                disks.runner.run_one()
        disks.store.deletion.delete_log(TP)
        disks.runner.run()
        assert disks.directories() == {"a": [], "b": [], "c": []}
        assert [directory.partition_count for directory in disks.store.directories.all] == [0, 0, 0]
        disks.store.close()


class TestFailures:
    def test_failure_of_the_destination_leaves_the_log_in_its_directory(self, disks: Disks) -> None:
        log = disks.make(5)
        told: list[Any] = []
        disks.store.directories.on_failure = lambda path, partitions: told.append((path, partitions))
        disks.store.moves.begin(TP, disks.paths[1])
        disks.runner.run_one()
        disks.store.directories.failed(disks.store.directories.all[1], "cannot write", OSError(errno.EIO, "broken"))
        disks.runner.run()
        lead(log, "5")
        assert records_from(log) == values(6)
        assert (told, log.is_offline) == ([(disks.paths[1], [])], False)
        disks.kill()

    def test_failure_to_read_the_log_takes_its_directory_offline(self, tmp_path: Path) -> None:
        files = UnreadableFiles(lambda path: path.removeprefix(f"{tmp_path}/")[0])
        disks = Disks(tmp_path, files)
        log = disks.make(5)
        disks.store.moves.begin(TP, disks.paths[1])
        disks.runner.run_one()
        files.failed_disk = "a"
        disks.runner.run()
        assert disks.store.directories.offline_paths() == [disks.paths[0]]
        assert log.is_offline
        disks.kill()
        assert moved_after_a_start(tmp_path) == values(5)

    @pytest.mark.parametrize("operation", ["write", "sync", "create"])
    def test_failure_of_a_copys_file_takes_the_destination_offline(self, operation: str, tmp_path: Path) -> None:
        files = FaultyFiles()
        disks = Disks(tmp_path, files)
        log = disks.make(5)
        if operation == "create":
            files.fault, files.operations = errno.EIO, (operation,)
            with pytest.raises(KafkaStorageError):
                disks.store.moves.begin(TP, disks.paths[1])
        else:
            disks.store.moves.begin(TP, disks.paths[1])
            files.fault, files.operations = errno.EIO, (operation,)
            disks.runner.run()
        files.fault = None
        assert disks.store.directories.offline_paths() == [disks.paths[1]]
        lead(log, "5")
        assert records_from(log) == values(6)
        disks.kill()

    def test_failure_of_the_second_rename_gives_the_log_its_name_back(self, tmp_path: Path) -> None:
        class NoWayBack(Files):
            def rename(self, old_path: str, new_path: str) -> None:
                if old_path.endswith("-future"):
                    raise OSError(errno.EIO, "broken")
                super().rename(old_path, new_path)

        disks = Disks(tmp_path, NoWayBack())
        log = disks.make(5)
        disks.store.moves.begin(TP, disks.paths[1])
        disks.runner.run()
        assert disks.store.directories.offline_paths() == [disks.paths[1]]
        assert disks.directories() == UNDER_WAY
        lead(log, "5")
        assert records_from(log) == values(6)
        disks.kill()

    def test_failure_of_the_source_takes_the_log_offline_and_keeps_the_copy(self, disks: Disks) -> None:
        log = disks.make(5)
        disks.store.moves.begin(TP, disks.paths[1])
        disks.runner.run_one()
        disks.store.directories.failed(disks.store.directories.all[0], "cannot write", OSError(errno.EIO, "broken"))
        disks.runner.run()
        assert (log.is_offline, disks.directories()) == (True, UNDER_WAY)
        disks.kill()
        again = Disks(Path(disks.paths[0]).parent)
        again.runner.run()
        assert (records_from(again.log()), again.directories()["b"]) == (values(5), ["0"])
        again.kill()

    def test_no_move_begins_while_an_offline_directory_may_hold_a_copy(self, disks: Disks) -> None:
        disks.make(1)
        disks.store.directories.failed(disks.store.directories.all[2], "cannot write", OSError(errno.EIO, "broken"))
        with pytest.raises(KafkaStorageError, match="offline"):
            disks.store.moves.begin(TP, disks.paths[1])
        disks.kill()

    def test_move_waits_while_the_destination_is_full(self, tmp_path: Path) -> None:
        files = FaultyFiles()
        disks = Disks(tmp_path, files)
        log = disks.make(5)
        files.fault = errno.ENOSPC
        with pytest.raises(NoSpaceError):
            disks.store.moves.begin(TP, disks.paths[1])
        assert disks.directories() == ALL_AT_A
        files.fault = None
        disks.store.moves.begin(TP, disks.paths[1])
        files.fault = errno.ENOSPC
        for _ in range(10):
            disks.runner.run_one()
        assert (disks.directories(), disks.store.directories.offline_paths()) == (UNDER_WAY, [])
        files.fault = None
        disks.runner.run()
        assert (disks.directories(), records_from(log)) == (ALL_AT_B, values(5))
        disks.kill()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_moved_log_keeps_a_log_start_offset_inside_a_batch(codec: Codec, disks: Disks) -> None:
    log = disks.make()
    for number in range(3):
        append_as_leader(log, batch_of(*(f"{number}{each}" for each in "abcd"), codec=codec), 0, NOW_MS)
    log.increment_log_start_offset(6)
    before = records_from(log)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    assert disks.directories() == ALL_AT_B
    assert (log.log_start_offset, records_from(log)) == (6, before)
    assert (Path(disks.paths[1]) / "log-start-offset-checkpoint").read_text() == "0\n1\ntopic 0 6\n"
    assert (Path(disks.paths[0]) / "log-start-offset-checkpoint").read_text() == "0\n0\n"
    disks.kill()
    again = Disks(Path(disks.paths[0]).parent)
    assert (again.log().log_start_offset, records_from(again.log())) == (6, before)
    again.kill()


def test_moved_empty_log_keeps_its_end_offset(disks: Disks) -> None:
    log = disks.make(3)
    log.increment_log_start_offset(3)
    log.roll(NOW_MS)
    apply_retention(log, NOW_MS, 3)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    assert (log.log_start_offset, log.log_end_offset, disks.directories()) == (3, 3, ALL_AT_B)
    disks.kill()


def test_moved_log_does_not_reassign_offsets_whose_records_are_gone(disks: Disks) -> None:
    log = disks.make(3)
    log.skip_to(7, NOW_MS)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    lead(log, "7")
    assert (disks.directories(), records_from(log)) == (ALL_AT_B, [*values(3), (7, b"7")])
    disks.kill()


class UnsyncedFiles(Files):
    """Files without syncs, which take most of the time and do not matter for this test."""

    def write_bytes(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        super().write_bytes(path, data, sync=False)

    def sync_directory(self, path: str) -> None:
        pass


ACTS = st.lists(
    st.sampled_from(["append", "append", "copy", "copy", "roll", "truncate", "start", "elect", "retention"]),
    max_size=25,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=ACTS, before=st.integers(0, 6))
def test_copy_equals_the_log_after_any_changes_during_the_move(
    acts: list[str], before: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    disks = Disks(tmp_path_factory.mktemp("disks"), UnsyncedFiles())
    log = disks.make(before)
    disks.store.moves.begin(TP, disks.paths[1])
    epoch = 0
    for number, act in enumerate(acts):
        if act == "append":
            append_as_leader(log, batch_of(f"v{number}", f"w{number}"), epoch, NOW_MS)
        elif act == "copy" and disks.runner.steps:
            disks.runner.run_one()
        elif act == "roll":
            log.roll(NOW_MS)
        elif act == "truncate":  # after an election the next records have another leader epoch
            truncate_to(log, max(log.log_start_offset, log.log_end_offset - 3), NOW_MS)
            epoch += 1
            log.assign_epoch_start(epoch)
        elif act == "elect":
            epoch += 1
            log.assign_epoch_start(epoch)
        elif act == "start":
            log.increment_log_start_offset(min(log.log_start_offset + 3, log.log_end_offset))
        elif act == "retention":
            apply_retention(log, NOW_MS, log.log_end_offset)
    expected = (log.log_start_offset, log.log_end_offset, records_from(log), log.leader_epochs.entries)
    disks.runner.run()
    assert disks.directories() == ALL_AT_B
    assert (log.log_start_offset, log.log_end_offset, records_from(log), log.leader_epochs.entries) == expected
    disks.store.checkpoints.write_log_starts()
    disks.kill()
    again = Disks(Path(disks.paths[0]).parent, UnsyncedFiles())
    log = again.log()
    assert (log.log_start_offset, log.log_end_offset, records_from(log)) == expected[:3]
    again.kill()


def test_log_is_created_in_the_directory_that_was_requested_before(disks: Disks) -> None:
    disks.store.creation.prefer_directory(TP, disks.paths[2])
    disks.make(1)
    assert disks.directories() == {"a": [], "b": [], "c": ["0"]}
    disks.store.deletion.delete_log(TP)
    disks.make(1)  # it was requested once
    assert disks.directories() == ALL_AT_A
    disks.kill()


def test_requested_directories_of_partitions_that_are_never_created_are_forgotten(disks: Disks) -> None:
    disks.store.creation.prefer_directory(TP, disks.paths[2])
    for number in range(10_000):
        disks.store.creation.prefer_directory(TopicPartition("never", number), disks.paths[2])
    disks.make(1)
    assert disks.directories() == ALL_AT_A
    disks.kill()


def test_as_many_logs_move_at_once_as_the_setting_allows(tmp_path: Path) -> None:
    disks = Disks(tmp_path, num_replica_alter_log_dirs_threads="2")
    partitions = [TopicPartition("topic", number) for number in range(5)]
    for tp in partitions:
        lead(disks.store.get_or_create(tp, is_new=True), "x")
    for tp in partitions:
        disks.store.moves.begin(tp, disks.paths[0])
    moving = [tp for tp in partitions if disks.store.directory_of(tp) != disks.paths[0]]
    assert (len(moving), len(disks.runner.steps)) == (3, 2)
    disks.runner.run()
    assert {disks.store.directory_of(tp) for tp in partitions} == {disks.paths[0]}
    disks.kill()


class TestThrottle:
    def test_move_throttle_keeps_the_average_rate(self) -> None:
        throttle = MoveThrottle(1000)
        now_ms = copied = 0
        while copied < 100_000:
            now_ms += throttle.wait_ms(now_ms)
            if throttle.wait_ms(now_ms) == 0:
                throttle.spent(throttle.chunk_bytes, now_ms)
                copied += throttle.chunk_bytes
        assert 99_000 <= now_ms <= 101_000

    def test_move_throttle_without_a_limit_never_waits(self) -> None:
        throttle = MoveThrottle((1 << 63) - 1)
        throttle.spent(1 << 30, 0)
        assert (throttle.wait_ms(0), throttle.chunk_bytes) == (0, 1 << 20)

    def test_move_throttle_applies_a_new_rate_within_a_second(self) -> None:
        throttle = MoveThrottle(1)
        throttle.spent(1 << 20, 0)
        assert throttle.wait_ms(0) == 1000
        throttle.set_rate(0)
        assert throttle.wait_ms(1 << 40) == 1000
        throttle.set_rate(1 << 20)
        assert throttle.wait_ms(1000) == 0


async def test_appends_on_the_loop_during_a_background_move_lose_nothing(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    pool, background = WorkerPool(loop, 2), WorkerPool(loop, 2, "background")
    config = load_config(f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}\nlog.segment.bytes=100000\n")
    store = LogStore.open(config, Files(), pool, lambda: NOW_MS)
    log = store.get_or_create(TP, is_new=True)
    schedule = StoreSchedule(store, loop, background, lambda log: log.log_end_offset, lambda: WorkerPool(loop, 1))
    schedule.start()
    strand = store.strand(TP)
    assert strand is not None
    results: list[LogAppendInfo | Exception] = []
    homes, expected = {str(tmp_path / "a"), str(tmp_path / "b")}, 0
    for move in range(1, 5):
        (other,) = homes - {store.directory_of(TP)}
        store.moves.begin(TP, other)
        while store.directory_of(TP) != other:
            # Bounded: each segment rolled is one to sync, and a slow disk would have thousands before it.
            if len(results) == expected < move * APPENDS_A_MOVE:
                for _ in range(20):
                    strand.append(LeaderAppend(batch_of(str(expected) * 100), 0, NOW_MS), results.append)
                    expected += 1
            await asyncio.sleep(0)
    while len(results) < expected:  # noqa: ASYNC110  (the pool's callbacks need turns of the loop, no event)
        await asyncio.sleep(0)
    assert [result for result in results if isinstance(result, Exception)] == []
    assert records_from(log) == [(number, (str(number) * 100).encode()) for number in range(expected)]
    schedule.stop()
    await asyncio.to_thread(background.close)
    await asyncio.to_thread(store.close)
    await asyncio.to_thread(pool.close)


def test_moved_log_keeps_its_compacted_offset(disks: Disks) -> None:
    disks.make(3)
    disks.store.checkpoints.note_compacted(TP, 2)
    told: list[TopicPartition] = []
    disks.store.moves.on_begin = told.append
    disks.store.moves.begin(TP, disks.paths[1])
    assert told == [TP]
    disks.runner.run()
    assert disks.store.checkpoints.compacted_up_to(TP) == 2
    texts = [(Path(path) / "cleaner-offset-checkpoint").read_text() for path in disks.paths[:2]]
    assert texts == ["0\n0\n", "0\n1\ntopic 0 2\n"]
    disks.kill()
