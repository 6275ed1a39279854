"""Peers that hang up while they are not read from: nobody would notice, and what they asked for would stay in memory.

A connection whose requests are parked to the limit, or which waits for memory or for its turn, is not read, so the end
of the stream is not seen either; and a long poll may have been asked to last for weeks. The system knows, so it is
asked now and then.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Protocol

__all__ = ["DisconnectPoll", "UnreadConnection"]

CHECK_INTERVAL_S = 1.0
"""After all of them were asked for."""
ASKED_AT_ONCE = 1000
PAUSE_S = 0.1
"""Between one thousand and the next: to ask for each takes a microsecond, so all of it a hundredth of the loop."""


class UnreadConnection(Protocol):
    """A connection, as seen from here."""

    @property
    def descriptor(self) -> int:
        """Of its socket; negative when that is closed."""

    def peer_has_hung_up(self) -> None:
        """It is told so again and again, for as long as it is watched."""


class DisconnectPoll:
    """Looks after the connections that are not read because of what they have asked for. ``hung_up_of`` tells whose
    peers are gone of sockets with these descriptors (`socket_states.hung_up`, but in tests)."""

    def __init__(
        self,
        call_later: Callable[[float, Callable[[], None]], asyncio.TimerHandle],
        hung_up_of: Callable[[Iterable[int]], set[int]],
    ) -> None:
        self._call_later = call_later
        self._hung_up_of = hung_up_of
        self._unread: OrderedDict[UnreadConnection, None] = OrderedDict()  # the next one to be asked for first
        self._left = 0  # to be asked for in this round
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, connection: UnreadConnection) -> None:
        self._unread[connection] = None
        if self._timer is None:
            self._timer = self._call_later(CHECK_INTERVAL_S, self._check)

    def forget(self, connection: UnreadConnection) -> None:
        """It is read again, or gone."""
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
        for descriptor in self._hung_up_of(by_descriptor):
            by_descriptor[descriptor].peer_has_hung_up()
        self._timer = None
        if self._unread:
            self._timer = self._call_later(PAUSE_S if self._left > 0 else CHECK_INTERVAL_S, self._check)
