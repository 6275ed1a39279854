"""Failures of log directories: the last one stops the broker, and a lack of descriptors is no failure."""

import errno
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.errors import NoDescriptorsError
from pybroker.storage.files.files import Files
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.store.log_directories import LogDirectoriesError
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_faults import FaultyFiles, no_more_descriptors
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

TP = TopicPartition("topic", 0)
OTHER = TopicPartition("other", 0)


def open_store(*directories: Path) -> LogStore:
    config = load_config(f"log.dirs={','.join(map(str, directories))}\n")
    return LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS)


def test_broker_is_told_to_stop_only_when_the_last_directory_fails(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a", tmp_path / "b")
    told: list[str] = []
    ends: list[LogDirectoriesError] = []
    store.directories.on_failure = lambda path, partitions: told.append(path)
    store.directories.on_last_failure = ends.append
    first, second = store.directories.all
    store.directories.failed(first, "cannot write", OSError(errno.EIO, "Input/output error"))
    assert (told, ends) == ([first.path], [])
    for _ in range(2):
        store.directories.failed(second, "cannot sync", OSError(errno.EIO, "Input/output error"))
    assert told == [first.path, second.path]
    (end,) = ends
    assert f"{second.path}: cannot sync: [Errno 5] Input/output error" in str(end)
    store.release()


def test_lack_of_file_descriptors_takes_no_directory_offline(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    log = store.get_or_create(TP, is_new=True)
    append_as_leader(log, batch_of("x"), 0, NOW_MS)
    log.close_files()
    with no_more_descriptors(), pytest.raises(KafkaStorageError):
        log.read(0, 100, 1, min_one_batch=True)
    steps: list[Callable[[], None]] = []
    store.upkeep.in_background = steps.append
    store.upkeep.flush_in_background(log)
    with no_more_descriptors():
        with pytest.raises(NoDescriptorsError):
            store.get_or_create(OTHER, is_new=True)
        steps.pop()()
        store.checkpoints.write_recovery_points()
    assert (store.directories.offline_paths(), log.recovery_point) == ([], 0)
    store.get_or_create(OTHER, is_new=True)
    store.upkeep.flush_in_background(log)
    steps.pop()()
    assert log.recovery_point == 1
    store.close()


def test_directory_goes_offline_when_a_recovery_cannot_be_written(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a")
    log = store.get_or_create(TP, is_new=True, topic_id=uuid.UUID(int=5))
    log.append(LeaderAppend(batch_of("value"), 0, NOW_MS))
    store.release()  # not closed: the next start recovers the log
    (tmp_path / "a" / str(TP) / "leader-epoch-checkpoint").unlink()  # the file is written again
    files = FaultyFiles()
    files.suffixes = ("leader-epoch-checkpoint.tmp",)
    files.fault = errno.EIO
    with pytest.raises(LogDirectoriesError, match="EIO"):
        LogStore.open(load_config(f"log.dirs={tmp_path / 'a'}\n"), files, InlinePool(), lambda: NOW_MS)
