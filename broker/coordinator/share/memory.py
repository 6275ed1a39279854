"""Memory used by the states of share partitions. The constants are estimates of the size of Python objects."""

from ....protocol.text_size import text_bytes
from .ports import SharePartitionKey
from .state import Snapshot, StoredState
from .state_batch import DeliveryState

__all__ = ["BATCH_BYTES", "state_bytes"]

BATCH_BYTES = 180
_STATE_BYTES = 900 + BATCH_BYTES
"""With one batch of settled records at the start offset, which the leader's next write removes."""
_SETTLED = frozenset((DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED))


def state_bytes(key: SharePartitionKey, state: StoredState | None) -> int:
    """The memory of a state. It does not grow when the records at the start offset are settled."""
    return _STATE_BYTES + text_bytes(key.group_id) + (0 if state is None else BATCH_BYTES * _counted(state.snapshot))


def _counted(snapshot: Snapshot) -> int:
    batches = snapshot.batches
    if batches and batches[0].first_offset == snapshot.start_offset and batches[0].delivery_state in _SETTLED:
        return len(batches) - 1
    return len(batches)
