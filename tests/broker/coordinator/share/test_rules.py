"""The records that requests write, and the requests that are refused."""

from pybroker.broker.coordinator.share.ports import StateWrite
from pybroker.broker.coordinator.share.rules import initialized, read_by_leader, written
from pybroker.broker.coordinator.share.state import DELETION, Snapshot, StateRecord, StoredState, Update, state_after
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.errors import ErrorCode

NOW_MS = 1_000
BATCH = StateBatch(0, 4, 2, 1)


def begun(state_epoch: int = 5, start_offset: int = 0, leader_epoch: int = 3) -> StoredState:
    """A state that a leader has read."""
    first = initialized(None, state_epoch, start_offset, NOW_MS)
    assert isinstance(first, Snapshot)
    state = state_after(None, first)
    return after(state, read_by_leader(state, leader_epoch, NOW_MS, 500))


def after(state: StoredState | None, verdict: StateRecord | ErrorCode | None) -> StoredState:
    assert isinstance(verdict, Snapshot | Update)
    changed = state_after(state, verdict)
    assert changed is not None
    return changed


def write(state_epoch: int = 5, leader_epoch: int = 3, start_offset: int = -1) -> StateWrite:
    return StateWrite(state_epoch, leader_epoch, start_offset, 2, (BATCH,))


def test_state_begins_with_a_snapshot_of_the_first_leader_epoch() -> None:
    assert initialized(None, 5, 17, NOW_MS) == Snapshot(0, 5, 0, 17, -1, NOW_MS, NOW_MS, ())


def test_state_that_begins_anew_counts_its_snapshots_on() -> None:
    again = initialized(begun(), 6, 0, NOW_MS)
    assert isinstance(again, Snapshot)
    assert again.snapshot_epoch == 1


def test_older_state_epoch_is_fenced() -> None:
    assert initialized(begun(), 4, 0, NOW_MS) is ErrorCode.FENCED_STATE_EPOCH
    assert written(begun(), write(state_epoch=4), NOW_MS, 500) is ErrorCode.FENCED_STATE_EPOCH


def test_older_leader_epoch_is_fenced() -> None:
    assert written(begun(), write(leader_epoch=2), NOW_MS, 500) is ErrorCode.FENCED_LEADER_EPOCH
    assert read_by_leader(begun(), 2, NOW_MS, 500) is ErrorCode.FENCED_LEADER_EPOCH


def test_epochs_that_are_not_given_are_not_fenced() -> None:
    assert isinstance(written(begun(), write(-1, -1), NOW_MS, 500), Update)
    assert isinstance(initialized(begun(), -1, 0, NOW_MS), Snapshot)


def test_state_that_was_not_initialized_cannot_be_read_or_written() -> None:
    assert written(None, write(), NOW_MS, 500) is ErrorCode.INVALID_REQUEST
    assert read_by_leader(None, 3, NOW_MS, 500) is ErrorCode.INVALID_REQUEST


def test_write_with_a_batch_that_ends_before_it_begins_is_refused() -> None:
    backwards = write()._replace(batches=(StateBatch(4, 3, 0, 1),))
    assert written(begun(), backwards, NOW_MS, 500) is ErrorCode.INVALID_REQUEST


def test_write_of_a_state_that_is_never_stored_is_refused() -> None:
    acquired = write()._replace(batches=(StateBatch(4, 5, 1, 1),))
    assert written(begun(), acquired, NOW_MS, 500) is ErrorCode.INVALID_REQUEST


def test_known_leader_reads_without_writing() -> None:
    assert read_by_leader(begun(), 3, NOW_MS, 500) is None


def test_write_stores_only_what_changed() -> None:
    assert written(begun(), write(), NOW_MS, 500) == Update(0, 3, -1, 2, (BATCH,))


def test_write_of_a_late_leader_does_not_move_the_start_offset_back() -> None:
    state = after(begun(), written(begun(), write(start_offset=10), NOW_MS, 500))
    late = written(state, write(start_offset=2)._replace(delivery_complete_count=9), NOW_MS, 500)
    after_late = after(state, late).snapshot
    assert (after_late.start_offset, after_late.delivery_complete_count) == (10, 2)


def test_snapshot_follows_after_the_given_number_of_updates() -> None:
    state, kinds = begun(), []
    for offset in range(6):
        change = StateWrite(5, 3, offset, 0, (StateBatch(offset, offset, 0, 1),))
        verdict = written(state, change, NOW_MS, 3)
        kinds.append(type(verdict))
        state = after(state, verdict)
    assert kinds == [Update, Update, Snapshot, Update, Update, Update]
    assert state.snapshot.start_offset == 5
    assert state.snapshot.batches == (StateBatch(5, 5, 0, 1),)


def test_deleted_state_can_begin_again_with_any_epoch() -> None:
    gone = state_after(begun(), DELETION)
    assert gone is None
    assert isinstance(initialized(gone, 0, 0, NOW_MS), Snapshot)
