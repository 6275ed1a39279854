"""All reasons why a connection is not read, and the switch that sets and clears them."""

import asyncio
import logging
from enum import IntFlag
from typing import Protocol

from ..disconnect_poll import DisconnectPoll
from ..managed_connection import ManagedConnection
from ..request import ConnectionInfo
from ..transport import Transport

__all__ = ["ReadPause", "ReadSwitch", "ReadingConnection"]

logger = logging.getLogger(__name__)


class ReadPause(IntFlag):
    """A connection is read when none of these is set. Changes of an open connection are logged at debug level."""

    CONNECTION_LIMIT = 1
    """``max.connections`` or the rate of new connections is reached."""
    RESPONSES = 2
    """The client does not read its responses, or the limit of unanswered requests is reached."""
    MEMORY = 4
    """``queued.max.request.bytes`` or ``queued.max.requests`` is reached, and this connection holds some of it."""
    QUEUED = 8
    """The next request waits in the fair queue, until the next iteration, or until the previous task has begun."""
    THROTTLED = 16
    """The client exceeds a quota (KIP-219), or sends requests in very many small pieces."""
    CLOSING = 32
    """The connection takes no further request, and closes when its last response is written, or at once."""
    LOGIN = 64
    """A step of the client's login is not decided."""


# Plain numbers: the operators of IntFlag are slow, and these are used for every request.
(CONNECTION_LIMIT, RESPONSES, MEMORY, QUEUED, THROTTLED, CLOSING, LOGIN) = (pause.value for pause in ReadPause)
_WAIT_FOR_OTHERS = RESPONSES | QUEUED | CLOSING | LOGIN
"""Pauses so long that the peer may close meanwhile, which `DisconnectPoll` finds out."""


class ReadingConnection(ManagedConnection, Protocol):
    """A connection that starts and stops reading."""

    info: ConnectionInfo

    def reading_stopped(self) -> None:
        """The first reason came up."""

    def go_on(self) -> None:
        """No reason is left, except maybe MEMORY: start the frames that waited, then read on."""


class ReadSwitch:
    """One connection's reasons not to read, and the timers that end them."""

    __slots__ = ("_connection", "_disconnects", "_is_lost", "_loop", "_throttle", "_transport", "pauses")

    def __init__(
        self,
        connection: ReadingConnection,
        transport: Transport,
        loop: asyncio.AbstractEventLoop,
        disconnects: DisconnectPoll,
    ) -> None:
        self._connection = connection
        self._transport = transport
        self._loop = loop
        self._disconnects = disconnects
        self._is_lost = False
        self._throttle: asyncio.TimerHandle | None = None
        self.pauses = 0
        """Bits of `ReadPause`."""

    def pause(self, reason: int) -> None:
        before = self.pauses
        self.pauses = before | reason
        if self._is_lost:
            return
        if not before:
            self._transport.pause_reading()
            self._connection.reading_stopped()
        if reason & _WAIT_FOR_OTHERS:
            self._disconnects.watch(self._connection)
        if self.pauses != before and logger.isEnabledFor(logging.DEBUG):
            logger.debug("Reading of %s is paused; all reasons now: %r", self._connection.info, ReadPause(self.pauses))

    def resume(self, reason: int) -> None:
        before = self.pauses
        if not before & reason:
            return
        self.pauses = left = before & ~reason
        if self._is_lost:
            return
        if not left & _WAIT_FOR_OTHERS:
            self._disconnects.forget(self._connection)
        if logger.isEnabledFor(logging.DEBUG):
            ended, others = ReadPause(reason), ReadPause(left)
            logger.debug("Reading of %s: %r ended; reasons left: %r", self._connection.info, ended, others)
        if not left & ~MEMORY:
            self._connection.go_on()

    def yield_to_others(self) -> None:
        """Go on in the next iteration of the loop."""
        if not self.pauses & QUEUED:
            self.pause(QUEUED)
            self._loop.call_soon(self.resume, QUEUED)

    def throttle(self, duration_s: float) -> None:
        """Read nothing for ``duration_s``; requests under way go on."""
        if self._throttle is not None:
            if self._throttle.when() >= self._loop.time() + duration_s:
                return
            self._throttle.cancel()
        self.pause(THROTTLED)
        self._throttle = self._loop.call_later(duration_s, self._end_throttle)

    def _end_throttle(self) -> None:
        self._throttle = None
        self.resume(THROTTLED)

    def close(self) -> None:
        """The connection is lost: drop the reference to it, so that it is freed without a garbage collection."""
        self.pauses |= CLOSING
        self._is_lost = True
        self._disconnects.forget(self._connection)
        if self._throttle is not None:
            self._throttle.cancel()
        del self._connection
