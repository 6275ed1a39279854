"""The cost of thousands of logs: syncs at the start, open descriptors, and waiting for the creation of others."""

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from pybroker.base.buffer import Buffer
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.errors import NoSpaceError
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

TP = TopicPartition("topic", 0)
EPOCHS = "leader-epoch-checkpoint"


class WatchedFiles(Files):
    """Files that record atomic replacements and call ``on_write`` before each."""

    def __init__(self, on_write: Callable[[str], None] = lambda path: None) -> None:
        super().__init__()
        self.replaced: list[str] = []
        self._on_write = on_write

    def write_atomically(self, path: str, data: Buffer) -> None:
        self._on_write(path)
        super().write_atomically(path, data)
        self.replaced.append(os.path.basename(path))

    def create_empty(self, path: str) -> None:
        self._on_write(path)
        super().create_empty(path)


def open_store(*directories: Path, files: Files | None = None) -> LogStore:
    config = load_config(f"log.dirs={','.join(map(str, directories))}\n")
    return LogStore.open(config, files or Files(), InlinePool(), lambda: NOW_MS)


def log_of(store: LogStore, tp: TopicPartition = TP) -> Log:
    log = store.get(tp)
    assert log is not None
    return log


def led_and_stopped(directory: Path) -> None:
    """Make a stopped log with a record of epoch 3, whose last leader (epoch 5) appended nothing."""
    store = open_store(directory)
    log = store.get_or_create(TP, is_new=True)
    log.assign_epoch_start(3)
    append_as_leader(log, batch_of("a"), 3, NOW_MS)
    log.assign_epoch_start(5)
    store.close()


def replicated(value: str, offset: int) -> bytearray:
    """Return a batch as its leader of epoch 3 sends it."""
    batch = batch_of(value, partition_leader_epoch=3)
    batch[:8] = offset.to_bytes(8, "big")
    return batch


def epochs_in(directory: Path) -> list[str]:
    return (directory / str(TP) / EPOCHS).read_text().splitlines()[2:]


class TestLeaderEpochsAtTheStart:
    def test_start_that_drops_an_epoch_without_records_writes_nothing(self, tmp_path: Path) -> None:
        led_and_stopped(tmp_path)
        files = WatchedFiles()
        store = open_store(tmp_path, files=files)
        assert [entry.epoch for entry in log_of(store).leader_epochs.entries] == [3]
        assert files.replaced == []
        store.release()

    def test_next_leader_writes_the_epochs_that_the_start_has_changed(self, tmp_path: Path) -> None:
        led_and_stopped(tmp_path)
        store = open_store(tmp_path)
        log_of(store).assign_epoch_start(6)
        assert epochs_in(tmp_path) == ["3 0", "6 1"]
        store.release()

    def test_first_append_of_a_follower_writes_the_epochs_that_the_start_has_changed(self, tmp_path: Path) -> None:
        led_and_stopped(tmp_path)
        files = WatchedFiles()
        store = open_store(tmp_path, files=files)
        log = log_of(store)
        log.append_as_follower(replicated("b", 1), NOW_MS)
        assert epochs_in(tmp_path) == ["3 0"]
        log.append_as_follower(replicated("c", 2), NOW_MS)
        assert files.replaced == [EPOCHS]
        store.release()

    def test_epochs_that_a_full_disk_refused_are_written_by_the_next_append(self, tmp_path: Path) -> None:
        files = FaultyFiles()
        store = open_store(tmp_path, files=files)
        log = store.get_or_create(TP, is_new=True)
        files.fault, files.suffixes = errno.ENOSPC, (EPOCHS + ".tmp",)
        with pytest.raises(NoSpaceError):
            log.append_as_follower(replicated("a", 0), NOW_MS)
        files.fault = None
        log.append_as_follower(replicated("a", 0), NOW_MS)
        assert epochs_in(tmp_path) == ["3 0"]
        store.release()


@pytest.mark.parametrize("is_clean", [True, False])
def test_opened_log_holds_no_descriptor_for_its_indexes(is_clean: bool, tmp_path: Path) -> None:
    led_and_stopped(tmp_path)
    if not is_clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()
        (tmp_path / "recovery-point-offset-checkpoint").unlink()
    store = open_store(tmp_path)
    here = str(tmp_path / str(TP))
    opened = [Path(file.path).suffix for file in psutil.Process().open_files() if file.path.startswith(here)]
    assert opened == [".log"]
    store.release()


class TestMakingLogs:
    def test_logs_are_created_in_parallel_in_the_directory_with_the_fewest_partitions(self, tmp_path: Path) -> None:
        both_at_work = threading.Barrier(2)
        held = threading.local()

        def meet(path: str) -> None:
            if path.endswith(".log") and not getattr(held, "has_met", False):
                held.has_met = True
                both_at_work.wait()

        store = open_store(tmp_path / "a", tmp_path / "b", files=WatchedFiles(meet))
        with ThreadPoolExecutor(2) as threads:
            logs = list(
                threads.map(lambda number: store.get_or_create(TopicPartition("topic", number), True), range(2))
            )
        assert {Path(log.directory).parent.name for log in logs} == {"a", "b"}
        assert [directory.partition_count for directory in store.directories.all] == [1, 1]
        assert [directory.logs_in_making for directory in store.directories.all] == [0, 0]
        store.release()

    def test_log_requested_by_two_threads_is_created_once(self, tmp_path: Path) -> None:
        made: list[str] = []
        store = open_store(tmp_path, files=WatchedFiles(made.append))
        with ThreadPoolExecutor(4) as threads:
            logs = list(threads.map(lambda _: store.get_or_create(TP, True), range(16)))
        assert len({id(log) for log in logs}) == 1
        assert len([path for path in made if path.endswith(".log")]) == 1
        store.release()

    def test_log_is_created_in_another_directory_when_its_directory_fails_meanwhile(self, tmp_path: Path) -> None:
        def lose(path: str) -> None:
            if path.startswith(str(tmp_path / "a")) and path.endswith(".log"):
                store.directories.failed(store.directories.all[0], "cannot be read", OSError(errno.EIO, "broken"))

        store = open_store(tmp_path / "a", tmp_path / "b", files=WatchedFiles(lose))
        log = store.get_or_create(TP, is_new=True)
        assert log.directory == str(tmp_path / "b" / str(TP))
        assert store.get(TP) is log
        assert store.directories.all[0].partition_count == 0
        store.release()

    def test_creation_of_a_log_fails_when_the_only_directory_fails_meanwhile(self, tmp_path: Path) -> None:
        def lose(path: str) -> None:
            if path.endswith(".log"):
                store.directories.failed(store.directories.all[0], "cannot be read", OSError(errno.EIO, "broken"))

        store = open_store(tmp_path, files=WatchedFiles(lose))
        with pytest.raises(KafkaStorageError):
            store.get_or_create(TP, is_new=True)
        assert store.get(TP) is None
        store.release()
