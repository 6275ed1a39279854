"""Tests a power cut at any moment of a busy run: synced data survives, all data is valid, and nothing else appears.

Every file operation of the run is recorded (`support/logs/disk_history.py`). The states that a power cut may leave
at each point (`support/logs/power_cut.py`) are written to disk, opened, and compared with the promises of that point
(`support/logs/log_promises.py`).
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.storage.files.files import Files
from support.logs.busy_store import BusyStore, Promise, open_store
from support.logs.disk_faults import noting
from support.logs.disk_history import DiskHistory, Operation, Sync, nothing_synced, recorded_history
from support.logs.log_promises import check_places, check_promises
from support.logs.power_cut import PowerCut, Remains, Tree, lay_out

Run = Callable[[BusyStore], None]

PLAIN = TopicPartition("plain", 0)
SYNCED = TopicPartition("synced", 0)
BOUNDED = TopicPartition("bounded", 0)


def appends_rolls_and_flushes(busy: BusyStore) -> None:
    busy.open()
    busy.create(PLAIN)
    busy.create(SYNCED)
    for number in range(9):
        busy.append(PLAIN, 1 + number % 3)
        busy.append(SYNCED, 2)
        if number == 4:
            busy.run_background()
    busy.checkpoint()
    for _ in range(4):
        busy.append(PLAIN, 3)
    busy.flush(PLAIN)
    busy.append(PLAIN)
    busy.checkpoint()
    busy.close()
    busy.open()
    for _ in range(3):
        busy.append(PLAIN, 2)
        busy.append(SYNCED)
    busy.crash()


def retention_and_deleted_records(busy: BusyStore) -> None:
    busy.open()
    busy.create(BOUNDED)
    for number in range(16):
        busy.append(BOUNDED, 2)
        if number % 5 == 4:
            busy.run_background()
            busy.retain(BOUNDED)
    busy.checkpoint()
    busy.delete_records(BOUNDED, busy.log(BOUNDED).log_end_offset - 3)
    busy.checkpoint()
    busy.run_later()
    busy.retain(BOUNDED)
    busy.append(BOUNDED)
    busy.checkpoint()
    busy.run_later()
    busy.close()


def truncations_under_new_leaders(busy: BusyStore) -> None:
    busy.open()
    busy.create(PLAIN)
    for _ in range(8):
        busy.append(PLAIN, 2, epoch=1)
    busy.run_background()
    busy.flush(PLAIN)
    busy.checkpoint()
    busy.truncate(PLAIN, 13)
    busy.lead(PLAIN, 3)
    for _ in range(6):
        busy.append(PLAIN, 2, epoch=3)
    busy.truncate(PLAIN, 4)
    for _ in range(5):
        busy.append(PLAIN, 2, epoch=4)
    busy.run_later()
    busy.flush(PLAIN)
    busy.start_anew(PLAIN, 9)
    for _ in range(3):
        busy.append(PLAIN, epoch=6)
    busy.start_anew(PLAIN, 40)
    busy.append(PLAIN, 2, epoch=7)
    busy.run_later()
    busy.checkpoint()
    busy.append(PLAIN, 2, epoch=7)
    busy.close()


def producers_and_transactions(busy: BusyStore) -> None:
    busy.open()
    busy.create(PLAIN)
    for number in range(6):
        busy.append(PLAIN, 2, producer_id=7)
        busy.append(PLAIN, producer_id=8, transactional=True)
        if number % 2:
            busy.end_transaction(PLAIN, 8, commit=number == 3)
        busy.append(PLAIN, producer_id=9, transactional=True)
        if number == 4:
            busy.run_background()
            busy.flush(PLAIN)
            busy.checkpoint()
    busy.end_transaction(PLAIN, 9, commit=False)
    busy.roll(PLAIN)
    busy.append(PLAIN, producer_id=9, transactional=True)
    busy.flush(PLAIN)
    busy.end_transaction(PLAIN, 9, commit=False)  # the first of its segment, in a new file
    busy.roll(PLAIN)
    busy.run_background()
    busy.checkpoint()
    busy.truncate(PLAIN, busy.log(PLAIN).log_end_offset - 3)
    busy.append(PLAIN, 2, producer_id=7)
    busy.close()
    busy.open()
    busy.append(PLAIN, 2, producer_id=7)
    busy.end_transaction(PLAIN, 9, commit=False)
    busy.crash()


def topics_deleted_and_made_again(busy: BusyStore) -> None:
    busy.open()
    for tp in (PLAIN, SYNCED):
        busy.create(tp)
        for _ in range(5):
            busy.append(tp, 2)
    busy.flush(PLAIN)
    busy.checkpoint()
    busy.delete(PLAIN)
    busy.append(SYNCED)
    busy.create(PLAIN)
    for _ in range(5):
        busy.append(PLAIN, 2)
    busy.run_later()
    busy.checkpoint()
    busy.delete(SYNCED)
    busy.delete(PLAIN)
    busy.create(SYNCED)
    busy.append(SYNCED)
    busy.run_later()
    busy.close()


def moves_while_the_log_changes(busy: BusyStore) -> None:
    busy.open()
    busy.create(PLAIN)
    busy.create(SYNCED)
    here, there = busy.disk_of(PLAIN), busy.disk_of(SYNCED)
    for _ in range(4):
        busy.append(PLAIN, 2, producer_id=7)
        busy.append(PLAIN, producer_id=8, transactional=True)
    busy.end_transaction(PLAIN, 8, commit=False)
    busy.flush(PLAIN)
    busy.checkpoint()
    busy.move(PLAIN, there)
    busy.go_on_moving(2)
    busy.append(PLAIN, 2, producer_id=7)
    busy.go_on_moving(1)
    busy.checkpoint()
    busy.truncate(PLAIN, 11)
    busy.lead(PLAIN, 2)
    busy.append(PLAIN, 2, epoch=2)
    busy.go_on_moving()
    assert busy.disk_of(PLAIN) == there
    busy.append(PLAIN, 2, epoch=2)
    busy.run_background()
    busy.append(SYNCED, 3)
    busy.move(SYNCED, here)
    busy.append(SYNCED)
    busy.go_on_moving()
    busy.append(SYNCED)
    busy.run_later()
    busy.crash()


def moves_that_end_early(busy: BusyStore) -> None:
    """One move is cancelled, one continues after a stop, one after a crash, and one ends because its log is deleted."""
    busy.open()
    busy.create(PLAIN)
    busy.create(SYNCED)
    here, there = busy.disk_of(PLAIN), busy.disk_of(SYNCED)
    for _ in range(4):
        busy.append(PLAIN, 4)
    busy.delete_records(PLAIN, 2)
    busy.flush(PLAIN)
    busy.checkpoint()
    busy.move(PLAIN, there)
    busy.go_on_moving(2)
    busy.move(PLAIN, here)  # the disk that holds it already
    busy.move(PLAIN, there)
    busy.go_on_moving(2)
    busy.close()
    busy.open()
    busy.go_on_moving(1)
    busy.append(PLAIN, 3)
    busy.checkpoint()
    busy.crash()
    busy.open()
    busy.go_on_moving()
    assert busy.disk_of(PLAIN) == there
    busy.append(PLAIN, 2)
    busy.move(PLAIN, here)
    busy.go_on_moving(2)
    busy.delete(PLAIN)
    busy.run_later()
    busy.crash()


RUNS: tuple[Run, ...] = (
    appends_rolls_and_flushes,
    retention_and_deleted_records,
    truncations_under_new_leaders,
    producers_and_transactions,
    topics_deleted_and_made_again,
    moves_while_the_log_changes,
    moves_that_end_early,
)


def record(run: Run, root: Path) -> tuple[DiskHistory, BusyStore]:
    root.mkdir()
    with recorded_history(str(root)) as history:
        busy = BusyStore(root, history)
        run(busy)
    assert busy.refused == []
    assert busy.store is not None
    assert busy.store.directories.offline_paths() == []
    busy.store.release()
    return history, busy


def digest(tree: Tree, promises: object) -> bytes:
    seen = hashlib.blake2b(digest_size=16)
    for path, content in sorted(tree.items()):
        seen.update(path.encode() + (b"/" if content is None else b"=%d:" % len(content) + content))
    seen.update(repr(promises).encode())
    return seen.digest()


def check_state(tree: Tree, busy: BusyStore, promises: dict[TopicPartition, Promise], root: Path, note: str) -> None:
    """Open and check one state. The files of a failed run are kept for inspection."""
    root.mkdir()
    lay_out(tree, str(root))
    with nothing_synced():
        store = open_store(root)
        try:
            with noting(f"{note}, see {root}"):
                check_promises(store, busy, promises)
                check_places(store)
        finally:
            store.release()
    shutil.rmtree(root)


def check_all_states(cut: PowerCut, busy: BusyStore, quick_disk: Path) -> int:
    """Open and check each state; return the number of different states."""
    seen: set[bytes] = set()
    for operations, remains in cut.states():
        promises = busy.promises_at(operations)
        key = digest(remains.tree, promises)
        if key in seen:
            continue
        seen.add(key)
        note = f"power cut after {operations} operations, {remains.what} is left"
        check_state(remains.tree, busy, promises, quick_disk / "state", note)
    return len(seen)


def before_syncs(point: int, operation: Operation) -> bool:
    """Every second point before a sync, where most data is unsynced."""
    return isinstance(operation, Sync) and point % 2 == 0


def before_fewer_syncs(point: int, operation: Operation) -> bool:
    return point % 4 == 0 and before_syncs(point, operation)


def everywhere(point: int, operation: Operation) -> bool:
    return True


@pytest.mark.parametrize("run", RUNS)
def test_power_cut_loses_no_synced_data(run: Run, tmp_path: Path, quick_disk: Path) -> None:
    """Half of the samples are of a file system that keeps no order of names."""
    history, busy = record(run, tmp_path / "run")
    cut = PowerCut(history, seed=1, samples=1, unordered_samples=1, torn_samples=2, singles=before_fewer_syncs, step=3)
    states = check_all_states(cut, busy, quick_disk)
    print(f"{run.__name__}: {len(history)} operations, {states} different states")
    assert states > len(history) / 2


@pytest.mark.long
@pytest.mark.parametrize("names_in_order", [True, False])
@pytest.mark.parametrize("run", RUNS)
def test_power_cut_at_any_point_with_any_loss(run: Run, names_in_order: bool, tmp_path: Path, quick_disk: Path) -> None:
    """Each single operation lost at each point, and many more samples."""
    history, busy = record(run, tmp_path / "run")
    cut = PowerCut(history, seed=2, samples=12, singles=everywhere, names_in_order=names_in_order)
    states = check_all_states(cut, busy, quick_disk)
    print(f"{run.__name__}: {len(history)} operations, {12 * len(history)} samples, {states} different states")
    assert states > 5 * len(history)


@pytest.mark.long
def test_second_power_cut_during_recovery_loses_no_more_data(tmp_path: Path, quick_disk: Path) -> None:
    """The recovery of a state with much unsynced data is recorded like any run; the promises are those at its end."""
    history, busy = record(producers_and_transactions, tmp_path / "run")
    promises = busy.promises_at(len(history))
    for number, (_, remains) in enumerate(last_states(history)):
        root = tmp_path / f"again-{number}"
        root.mkdir()
        with recorded_history(str(root)) as again:
            lay_out_recorded(remains.tree, str(root))
            before = len(again)
            open_store(root).release()
        cut = PowerCut(again, seed=number, samples=1, singles=before_syncs)
        for operations, left in cut.states():
            if operations >= before:
                check_state(left.tree, busy, promises, quick_disk / "state", f"second cut, {left.what}")


def last_states(history: DiskHistory) -> list[tuple[int, Remains]]:
    """Some of the states after the whole run."""
    cut = PowerCut(history, seed=3, samples=2, singles=lambda point, operation: False)
    return [state for state in cut.states() if state[0] == len(history)][:6]


def lay_out_recorded(tree: Tree, root: str) -> None:
    """Like `lay_out`, but with recorded calls and synced, as data that was on disk before."""
    files = Files()
    for path, content in tree.items():
        target = os.path.join(root, path)
        if content is None:
            os.mkdir(target)
        else:
            files.write_bytes(target, content)
    for path in ("", *(path for path, content in tree.items() if content is None)):
        files.sync_directory(os.path.join(root, path).rstrip("/"))
