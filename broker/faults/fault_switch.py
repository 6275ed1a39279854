"""Puts the `FaultingDispatcher` in the place of a broker's dispatcher while faults are active, and takes it back.

Without faults the listeners call the plain dispatcher, so a broker that could have faults costs nothing.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from uuid import UUID

from ..network.connection import Connection
from ..network.listener import Listeners
from ..network.request import ConnectionInfo, ReplyPart
from ..requests.dispatch import Dispatcher
from .effects import RefuseConnections
from .fault import Fault
from .faulting_dispatcher import FaultingDispatcher
from .login_faults import LoginWithFaults

__all__ = ["FaultSwitch"]


class FaultSwitch:
    """One for each start of a broker. ``active``: the faults that are active now, in their order."""

    def __init__(
        self,
        listeners: Listeners,
        plain: Dispatcher,
        loop: asyncio.AbstractEventLoop,
        topic_name: Callable[[UUID], str | None],
        active: Callable[[], Sequence[Fault]],
        brokers_listener: str | None = None,
    ) -> None:
        """``brokers_listener``: see `FaultingDispatcher`."""
        self.listeners = listeners
        self._plain = plain
        self.loop = loop
        self._topic_name = topic_name
        self._active = active
        self._brokers_listener = brokers_listener
        self._faulting: FaultingDispatcher | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        listeners.gate_around = lambda info, gate: LoginWithFaults(info, gate, self.in_use)

    def changed(self) -> None:
        """The active faults are others now, or requests begin or end to wait. It may be called on any thread, and acts
        before it returns."""
        with self._lock:
            active = () if self._is_closed else self._active()
            refuses = any(isinstance(fault.effect, RefuseConnections) for fault in active)
            self.listeners.turn_away(self._refuse if refuses else None)
            faulting = self._faulting
            is_needed = any(not isinstance(fault.effect, RefuseConnections) for fault in active)
            if is_needed and faulting is None:
                self._faulting = faulting = FaultingDispatcher(
                    self._plain,
                    self._active,
                    self._topic_name,
                    self._break_connection,
                    self.changed,
                    self._brokers_listener,
                )
            is_used = faulting is not None and (is_needed or faulting.held_count > 0)
            self.listeners.handler = faulting if faulting is not None and is_used else self._plain

    def in_use(self) -> FaultingDispatcher | None:
        """The dispatcher that has taken the place of the plain one; None: requests go the usual way."""
        handler = self.listeners.handler
        return handler if isinstance(handler, FaultingDispatcher) else None

    def release(self, fault: Fault) -> None:
        """Start the requests that wait because of a fault that was removed."""
        faulting = self._faulting
        if faulting is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(faulting.release, fault)

    def close(self) -> None:
        """The broker ends. To be called on its loop."""
        self._is_closed = True
        if self._faulting is not None:
            self._faulting.release_all()
        self.changed()

    def _refuse(self, connection: Connection) -> bool:
        """Close a new connection, if a fault fires on it. Whether it was closed."""
        for fault in self._active():
            if isinstance(fault.effect, RefuseConnections) and fault.take():
                connection.reset()
                return True
        return False

    def _break_connection(
        self, connection: ConnectionInfo, parts: list[ReplyPart], after_bytes: int, *, is_reset: bool
    ) -> None:
        found = self.listeners.connection_of(connection)
        if found is not None:
            found.end_within(parts, after_bytes, is_reset=is_reset)
