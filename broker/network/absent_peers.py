"""Peers that hang up while they are not read from: nobody would notice, and what they asked for would stay in memory.

A connection whose requests are parked to the limit, or which waits for memory, is not read, so the end of the stream is
not seen either; and a long poll may have been asked to last for weeks. The system knows, so it is asked now and then.
"""

import asyncio
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import Protocol

__all__ = ["AbsentPeers", "UnreadConnection", "has_hung_up"]

CHECK_INTERVAL_S = 1.0
"""After all of them were asked."""
ASKED_AT_ONCE = 100
PAUSE_S = 0.1
"""Between one hundred and the next: to ask takes some ten microseconds, so all of it a hundredth of the loop."""
_ESTABLISHED = 1  # the first byte of Linux's struct tcp_info


class UnreadConnection(Protocol):
    """A connection, as seen from here."""

    @property
    def peer_has_hung_up(self) -> bool: ...

    def abort(self) -> None: ...


class AbsentPeers:
    """Looks after the connections that are not read because of what they have asked for."""

    def __init__(self, call_later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]) -> None:
        self._call_later = call_later
        self._unread: OrderedDict[UnreadConnection, None] = OrderedDict()  # the next one to be asked first
        self._left = 0  # to be asked in this round
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
        for connection in list(islice(self._unread, ASKED_AT_ONCE)):
            self._left -= 1
            if connection.peer_has_hung_up:
                self.forget(connection)
                connection.abort()  # which watches it again, until it is gone
            else:
                self._unread.move_to_end(connection)
        self._timer = None
        if self._unread:
            self._timer = self._call_later(PAUSE_S if self._left > 0 else CHECK_INTERVAL_S, self._check)


def has_hung_up(transport: asyncio.Transport) -> bool:
    """Whether the system has heard the end of the stream, or a reset, also when bytes stand unread before it."""
    connection = transport.get_extra_info("socket")
    if sys.platform != "linux" or connection is None:
        return False
    try:
        info: bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except OSError:
        return False
    return info[0] != _ESTABLISHED
