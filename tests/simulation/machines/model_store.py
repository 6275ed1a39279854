"""A session on the model of ZooKeeper: the `MetadataStore` of one simulated broker."""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pybroker.controller.tree.metadata_store import (
    ANY_VERSION,
    ConnectionLossError,
    Create,
    Delete,
    EventType,
    MetadataStore,
    MetadataStoreError,
    Operation,
    OperationResult,
    SessionEvent,
    SessionExpiredError,
    SetData,
    Stat,
    StoreClosedError,
    Watch,
    WatchEvent,
    check_path,
    created_path,
    new_stat,
    tell,
)
from simulation.machines.model_connection import ClientConnection, Perform, WatchedPaths

if TYPE_CHECKING:
    from simulation.machines.model_zookeeper import ModelZooKeeper, Session

__all__ = ["ModelStore"]

Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Request:
    perform: Perform
    future: "Future[Any] | None"
    armed: Callable[[Any], None] | None = None
    """Called with the result, to remember a watch."""
    is_read: bool = False
    """The request is repeated when its connection breaks."""

    def fail(self, error: MetadataStoreError) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)


class ModelStore(MetadataStore):
    """Created by `ModelZooKeeper.open`. Operations that start without a connection wait for one."""

    def __init__(self, server: "ModelZooKeeper", client: str, session_timeout_s: float) -> None:
        self.client = client
        self.session_timeout_s = session_timeout_s
        self.connection: ClientConnection | None = None
        self._server = server
        self._loop = server.loop
        self.context = copy_context()
        """The context of the owner, in which all its callbacks run."""
        self._session_id = 0
        self._seen_zxid = 0
        self._asked: deque[_Request] = deque()
        self._waiting: deque[_Request] = deque()
        self._is_connected = False
        self._reconnect: asyncio.TimerHandle | None = None
        self._end: MetadataStoreError | None = None
        self._silent_since_s: float | None = None
        """The time since which nothing comes from the server; None while it answers."""
        self._listeners: list[Callable[[SessionEvent], None]] = []
        self._opened: Future[None] = self._loop.create_future()
        # Ordered, so that nothing depends on hashes. `missing`: watches set by exists() on a missing node.
        self._data: dict[str, dict[Watch, None]] = {}
        self._missing: dict[str, dict[Watch, None]] = {}
        self._children: dict[str, dict[Watch, None]] = {}
        self._connect()

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def session_timeout_ms(self) -> int:
        return int(self.session_timeout_s * 1000)

    @property
    def is_session_lost(self) -> bool:
        if isinstance(self._end, SessionExpiredError):
            return True
        silent_since_s = self._silent_since_s
        return silent_since_s is not None and self._loop.time() - silent_since_s >= self.session_timeout_s

    @property
    def is_connected(self) -> bool:
        return self._is_connected

    async def connected(self) -> None:
        """Wait for the session to begin."""
        await asyncio.shield(self._opened)

    # -- operations

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        return self._write([Create(path, data, ephemeral, sequential)], created_path)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        return self._write([SetData(path, data, version)], new_stat)

    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        return self._write([Delete(path, version)], lambda _: None)

    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        return self._write(list(operations), lambda results: results)

    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        def read(session: "Session") -> tuple[bytes, Stat]:
            result = self._server.tree.get(path)
            if watch is not None and session.connection is not None:
                self._server.watch_data(path, session.connection.send_event)
            return result

        return self._start(read, _remember(self._data, path, watch), is_read=True)

    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        def read(session: "Session") -> Stat | None:
            check_path(path)
            if watch is not None and session.connection is not None:
                self._server.watch_data(path, session.connection.send_event)
            return self._server.tree.stat(path) if self._server.tree.contains(path) else None

        def remember(stat: Stat | None) -> None:
            if watch is not None:
                (self._missing if stat is None else self._data).setdefault(path, {})[watch] = None

        return self._start(read, remember, is_read=True)

    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        def read(session: "Session") -> list[str]:
            names = self._server.tree.children(path)
            if watch is not None and session.connection is not None:
                self._server.watch_children(path, session.connection.send_event)
            return names

        return self._start(read, _remember(self._children, path, watch), is_read=True)

    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        self._listeners.append(listener)

    async def close(self) -> None:
        """End the session. Without a connection it is left to expire."""
        if self._end is None:
            last = self._start(self._server.end_session)
            self._end = StoreClosedError(None, "the metadata store is closed")
            if not self._is_connected:
                self._fail(self._waiting, self._end)
            with suppress(MetadataStoreError):  # then the session expires
                await last
            self._leave()

    def kill(self) -> None:
        if self._end is None or self.connection is not None:
            self._end = SessionExpiredError(None, "the metadata store was killed")
            self._asked.clear()
            self._waiting.clear()
            self._leave()

    def _leave(self) -> None:
        self._listeners.clear()
        if self._reconnect is not None:
            self._reconnect.cancel()
            self._reconnect = None
        connection, self.connection = self.connection, None
        self._is_connected = False
        self._forget_watches()
        if connection is not None:
            connection.break_off()
        self._server.closed(self)

    # -- requests and answers

    def _write(
        self, operations: Sequence[Operation], result_of: Callable[[list[OperationResult]], Result]
    ) -> "Future[Result]":
        return self._start(lambda session: result_of(self._server.write(operations, session)))

    def _start(
        self,
        perform: Callable[["Session"], Result],
        armed: Callable[[Result], None] | None = None,
        *,
        is_read: bool = False,
    ) -> "Future[Result]":
        future: Future[Result] = self._loop.create_future()
        if self._end is not None:
            future.set_exception(self._end)
            return future
        request = _Request(perform, future, armed, is_read)
        if self._is_connected:
            self._ask(request)
        else:
            self._waiting.append(request)
        return future

    def _ask(self, request: _Request) -> None:
        assert self.connection is not None
        self._asked.append(request)
        self.connection.ask(request.perform, self._answered)

    def _answered(self, result: Any, zxid: int) -> None:
        request = self._asked.popleft()
        self._seen_zxid = zxid
        if isinstance(result, MetadataStoreError):
            request.fail(result)
            return
        if request.armed is not None:
            request.armed(result)
        if request.future is not None and not request.future.done():
            request.future.set_result(result)

    def _fail(self, requests: deque[_Request], error: MetadataStoreError) -> None:
        while requests:
            requests.popleft().fail(error)

    # -- watches

    def on_watch_event(self, connection: ClientConnection, event: WatchEvent) -> None:
        if connection is not self.connection:
            return
        told: dict[Watch, None] = {}
        if event.type is not EventType.CHILDREN_CHANGED:
            told |= self._missing.pop(event.path, {})
            told |= self._data.pop(event.path, {})
        if event.type in (EventType.CHILDREN_CHANGED, EventType.DELETED):
            told |= self._children.pop(event.path, {})
        for watch in told:
            tell(self._loop, watch, event)

    def _forget_watches(self) -> None:
        for table in (self._data, self._missing, self._children):
            table.clear()

    # -- the connection

    def _connect(self) -> None:
        """Ask for a new session, or for the previous one."""
        self._reconnect = None
        if self.connection is not None or isinstance(self._end, SessionExpiredError):
            return
        self.connection = connection = self._server.connect(self)
        if connection is None:
            return  # `reconnect_soon` is called when the server is reachable
        connection.requests.send(lambda: self._greeted(connection))

    def _greeted(self, connection: ClientConnection) -> None:
        """Runs at the server: the session begins, continues, or is found expired."""
        if not connection.is_open:
            return
        if not self._session_id:
            session_id = self._server.begin_session(connection, self.session_timeout_s)
            connection.answers.send(lambda: self._began(session_id))
            return
        try:
            self._server.take_up_session(connection, self._session_id)
        except SessionExpiredError as error:
            refusal = error
            connection.answers.send(lambda: self._expired(refusal))
        else:
            connection.answers.send(self._resumed)

    def _began(self, session_id: int) -> None:
        self._silent_since_s = None
        self._session_id = session_id
        self._is_connected = True
        if not self._opened.done():
            self._opened.set_result(None)
        self._ask_what_waits()

    def _resumed(self) -> None:
        assert self.connection is not None
        connection = self.connection
        self._is_connected = True
        self._silent_since_s = None
        watched = WatchedPaths(self._seen_zxid, list(self._data), list(self._missing), list(self._children))
        self._asked.append(_Request(lambda _: None, None))
        connection.ask(lambda _: self._server.set_watches(watched, connection), self._answered)
        self._tell(SessionEvent.CONNECTED)
        self._ask_what_waits()

    def _ask_what_waits(self) -> None:
        while self._waiting and self._is_connected:
            self._ask(self._waiting.popleft())

    def _expired(self, error: SessionExpiredError) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.forget()
        self._is_connected = False
        self._server.closed(self)
        self._forget_watches()
        self._end = error
        self._fail(self._waiting, error)
        self._tell(SessionEvent.EXPIRED)

    def on_silence(self, *, begins: bool) -> None:
        """Called when a silent cut begins or ends."""
        if not begins:
            self._silent_since_s = None
        elif self._silent_since_s is None:
            self._silent_since_s = self._loop.time()

    def on_connection_broken(self, connection: ClientConnection) -> None:
        if connection is not self.connection:
            return
        self.on_silence(begins=True)
        was_connected, self._is_connected, self.connection = self._is_connected, False, None
        again = [request for request in self._asked if request.is_read and self._end is None]
        for request in self._asked:
            if request not in again:
                request.fail(ConnectionLossError(None, "the connection broke before the response"))
        self._asked.clear()
        self._waiting.extendleft(reversed(again))
        if self._end is not None:
            return
        if was_connected:
            self._tell(SessionEvent.DISCONNECTED)
        self.reconnect_soon()

    def reconnect_soon(self) -> None:
        if self.connection is None and self._reconnect is None and self._end is None:
            self._reconnect = self._loop.call_later(self._server.delay_s() * 10, self._connect, context=self.context)

    def _tell(self, event: SessionEvent) -> None:
        for listener in list(self._listeners):
            self.context.copy().run(listener, event)


def _remember(table: dict[str, dict[Watch, None]], path: str, watch: Watch | None) -> Callable[[Any], None] | None:
    if watch is None:
        return None

    def remember(_result: Any) -> None:
        table.setdefault(path, {})[watch] = None

    return remember
