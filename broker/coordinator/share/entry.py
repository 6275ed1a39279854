"""A share partition in memory: its committed state, and the changes that wait for records to be written."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ....base.timers import TimerHandle
from ....protocol.errors import ErrorCode
from .memory import state_bytes
from .ports import SharePartitionKey
from .state import StateRecord, StoredState

__all__ = ["Change", "Entry", "Result", "Round"]

Result = StoredState | ErrorCode | None
"""The state after a change, None when it was deleted; or why nothing was changed."""


class Change(NamedTuple):
    """A request for one share partition.

    Attributes:
        decide: from the state before it, the record to write, None for nothing, or the error.
        done: called once.
    """

    decide: Callable[[StoredState | None], StateRecord | ErrorCode | None]
    done: Callable[[Result], None]


class Round(NamedTuple):
    """The changes whose records are being written in one batch, with their results if it is committed."""

    changes: list[tuple[Change, Result]]
    records: list[StateRecord]
    state: StoredState | None
    timer: TimerHandle


class Entry:
    """Attributes:
    snapshot_offset: the offset of the last snapshot, or one below it: older records of it are not needed.
    is_out_of_use: it was unloaded, or it is unknown whether its last records are in the log.
    is_late: the running write has lasted longer than the timeout.
    lacks_topic: the topic was missing at the last look.
    """

    __slots__ = (
        "is_late",
        "is_out_of_use",
        "key",
        "lacks_topic",
        "partition",
        "round",
        "size_bytes",
        "snapshot_offset",
        "state",
        "waiting",
    )

    def __init__(
        self, partition: int, key: SharePartitionKey, state: StoredState | None = None, snapshot_offset: int = 0
    ) -> None:
        self.partition = partition
        self.key = key
        self.state = state
        self.snapshot_offset = snapshot_offset
        self.size_bytes = state_bytes(key, state)
        self.waiting: deque[Change] = deque()
        self.round: Round | None = None
        self.is_out_of_use = False
        self.is_late = False
        self.lacks_topic = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written or waits."""
        return self.round is None and not self.waiting

    def take_changes(self) -> list[Change]:
        """All changes without a result. They do not belong to the entry any more."""
        changes = [] if self.round is None else [change for change, _ in self.round.changes]
        if self.round is not None:
            self.round.changes.clear()
        changes += self.waiting
        self.waiting.clear()
        return changes
