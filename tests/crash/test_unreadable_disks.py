"""Tests failing reads at start, in recovery and at work: only that log directory goes offline, and no data is lost."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.log.log import Log
from support.logs.busy_store import DIRECTORIES, BusyStore, open_store
from support.logs.compacting_store import compact_all, compacting_store, fill_with_keys, last_values
from support.logs.compaction import records_of
from support.logs.disk_history import DiskHistory, nothing_synced
from support.logs.log_promises import check_promises
from support.logs.storage_faults import UnreadableFiles
from support.logs.storage_logs import NOW_MS, records_from

ONE, OTHER = TopicPartition("plain", 0), TopicPartition("synced", 0)


def disk_of(path: str) -> str:
    return next(name for name in DIRECTORIES if f"/{name}" in path)


def busy_store(root: Path, files: UnreadableFiles | None = None) -> BusyStore:
    """Two logs on separate disks, with producers, epochs, an aborted transaction and several segments."""
    root.mkdir()
    busy = BusyStore(root, DiskHistory(str(root)), files)
    busy.open()
    busy.create(ONE)
    busy.create(OTHER)
    for number in range(6):
        busy.append(ONE, 1 + number % 3, producer_id=7, transactional=True)
        busy.append(OTHER, 2)
    busy.end_transaction(ONE, 7, commit=False)
    busy.flush(ONE)
    busy.checkpoint()
    busy.append(ONE, 2, producer_id=7)
    assert busy.refused == []
    return busy


def check_what_is_there(root: Path, busy: BusyStore) -> None:
    """Check all logs after the disk can be read again."""
    store = open_store(root)
    try:
        check_promises(store, busy, busy.acknowledged())
    finally:
        store.release()


@pytest.mark.parametrize("stop", [BusyStore.close, BusyStore.crash], ids=["clean stop", "crash"])
def test_failing_read_at_start_takes_only_its_disk_offline(
    stop: Callable[[BusyStore], None], step: int, quick_disk: Path
) -> None:
    with nothing_synced():
        busy = busy_store(quick_disk / "stopped")
        stop(busy)
        root = quick_disk / "copy"
        count = 1
        number = 0
        while number < count:
            shutil.copytree(quick_disk / "stopped", root)
            files = UnreadableFiles(disk_of)
            files.number = number
            store = open_store(root, files=files)
            count = max(count, files.reads)
            lost = [str(root / files.failed_disk)] if files.failed_disk else []
            assert store.directories.offline_paths() == lost, f"read {number} of {count}"
            for log in store.all_logs():
                assert records_from(log) == sorted(busy.acknowledged()[log.topic_partition].records.items())
            files.failed_disk = None
            store.release()
            check_what_is_there(root, busy)
            shutil.rmtree(root)
            number += step
    print(f"{count} reads, each failed in its turn")
    assert count > 10


LOOKS: tuple[Callable[[Log], object], ...] = (
    lambda log: records_from(log, max_bytes=200),
    lambda log: log.offset_for_timestamp(NOW_MS + 60),
    lambda log: log.offset_of_max_timestamp(),
    lambda log: log.aborted_transactions(0, log.log_end_offset),
    lambda log: log.bytes_between(1, log.log_end_offset - 1),
)


def work(busy: BusyStore) -> list[object]:
    """Read and change the logs; return the results of the reads."""
    seen = []
    for tp in (ONE, OTHER):
        for look in LOOKS:
            try:
                seen.append(look(busy.log(tp)))
            except (KafkaStorageError, OSError):  # an OSError comes from sending the records that were found
                seen.append(None)
        busy.append(tp, 2)
        busy.truncate(tp, 6)  # where a batch begins
        busy.append(tp, 1)
        busy.flush(tp)
        busy.retain(tp)
    busy.checkpoint()
    return seen


def test_failing_read_at_work_takes_only_its_disk_offline_and_loses_nothing(step: int, quick_disk: Path) -> None:
    with nothing_synced():
        files = UnreadableFiles(disk_of)
        busy = busy_store(quick_disk / "count", files)
        before = files.reads
        expected = work(busy)
        count = files.reads - before
        busy.crash()
        assert busy.refused == []
        for number in range(0, count, step):
            root = quick_disk / str(number)
            files = UnreadableFiles(disk_of)
            busy = busy_store(root, files)
            files.number = number
            seen = work(busy)
            assert all(found in (None, due) for found, due in zip(seen, expected, strict=True)), f"read {number}"
            assert busy.store is not None
            assert files.failed_disk is not None
            assert busy.store.directories.offline_paths() == [str(root / files.failed_disk)], f"read {number}"
            busy.crash()
            check_what_is_there(root, busy)
            shutil.rmtree(root)
    print(f"{count} reads, each failed in its turn")
    assert count > 20


# --- while logs are compacted --------------------------------------------------------------------------------------


def test_failing_read_in_a_compaction_takes_only_its_disk_offline_and_loses_nothing(
    step: int, quick_disk: Path
) -> None:
    with nothing_synced():
        store = compacting_store(quick_disk / "filled", min_lag_ms=1)
        fill_with_keys(store, (ONE, OTHER))
        expected = {log.topic_partition: last_values(log) for log in store.all_logs()}
        store.close()
        number, count = 0, 1
        while number < count:
            root = quick_disk / str(number)
            shutil.copytree(quick_disk / "filled", root)
            files = UnreadableFiles(disk_of)
            store = compacting_store(root, files, min_lag_ms=1)
            before = files.reads
            files.number = number
            compact_all(store, files)
            files.number = None
            lost = [str(root / files.failed_disk)] if files.failed_disk else []
            count = max(count, files.reads - before + 1)
            assert store.directories.offline_paths() == lost, f"read {number} of {count}"
            for log in store.all_logs():
                if not log.is_offline:
                    assert len(records_of(log)) < 20, f"{log} is not compacted"
                    assert last_values(log) == expected[log.topic_partition]
            store.release()
            again = compacting_store(root, min_lag_ms=1)
            assert {log.topic_partition: last_values(log) for log in again.all_logs()} == expected
            assert [path for path in root.rglob("*") if path.suffix in (".cleaned", ".swap")] == []
            again.release()
            shutil.rmtree(root)
            number += step
    print(f"{count} reads, each failed in its turn")
    assert count > 20
