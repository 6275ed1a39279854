"""The state of a share partition, and how records change it (Kafka's ShareGroupOffset and ShareCoordinatorShard)."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ....base.frozen import frozen
from .combining import combined
from .state_batch import StateBatch

__all__ = [
    "DELETION",
    "NO_EPOCH",
    "NO_OFFSET",
    "UNKNOWN_COUNT",
    "Deletion",
    "Snapshot",
    "StateRecord",
    "StoredState",
    "Update",
    "state_after",
]

NO_EPOCH = -1
NO_OFFSET = -1
UNKNOWN_COUNT = -1


class Snapshot(NamedTuple):
    """A record with the whole state. Times are in milliseconds; ``created_ms`` differs after a copy of old state."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int
    written_ms: int
    batches: Sequence[StateBatch]


class Update(NamedTuple):
    """A record with what changed since the last snapshot, whose epoch it repeats. -1 leaves an offset or an epoch."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


@frozen
class Deletion:
    """A record that ends the state."""


DELETION = Deletion()
StateRecord: TypeAlias = Snapshot | Update | Deletion


class StoredState(NamedTuple):
    """The state by the records so far.

    Attributes:
        snapshot: the whole state as a snapshot would store it; its batches are sorted, and no two overlap.
        updates: how many updates came since the last snapshot.
        newest_leader_epoch, newest_state_epoch: older epochs are fenced. They are not lower than the snapshot's.
    """

    snapshot: Snapshot
    updates: int
    newest_leader_epoch: int
    newest_state_epoch: int


def state_after(state: StoredState | None, record: StateRecord) -> StoredState | None:
    """The state after a record; None: there is none."""
    match record:
        case Snapshot():
            return _after_snapshot(state, record)
        case Update():
            return _after_update(state, record)
        case Deletion():
            return None


def _after_snapshot(state: StoredState | None, snapshot: Snapshot) -> StoredState:
    snapshot = snapshot._replace(batches=combined((), snapshot.batches, snapshot.start_offset))
    leader_epoch, state_epoch = snapshot.leader_epoch, snapshot.state_epoch
    if state is not None:
        leader_epoch = max(leader_epoch, state.newest_leader_epoch)
        state_epoch = max(state_epoch, state.newest_state_epoch)
    return StoredState(snapshot, 0, leader_epoch, state_epoch)


def _after_update(state: StoredState | None, update: Update) -> StoredState:
    """``state`` is None when the snapshot before the update is missing; Kafka goes on then, too."""
    if state is None:
        state = StoredState(Snapshot(update.snapshot_epoch, -1, -1, -1, -1, -1, -1, ()), 0, NO_EPOCH, NO_EPOCH)
    old = state.snapshot
    start_offset = old.start_offset if update.start_offset == NO_OFFSET else update.start_offset
    snapshot = old._replace(
        leader_epoch=old.leader_epoch if update.leader_epoch == NO_EPOCH else update.leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=update.delivery_complete_count,
        batches=combined(old.batches, update.batches, start_offset),
    )
    return state._replace(
        snapshot=snapshot,
        updates=state.updates + 1,
        newest_leader_epoch=max(state.newest_leader_epoch, update.leader_epoch),
    )
