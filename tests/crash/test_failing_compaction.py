"""Tests a disk that fails or is full in a compaction: no key loses its last value, and a later one succeeds.

A failing disk goes offline with its logs, and no other disk does. A full disk stays online: its log is served
meanwhile, and is compacted when there is space.
"""

import shutil
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.store.log_store import LogStore
from support.logs.compacting_store import compact_all, compacting_store, fill_with_keys
from support.logs.compaction import records_of
from support.logs.disk_faults import FailingDisk, FullDisk, OneFullMoment, changes, noting
from support.logs.disk_history import DiskHistory, Rename, nothing_synced, recorded_history
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of

ONE, OTHER = TopicPartition("plain", 0), TopicPartition("synced", 0)

LastRecords = dict[bytes | None, tuple[int, bytes | None]]
Contents = dict[TopicPartition, LastRecords]


def last_records(log: Log) -> LastRecords:
    """The offset and the value of each key's last record, even if its transaction was aborted and the record is
    deleted.
    """
    return {record.key: (record.offset, record.value) for record in records_of(log) if record.value != b"aborted"}


def contents_of(store: LogStore) -> Contents:
    return {log.topic_partition: last_records(log) for log in store.all_logs()}


def filled_store(root: Path) -> tuple[LogStore, Contents]:
    """Two logs on separate disks. The second has nothing to compact; the first was compacted before, so some of its
    small segments can be merged.
    """
    store = compacting_store(root)
    for tp in (ONE, OTHER):
        store.get_or_create(tp, is_new=True)
    for number in range(27):
        append(store, ONE, f"first {number}", b"%d" % (number % 4))
    append(store, OTHER, "alone", b"1")
    compact_all(store, Files())
    fill_with_keys(store, (ONE,), count=17)
    assert len({store.directory_of(tp) for tp in (ONE, OTHER)}) == 2
    return store, contents_of(store)


def append(store: LogStore, tp: TopicPartition, value: str, key: bytes) -> tuple[int, bytes]:
    """Append one record; return its offset and value."""
    log = store.get(tp)
    assert log is not None
    return append_as_leader(log, batch_of(value, key=key), 0, NOW_MS).first_offset, value.encode()


def operations_of_a_compaction(root: Path) -> DiskHistory:
    root.mkdir()
    with recorded_history(str(root)) as history:
        store, expected = filled_store(root)
        history.operations.clear()
        compact_all(store, Files())
        check_all_are_compacted(store, expected)
        store.release()
    renames = [each.new_name for each in history.operations if isinstance(each, Rename)]
    for suffix in (".log.swap", ".log", ".txnindex", ".snapshot.deleted", "cleaner-offset-checkpoint"):
        assert any(name.endswith(suffix) for name in renames), suffix
    return history


def check_all_are_compacted(store: LogStore, expected: Contents) -> None:
    assert store.directories.offline_paths() == []
    for log in store.all_logs():
        check_is_compacted(log, expected)
    assert contents_of(store).keys() == expected.keys()


def check_is_compacted(log: Log, expected: Contents) -> None:
    assert len(records_of(log)) < 20, f"{log} is not compacted"
    assert last_records(log) == expected[log.topic_partition]
    assert names_of(Path(log.directory), ".cleaned", ".swap") == []


def names_of(root: Path, *suffixes: str) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.name.endswith(suffixes))


def check_after_restart(root: Path, expected: Contents) -> None:
    """Restart with a healthy disk that has space, append more records and compact them too."""
    with nothing_synced():
        store = compacting_store(root)
        assert contents_of(store) == expected
        assert names_of(root, ".cleaned", ".swap", ".deleted") == []
        check_goes_on(store, expected)
        store.release()


def check_goes_on(store: LogStore, expected: Contents) -> None:
    due = {tp: dict(records) for tp, records in expected.items()}
    for tp, records in due.items():
        for number in range(12):
            records[b"1"] = append(store, tp, f"later {number}", b"1")
    compact_all(store, Files())
    check_all_are_compacted(store, due)


def test_only_the_failing_disk_goes_offline_during_compaction(step: int, quick_disk: Path) -> None:
    count = len(operations_of_a_compaction(quick_disk / "count"))
    for number in range(0, count, step):
        root = quick_disk / str(number)
        root.mkdir()
        with noting(f"operation {number} of {count}, see {root}"):
            with recorded_history(str(root)) as history:
                store, expected = filled_store(root)
                history.fault = fault = FailingDisk(history, number, for_good=False)
                compact_all(store, Files())
                assert fault.whose is not None
                assert fault.asked_afterwards == []
                assert store.directories.offline_paths() == [str(root / fault.whose)]
                (served,) = [log for log in store.all_logs() if not log.is_offline]
                assert served.topic_partition == OTHER
                append(store, OTHER, "still served", b"2")
                expected[OTHER] = last_records(served)
                store.release()
            check_after_restart(root, expected)
            shutil.rmtree(root)
    print(f"{count} operations, each failed in its turn")


def test_compaction_of_a_log_is_postponed_after_a_full_disk(step: int, quick_disk: Path) -> None:
    count = len(operations_of_a_compaction(quick_disk / "count"))
    for number in range(1 % step, count, step):
        root = quick_disk / str(number)
        root.mkdir()
        with noting(f"operation {number} of {count}, see {root}"):
            with recorded_history(str(root)) as history:
                store, expected = filled_store(root)
                history.fault = fault = OneFullMoment(number)
                compact_all(store, Files())
                assert fault.hit is not None
                check_all_are_compacted(store, expected)
                store.release()
            check_after_restart(root, expected)
            shutil.rmtree(root)
    print(f"{count} operations, no space for each of them, one after another")


def test_full_disk_serves_reads_and_compacts_when_there_is_space(step: int, quick_disk: Path) -> None:
    """Also if the broker dies while the disk is full."""
    count = sum(changes(operation) for operation in operations_of_a_compaction(quick_disk / "count").operations)
    served_from_swap_files = 0
    for number in range(2 % step, count, step):
        root, killed = quick_disk / str(number), quick_disk / f"{number} killed"
        root.mkdir()
        with noting(f"from operation {number} of {count} on, see {root}"):
            with recorded_history(str(root)) as history:
                store, expected = filled_store(root)
                history.fault = fault = FullDisk(number, changes)
                compact_all(store, Files())
                assert fault.hits
                assert store.directories.offline_paths() == []
                assert contents_of(store) == expected
                served_from_swap_files += bool(names_of(root, ".log.swap"))
                shutil.copytree(root, killed)
                fault.is_lifted = True
                compact_all(store, Files())
                check_all_are_compacted(store, expected)
                check_goes_on(store, expected)
                store.release()
            check_after_restart(killed, expected)
            shutil.rmtree(root)
            shutil.rmtree(killed)
    print(f"{count} operations, the disk full from each on in its turn")
    assert served_from_swap_files > 2 // step
