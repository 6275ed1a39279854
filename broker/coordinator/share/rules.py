"""Which record a request writes to the state of a share partition, or why it is refused (Kafka's
ShareCoordinatorShard)."""

from ....protocol.errors import ErrorCode
from .combining import combined
from .ports import StateWrite
from .state import NO_EPOCH, NO_OFFSET, UNKNOWN_COUNT, Snapshot, StoredState, Update
from .state_batch import DeliveryState, StateBatch

__all__ = ["initialized", "is_cold", "read_by_leader", "snapshot_again", "written"]

_FIRST_LEADER_EPOCH = 0
_STORED = frozenset(DeliveryState)


def initialized(state: StoredState | None, state_epoch: int, start_offset: int, now_ms: int) -> Snapshot | ErrorCode:
    """InitializeShareGroupState: the state begins anew, without batches. No leader has read it: Kafka notes epoch 0."""
    if state is not None and NO_EPOCH != state_epoch < state.newest_state_epoch:
        return ErrorCode.FENCED_STATE_EPOCH
    snapshot_epoch = 0 if state is None else state.snapshot.snapshot_epoch + 1
    return Snapshot(snapshot_epoch, state_epoch, _FIRST_LEADER_EPOCH, start_offset, UNKNOWN_COUNT, now_ms, now_ms, ())


def read_by_leader(
    state: StoredState | None, leader_epoch: int, now_ms: int, updates_per_snapshot: int
) -> Snapshot | Update | ErrorCode | None:
    """ReadShareGroupState: a new leader epoch is stored, so that older leaders are fenced. None: it is known."""
    if state is None:
        return ErrorCode.INVALID_REQUEST
    if leader_epoch < state.newest_leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader_epoch in (NO_EPOCH, state.newest_leader_epoch):
        return None
    snapshot = state.snapshot
    change = Update(snapshot.snapshot_epoch, leader_epoch, snapshot.start_offset, snapshot.delivery_complete_count, ())
    return _record(state, change, now_ms, updates_per_snapshot)


def written(
    state: StoredState | None, write: StateWrite, now_ms: int, updates_per_snapshot: int
) -> Snapshot | Update | ErrorCode:
    """WriteShareGroupState.

    Unlike in Kafka the start offset never falls: a write that is repeated late would bring back old offsets.
    """
    if state is None or not all(map(_is_legal, write.batches)):
        return ErrorCode.INVALID_REQUEST
    if NO_EPOCH != write.leader_epoch < state.newest_leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if NO_EPOCH != write.state_epoch < state.newest_state_epoch:
        return ErrorCode.FENCED_STATE_EPOCH
    snapshot = state.snapshot
    is_late = NO_OFFSET != write.start_offset < snapshot.start_offset
    change = Update(
        snapshot.snapshot_epoch,
        snapshot.leader_epoch,
        NO_OFFSET if is_late else write.start_offset,
        snapshot.delivery_complete_count if is_late else write.delivery_complete_count,
        combined((), write.batches, write.start_offset),
    )
    return _record(state, change, now_ms, updates_per_snapshot)


def is_cold(state: StoredState, now_ms: int, interval_ms: int) -> bool:
    """Whether the last snapshot is so old that it holds up the deletion of old records."""
    return now_ms - state.snapshot.written_ms >= interval_ms


def snapshot_again(state: StoredState, now_ms: int) -> Snapshot:
    """The same state as a new snapshot."""
    return state.snapshot._replace(snapshot_epoch=state.snapshot.snapshot_epoch + 1, written_ms=now_ms)


def _record(state: StoredState, change: Update, now_ms: int, updates_per_snapshot: int) -> Snapshot | Update:
    """The change, as a snapshot after so many updates."""
    if state.updates < updates_per_snapshot:
        return change
    old = state.snapshot
    start_offset = old.start_offset if change.start_offset == NO_OFFSET else change.start_offset
    return Snapshot(
        old.snapshot_epoch + 1,
        old.state_epoch,
        change.leader_epoch,
        start_offset,
        change.delivery_complete_count,
        now_ms,
        now_ms,
        combined(old.batches, change.batches, start_offset),
    )


def _is_legal(batch: StateBatch) -> bool:
    return 0 <= batch.first_offset <= batch.last_offset and batch.delivery_state in _STORED
