"""A client's connection to the model of ZooKeeper: messages in flight keep their order, and may never arrive."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pybroker.controller.tree.metadata_store import MetadataStoreError, WatchEvent

if TYPE_CHECKING:
    from simulation.machines.model_store import ModelStore
    from simulation.machines.model_zookeeper import ModelZooKeeper, Session

__all__ = ["ClientConnection", "Perform", "WatchedPaths"]

Perform = Callable[["Session"], Any]
"""The work of a request at the server."""


@dataclass
class WatchedPaths:
    """The watches that a client had when its connection broke (ZooKeeper's SetWatches)."""

    seen_zxid: int
    data: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)


class _Pipe:
    """One direction of a connection: messages arrive in order, each after a random delay."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, delay_s: Callable[[], float], context: Context | None = None
    ) -> None:
        self._loop = loop
        self._context = context  # the receiver's context, in which messages arrive
        self._delay_s = delay_s
        self._under_way: deque[tuple[float, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_held = False

    def __len__(self) -> int:
        return len(self._under_way)

    def send(self, arrive: Callable[[], None]) -> None:
        earliest = self._under_way[-1][0] if self._under_way else 0.0
        self._under_way.append((max(earliest, self._loop.time() + self._delay_s()), arrive))
        self._arm()

    def hold(self) -> None:
        """Deliver nothing until `release`."""
        self._is_held = True
        self._disarm()

    def release(self) -> None:
        self._is_held = False
        self._arm()

    def drop_behind(self, count: int) -> None:
        """Deliver only the first ``count`` messages in flight."""
        while len(self._under_way) > count:
            self._under_way.pop()
        self._is_held = False
        self._disarm()
        self._arm()

    def _arm(self) -> None:
        # One timer, for the first message: a loop does not keep the order of timers of equal time.
        if self._under_way and self._timer is None and not self._is_held:
            self._timer = self._loop.call_at(self._under_way[0][0], self._arrived, context=self._context)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arrived(self) -> None:
        self._timer = None
        _, arrive = self._under_way.popleft()
        arrive()
        self._arm()


class ClientConnection:
    """A client's connection to the server: requests in one direction, responses and events in the other."""

    def __init__(self, server: "ModelZooKeeper", store: "ModelStore") -> None:
        self.server = server
        self.store = store
        self.is_open = True
        self.session: Session | None = None
        self.requests = _Pipe(server.loop, server.delay_s)
        self.answers = _Pipe(server.loop, server.delay_s, store.context)
        self._notice: asyncio.TimerHandle | None = None

    def ask(self, perform: Perform, answer: Callable[[Any, int], None]) -> None:
        """Have the server run ``perform``; ``answer`` gets the result or the raised error, and the last zxid."""
        self.requests.send(lambda: self._perform(perform, answer))

    def send_event(self, event: WatchEvent) -> None:
        """Called for a watch in the server's table."""
        if self.is_open:
            self.answers.send(lambda: self.store.on_watch_event(self, event))

    def hold(self) -> None:
        """Start a silent cut: the client notices it after two thirds of its session timeout."""
        if self._notice is not None:
            return
        self.requests.hold()
        self.answers.hold()
        self.store.on_silence(begins=True)
        self._notice = self.server.loop.call_later(self.store.session_timeout_s * 2 / 3, self.break_off)

    def release(self) -> None:
        """End a silent cut that nobody noticed."""
        if self._notice is not None:
            self._notice.cancel()
            self._notice = None
            self.store.on_silence(begins=False)
            self.requests.release()
            self.answers.release()

    def break_off(self) -> None:
        """Both ends notice the break; a random number of the requests in flight still arrive."""
        if not self.is_open:
            return
        self.is_open = False
        if self._notice is not None:  # no message arrives during a silent cut
            self._notice.cancel()
            self._notice = None
            self.requests.drop_behind(0)
        self.requests.drop_behind(self.server.choose_arriving(len(self.requests)))
        self.answers.drop_behind(0)
        self.server.connection_broke(self)
        self.store.on_connection_broken(self)

    def forget(self) -> None:
        """The server accepts nothing more from this connection."""
        self.is_open = False
        if self._notice is not None:
            self._notice.cancel()
        self.requests.drop_behind(0)
        self.answers.drop_behind(0)

    def _perform(self, perform: Perform, answer: Callable[[Any, int], None]) -> None:
        session = self.session
        if session is None:
            return  # the session ended before this request came
        try:
            result = perform(session)
        except MetadataStoreError as error:
            result = error
        zxid = self.server.tree.last_zxid
        if self.is_open:
            self.answers.send(lambda: answer(result, zxid))
