"""Finds clients that close their connections while these are not read.

Why: a connection that is not read does not see the end of its stream, and a long poll may last for weeks. Without this
poll the requests of such a client would stay in memory. How: every second the system is asked about these sockets.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import islice

from ...base.timers import CallLater, TimerHandle
from .managed_connection import ManagedConnection

__all__ = ["DisconnectPoll"]

CHECK_INTERVAL_S = 1.0
"""Time between two rounds over all watched connections."""
ASKED_AT_ONCE = 1000
PAUSE_S = 0.1
"""Time between `ASKED_AT_ONCE` connections and the next ones. Each takes 1 µs, so the poll takes 1 % of the loop."""


class DisconnectPoll:
    """Watches connections that are not read. ``find_closed`` returns the descriptors whose peers have closed
    (`socket_states.closed_by_peer`, except in tests)."""

    def __init__(
        self,
        call_later: CallLater,
        find_closed: Callable[[Iterable[int]], set[int]],
    ) -> None:
        self._call_later = call_later
        self._find_closed = find_closed
        self._unread: OrderedDict[ManagedConnection, None] = OrderedDict()  # the next one to check is first
        self._left = 0  # to check in this round
        self._timer: TimerHandle | None = None

    def watch(self, connection: ManagedConnection) -> None:
        self._unread[connection] = None
        if self._timer is None:
            self._timer = self._call_later(CHECK_INTERVAL_S, self._check)

    def forget(self, connection: ManagedConnection) -> None:
        """The connection is read again, or gone."""
        self._unread.pop(connection, None)

    def close(self) -> None:
        self._unread.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        if self._left <= 0:
            self._left = len(self._unread)
        asked = list(islice(self._unread, ASKED_AT_ONCE))
        for connection in asked:
            self._unread.move_to_end(connection)
        self._left -= len(asked)
        by_descriptor = {connection.descriptor: connection for connection in asked}
        for descriptor in self._find_closed(by_descriptor):
            by_descriptor[descriptor].peer_has_closed()
        self._timer = None
        if self._unread:
            self._timer = self._call_later(PAUSE_S if self._left > 0 else CHECK_INTERVAL_S, self._check)
