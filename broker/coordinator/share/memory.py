"""Memory used by the states of share partitions. The constants are estimates of the size of Python objects."""

from ....protocol.text_size import text_bytes
from .ports import SharePartitionKey
from .state import StoredState

__all__ = ["BATCH_BYTES", "state_bytes"]

_STATE_BYTES = 900
BATCH_BYTES = 180


def state_bytes(key: SharePartitionKey, state: StoredState | None) -> int:
    return _STATE_BYTES + text_bytes(key.group_id) + (0 if state is None else BATCH_BYTES * len(state.snapshot.batches))
