"""Tests a disk that fails or is full at any operation of a busy run: no acknowledged record is lost.

A failing disk takes its log directory offline with all logs, and is not used any more; the other disk still serves.
A full disk refuses appends, serves reads, keeps its old checkpoints, and continues when there is space.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import KafkaStorageError
from support.logs.busy_store import BusyStore, open_store
from support.logs.disk_faults import FailingDisk, FullDisk, is_any, needs_space, noting
from support.logs.disk_history import DiskHistory, Operation, recorded_history
from support.logs.log_promises import check_places, check_promises
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from

Work = Callable[[BusyStore], None]

ONE, OTHER = TopicPartition("plain", 0), TopicPartition("synced", 0)
_MOST_STEPS = 60
"""More than moves have, and no end of them where a move is tried again and again."""


def start(busy: BusyStore) -> None:
    busy.open()
    busy.create(ONE)
    busy.create(OTHER)


def change_logs(busy: BusyStore) -> None:
    for number in range(7):
        busy.append(ONE, 1 + number % 3, producer_id=7)
        busy.append(OTHER, 2)
    busy.end_transaction(ONE, 7, commit=False)
    busy.run_background()
    busy.checkpoint()
    busy.flush(ONE)
    busy.lead(ONE, 2)
    for _ in range(4):
        busy.append(ONE, 2, epoch=2)
    busy.truncate(ONE, 9)
    busy.lead(ONE, 3)
    busy.append(ONE, 2, epoch=3)
    busy.roll(ONE)
    busy.append(ONE, 2, epoch=3)
    busy.delete_records(ONE, 3)
    busy.retain(ONE)
    busy.run_later()
    busy.run_background()
    busy.checkpoint()


def delete_topics(busy: BusyStore) -> None:
    busy.create_missing(ONE)
    busy.append(ONE, 2)
    busy.delete_records(ONE, 1)
    busy.checkpoint()
    busy.delete(ONE)
    busy.run_later()
    busy.create(ONE)
    for _ in range(9):
        busy.append(ONE, 2)
    busy.checkpoint()
    busy.move_away(ONE)
    busy.go_on_moving(2)
    busy.delete(ONE)
    busy.create(ONE)
    busy.append(ONE, 2)
    busy.run_later()
    busy.checkpoint()


def move_about(busy: BusyStore) -> None:
    """Move each log to the other disk while it changes; one of the moves is cancelled and started again."""
    here, there = (str(directory.path).rpartition("/")[2] for directory in busy.open_store.directories.all)
    for _ in range(3):
        busy.append(ONE, 2, producer_id=7)
        busy.append(OTHER, 2)
    busy.checkpoint()
    busy.move(ONE, there)
    busy.move(OTHER, here)
    busy.go_on_moving(4)
    busy.append(ONE, 2, producer_id=7)
    busy.truncate(ONE, 4)
    busy.lead(ONE, 3)
    busy.append(ONE, 2, epoch=3)
    busy.go_on_moving(2)
    busy.move(OTHER, there)
    busy.move(OTHER, here)
    busy.go_on_moving(_MOST_STEPS)
    busy.append(ONE, 2, epoch=3)
    busy.append(OTHER)
    busy.run_background()
    busy.move(ONE, here)
    busy.move(OTHER, there)
    busy.go_on_moving(_MOST_STEPS)
    busy.append(ONE, epoch=3)
    busy.append(OTHER)
    busy.run_later()
    busy.checkpoint()


def count_operations(quick_disk: Path, work: Work, counts: Callable[[Operation], bool]) -> int:
    root = quick_disk / "count"
    root.mkdir()
    with recorded_history(str(root)) as history:
        busy = BusyStore(root, history)
        start(busy)
        before = len(history)
        work(busy)
        busy.crash()
    assert busy.refused == []
    return sum(counts(operation) for operation in history.operations[before:])


def check_after_restart(root: Path, busy: BusyStore) -> None:
    store = open_store(root)
    try:
        check_promises(store, busy, busy.acknowledged())
        check_places(store)
    finally:
        store.release()


def check_with_space_again(root: Path, busy: BusyStore, history: DiskHistory, fault: FullDisk, work: Work) -> None:
    """The formerly full disk takes writes again without a restart, and a later crash loses nothing."""
    fault.is_lifted = True
    refused = len(busy.refused)
    work(busy)
    assert len(busy.refused) == refused, busy.refused[-1]
    check_all_are_served(busy)
    history.fault = None
    busy.crash()
    check_after_restart(root, busy)


@pytest.mark.parametrize("work", [change_logs, move_about])
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_only_the_failing_disk_goes_offline_and_no_acknowledged_record_is_lost(
    for_good: bool, work: Work, step: int, quick_disk: Path
) -> None:
    count = count_operations(quick_disk, work, is_any)
    for number in range(for_good % step, count, step):
        root = quick_disk / str(number)
        root.mkdir()
        with recorded_history(str(root)) as history:
            busy = BusyStore(root, history)
            start(busy)
            history.fault = fault = FailingDisk(history, number, for_good=for_good)
            with noting(f"operation {number} of {count}, see {root}"):
                work(busy)
                assert fault.whose is not None
                check_one_is_offline(busy, root / fault.whose)
                assert fault.asked_afterwards == []
                history.fault = None
                busy.crash()
                check_after_restart(root, busy)
    print(f"{count} operations, each failed in its turn")


def check_one_is_offline(busy: BusyStore, lost: Path) -> None:
    store = busy.store
    assert store is not None
    assert store.directories.offline_paths() == [str(lost)]
    for tp in (ONE, OTHER):
        log = store.get(tp)
        if log is None or store.directory_of(tp) == str(lost):
            assert log is None or not store.is_online(tp)
            if log is not None:
                with pytest.raises(KafkaStorageError):
                    append_as_leader(log, batch_of("lost"), 3, NOW_MS)
                with pytest.raises(KafkaStorageError):
                    log.read(log.log_start_offset, 100, log.log_end_offset, min_one_batch=True)
        else:
            before = log.log_end_offset
            busy.append(tp, 1, epoch=3)
            assert log.log_end_offset == before + 1
            assert records_from(log)


@pytest.mark.parametrize("work", [change_logs, delete_topics, move_about])
def test_full_disk_refuses_appends_serves_reads_and_recovers_when_there_is_space(
    work: Work, step: int, quick_disk: Path
) -> None:
    count = count_operations(quick_disk, work, needs_space)
    for number in range(0, count, step):
        root = quick_disk / str(number)
        root.mkdir()
        with recorded_history(str(root)) as history:
            busy = BusyStore(root, history)
            start(busy)
            history.fault = fault = FullDisk(number)
            with noting(f"from operation {number} of {count} on, see {root}"):
                work(busy)
                assert fault.hits
                check_all_are_served(busy)
                check_with_space_again(root, busy, history, fault, work)
    print(f"{count} operations, the disk full from each on in its turn")


@pytest.mark.parametrize(
    "lost", [(), (".index", ".timeindex", "leader-epoch-checkpoint")], ids=["killed", "and damaged"]
)
def test_start_on_a_full_disk_serves_reads_and_recovers_when_there_is_space(
    lost: tuple[str, ...], quick_disk: Path
) -> None:
    number, hits = 0, 1
    while hits:  # fail each operation of the start in turn, until it has no more
        root = quick_disk / str(number)
        root.mkdir()
        with recorded_history(str(root)) as history:
            busy = BusyStore(root, history)
            start(busy)
            change_logs(busy)
            busy.crash()
            for path in [path for path in root.rglob("*") if path.name.endswith(lost)] if lost else []:
                path.unlink()
            history.fault = fault = FullDisk(number)
            with noting(f"from operation {number} of the start on, see {root}"):
                busy.open()
                hits = fault.hits
                check_all_are_served(busy)
                for tp in (ONE, OTHER):
                    busy.append(tp, 1, epoch=3)
                assert fault.hits
                check_all_are_served(busy)
                check_with_space_again(root, busy, history, fault, change_logs)
        number += 1
    assert number > 2
    print(f"{number} operations, the disk full from each on in its turn")


def check_all_are_served(busy: BusyStore) -> None:
    assert busy.store is not None
    assert busy.store.directories.offline_paths() == []
    for tp, promise in busy.acknowledged().items():
        if not promise.exists:
            continue
        found = dict(records_from(busy.log(tp)))
        told = busy.told_of(tp, promise.generation)
        assert promise.records.items() <= found.items()
        # With `flush.messages`, a record may be written and then refused because the flush found no space.
        assert all(told.offsets.get(value or b"") == offset for offset, value in found.items())
