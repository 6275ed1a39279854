"""A connection without a socket, for tests of the parts that manage connections."""

from pybroker.broker.network.loop_share import LoopShare
from pybroker.broker.network.offender_log import Violation

__all__ = ["FakeConnection"]


class FakeConnection:
    """A `ManagedConnection` whose properties the test sets. It adds its name to ``closed`` when it is closed."""

    def __init__(self, name: str, closed: list[str]) -> None:
        self.name = name
        self.closed = closed
        self.share = LoopShare(0)
        self.last_active_s = 0.0
        self.descriptor = -1
        self.is_busy = False
        self.partial_bytes = 0
        self.reads_without_memory = False
        self.waits_for_memory_only = False

    def start_queued(self) -> None:
        """Does nothing."""

    def memory_is_free(self) -> None:
        """Does nothing."""

    def peer_has_closed(self) -> None:
        """Does nothing."""

    def close_idle(self) -> None:
        self.closed.append(self.name)

    def close_for(self, violation: Violation, reason: str) -> None:
        self.closed.append(self.name)
