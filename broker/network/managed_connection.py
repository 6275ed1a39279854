"""A connection as the rest of the network layer sees it; `Connection` is the one implementation.

The gate, the fair queue, the memory accounts, the idle timer and the disconnect poll depend on this interface, because
`Connection` imports all of them. Each uses a part of it.
"""

from typing import Protocol

from .loop_share import LoopShare
from .offender_log import Violation

__all__ = ["ManagedConnection"]


class ManagedConnection(Protocol):
    """Used on the event loop only."""

    share: LoopShare
    last_active_s: float
    """When `IdleConnections` was last told of the connection's activity, by its clock."""

    @property
    def descriptor(self) -> int:
        """The socket's descriptor; negative when it is closed, or there is none."""

    @property
    def is_busy(self) -> bool:
        """Requests are under way, or a response has moved on since the last call."""

    @property
    def partial_bytes(self) -> int:
        """Bytes received of the partial frame."""

    @property
    def reads_without_memory(self) -> bool:
        """The partial frame's buffer has space left, and no produce request of the connection is in work."""

    @property
    def waits_for_memory_only(self) -> bool:
        """Whether the connection has a partial frame and is not read for lack of memory alone."""

    def start_queued(self) -> None:
        """Start the queued request. If another reason still stops it, the connection asks the gate again later."""

    def memory_is_free(self) -> None:
        """Read on (after `FrameMemory.may_read` said no)."""

    def peer_has_closed(self) -> None:
        """The client has closed the connection; called again in each round of the disconnect poll."""

    def close_idle(self) -> None:
        """Close the connection: it was idle for ``connections.max.idle.ms``."""

    def close_for(self, violation: Violation, reason: str) -> None:
        """Warn about the client and close the connection at once."""
