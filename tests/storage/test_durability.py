"""Data is synced, in the right order, before it is reported as durable."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.storage.log.log import Log
from pybroker.storage.log_config import LogConfig
from pybroker.storage.store.log_directory import CLEAN_SHUTDOWN_FILE, RECOVERY_POINT_FILE
from pybroker.storage.store.log_store import LogStore
from support.logs.recording_files import RecordingFiles
from support.logs.storage_logs import NOW_MS, TP, append_as_leader, batch_of, open_log
from support.logs.storage_pools import InlinePool

LOG, INDEX, TIME_INDEX = (f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex"))


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> RecordingFiles:
    return RecordingFiles(monkeypatch)


def append(log: Log) -> None:
    append_as_leader(log, batch_of("x"), 0, NOW_MS)


def test_append_is_synced_before_its_result_with_flush_messages_1(files: RecordingFiles, tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(flush_messages=1, index_interval_bytes=0), files=files)
    append(log)
    files.calls.clear()
    append(log)
    assert files.first("write", LOG) < files.last("sync", LOG)
    assert files.first("write", INDEX) < files.last("sync", INDEX)
    assert files.first("write", TIME_INDEX) < files.last("sync", TIME_INDEX)
    assert log.recovery_point == 2


def test_append_syncs_nothing_by_default(files: RecordingFiles, tmp_path: Path) -> None:
    log = open_log(tmp_path, files=files)
    append(log)
    files.calls.clear()
    append(log)
    assert files.calls == [("write", LOG)]


def test_flush_syncs_new_directory_entries_snapshots_and_transaction_indexes(
    files: RecordingFiles, tmp_path: Path
) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=2 * len(batch_of("x"))), files=files)
    for _ in range(3):
        append(log)
    files.calls.clear()
    log.flush(NOW_MS)
    second = f"{2:020d}"
    synced = [name for what, name in files.calls if what == "sync"]
    assert set(synced[:-1]) >= {LOG, INDEX, f"{second}.log", f"{second}.index", f"{second}.timeindex"}
    assert f"{second}.snapshot" in synced
    assert synced[-1] == str(TP)


def open_store(files: RecordingFiles, directory: Path) -> LogStore:
    config = load_config(f"log.dirs={directory}\n", {"log.flush.interval.ms": "0"})
    return LogStore.open(config, files, InlinePool(), lambda: NOW_MS)


def test_recovery_point_moves_only_after_the_log_is_synced(files: RecordingFiles, tmp_path: Path) -> None:
    store = open_store(files, tmp_path)
    log = store.get_or_create(TP, is_new=True)
    append(log)
    steps: list[Callable[[], None]] = []
    store.upkeep.in_background = steps.append
    files.calls.clear()
    store.upkeep.flush_due_logs()
    assert ("sync", LOG) not in files.calls
    store.checkpoints.write_recovery_points()
    path = tmp_path / RECOVERY_POINT_FILE
    assert path.read_text() == "0\n1\ntopic 0 0\n"
    steps.pop()()
    assert ("sync", LOG) in files.calls
    assert ("sync", str(TP)) in files.calls
    store.checkpoints.write_recovery_points()
    assert path.read_text() == "0\n1\ntopic 0 1\n"
    assert files.last("sync", LOG) < files.last("rename", RECOVERY_POINT_FILE)
    store.close()


def test_checkpoint_is_replaced_by_a_synced_file_and_its_directory_is_synced(
    files: RecordingFiles, tmp_path: Path
) -> None:
    store = open_store(files, tmp_path)
    store.get_or_create(TP, is_new=True)
    files.calls.clear()
    store.checkpoints.write_recovery_points()
    aside = RECOVERY_POINT_FILE + ".tmp"
    assert files.calls == [
        ("write", aside),
        ("sync", aside),
        ("rename", RECOVERY_POINT_FILE),
        ("sync", tmp_path.name),
    ]
    store.close()


def test_clean_stop_syncs_every_log_before_it_writes_its_marker(files: RecordingFiles, tmp_path: Path) -> None:
    store = open_store(files, tmp_path)
    for partition in range(3):
        append(store.get_or_create(TopicPartition("topic", partition), is_new=True))
    files.calls.clear()
    store.close()
    marker = files.first("write", CLEAN_SHUTDOWN_FILE)
    before = files.calls[:marker]
    assert before.count(("sync", LOG)) == 3
    assert {("sync", f"topic-{partition}") for partition in range(3)} <= set(before)
    assert files.last("sync", LOG) < files.first("rename", RECOVERY_POINT_FILE) < marker
    assert files.calls[marker + 1 :] == [("sync", CLEAN_SHUTDOWN_FILE), ("sync", tmp_path.name)]


def test_clean_stop_marker_is_durably_deleted_before_anything_is_written(files: RecordingFiles, tmp_path: Path) -> None:
    open_store(files, tmp_path).close()
    files.calls.clear()
    store = open_store(files, tmp_path)
    assert files.calls[:2] == [("delete", CLEAN_SHUTDOWN_FILE), ("sync", tmp_path.name)]
    store.release()
