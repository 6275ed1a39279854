"""A ZooKeeper in memory, for clusters on a loop of virtual time: one tree; sessions expire, connections break.

Messages between it and a client (`ClientConnection`) take a random time and keep their order in each direction.
- `cut`: both ends notice at once. The server still gets the first few requests in flight, a random number of them.
- `cut(silent=True)`: nothing arrives any more, and the client notices after two thirds of its session timeout. If the
  cut ends earlier, everything in flight arrives after all.
- `stop`: there is no server. When it starts again, all sessions have their full timeout, as in ZooKeeper.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from pybroker.controller.tree.metadata_store import (
    Delete,
    EventType,
    Operation,
    OperationResult,
    SessionExpiredError,
    Watch,
    WatchEvent,
)
from pybroker.controller.tree.watches import WatchTable
from pybroker.controller.tree.znode_tree import ZnodeTree
from simulation.machines.model_connection import ClientConnection, WatchedPaths
from simulation.machines.model_store import ModelStore

__all__ = ["ModelStore", "ModelZooKeeper", "Session"]

_FIRST_SESSION_ID = 0x0100_0000_0000_0000


@dataclass
class Session:
    """The server's state of one session."""

    session_id: int
    client: str
    timeout_s: float
    connection: ClientConnection | None = None
    expiry: asyncio.TimerHandle | None = None


class ModelZooKeeper:
    """The server and the network to it. Cuts are by client name and outlast the client's sessions."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        random: Random,
        clock_ms: Callable[[], int],
        *,
        latency_s: tuple[float, float] = (0.000_1, 0.002),
    ) -> None:
        self.loop = loop
        self.tree = ZnodeTree()
        self.latency_s = latency_s
        """The shortest and longest one-way delay of a message, in seconds. May be changed at any time."""
        self.fired: Counter[str] = Counter()
        """The number of times each fault happened."""
        self.on_expired: Callable[[str], None] = lambda client: None
        """Called with the client whose session has expired."""
        self._random = random
        self._clock_ms = clock_ms
        self._watches = WatchTable()
        self._sessions: dict[int, Session] = {}
        self._session_count = 0
        self._stores: list[ModelStore] = []
        self._cut: dict[str, bool] = {}
        self._is_stopped = False
        self._started_s = 0.0
        self._served_s = 0.0

    # -- for clients

    async def open(self, client: str = "client", *, session_timeout_ms: int = 18_000) -> ModelStore:
        """A new session; waits while ``client`` is cut off."""
        store = ModelStore(self, client, session_timeout_ms / 1000)
        self._stores.append(store)
        try:
            await store.connected()
        except BaseException:
            store.kill()
            raise
        return store

    def connect(self, store: ModelStore) -> ClientConnection | None:
        """A connection; None if the client cannot reach the server."""
        if self._is_stopped or store.client in self._cut:
            return None
        return ClientConnection(self, store)

    def delay_s(self) -> float:
        return self._random.uniform(*self.latency_s)

    def choose_arriving(self, under_way: int) -> int:
        arriving = self._random.randint(0, under_way)
        self.fired["lost connection: request carried out"] += arriving
        self.fired["lost connection: request lost"] += under_way - arriving
        return arriving

    def closed(self, store: ModelStore) -> None:
        """The client closed its session or connection."""
        if store in self._stores:
            self._stores.remove(store)

    # -- faults

    def cut(self, client: str, *, silent: bool = False) -> None:
        """Let nothing pass between ``client`` and the server until `heal`."""
        self.fired["silent cut" if silent else "cut"] += 1
        self._cut[client] = silent
        for connection in self._connections_of(client):
            if silent:
                connection.hold()
                if connection.session is not None:
                    self._let_expire(connection.session)
            else:
                connection.break_off()

    def heal(self, client: str) -> None:
        if self._cut.pop(client, None) is None:
            return
        for connection in self._connections_of(client):
            connection.release()
            if connection.session is not None:
                self._keep_alive(connection.session)
        self._have_reconnected(client)

    def is_cut(self, client: str) -> bool:
        return client in self._cut

    def connection_count(self, client: str) -> int:
        return len(self._connections_of(client))

    def drop_connection(self, client: str) -> None:
        """Break ``client``'s connection; it may connect again at once."""
        self.fired["dropped connection"] += 1
        for connection in self._connections_of(client):
            connection.break_off()
        self._have_reconnected(client)

    def stop(self) -> None:
        """Stop the server; the tree stays."""
        self.fired["server stopped"] += 1
        self._served_s, self._is_stopped = self.served_s, True
        for session in self._sessions.values():
            self._keep_alive(session)
        for store in list(self._stores):
            if store.connection is not None:
                store.connection.break_off()

    def start(self) -> None:
        if not self._is_stopped:
            return
        self._started_s, self._is_stopped = self.loop.time(), False
        for session in self._sessions.values():
            self._let_expire(session)
        for store in list(self._stores):
            store.reconnect_soon()

    def expire(self, session_id: int) -> None:
        """End a session as if it had timed out. Its client learns it at its next connection."""
        session = self._sessions.get(session_id)
        if session is None:
            return
        self.fired["session expired"] += 1
        connection = session.connection
        self._end(session)
        if connection is not None:
            connection.break_off()
            self._have_reconnected(connection.store.client)

    @property
    def served_s(self) -> float:
        """The total time for which the server was running, in seconds."""
        return self._served_s if self._is_stopped else self._served_s + self.loop.time() - self._started_s

    @property
    def live_sessions(self) -> list[int]:
        return list(self._sessions)

    def _connections_of(self, client: str) -> list[ClientConnection]:
        return [s.connection for s in self._stores if s.client == client and s.connection is not None]

    def _have_reconnected(self, client: str) -> None:
        for store in list(self._stores):
            if store.client == client:
                store.reconnect_soon()

    # -- sessions, as the server sees them

    def begin_session(self, connection: ClientConnection, timeout_s: float) -> int:
        self._session_count += 1
        session = Session(_FIRST_SESSION_ID + self._session_count, connection.store.client, timeout_s, connection)
        self._sessions[session.session_id] = session
        connection.session = session
        self.tree.last_zxid += 1
        return session.session_id

    def take_up_session(self, connection: ClientConnection, session_id: int) -> None:
        """Raises SessionExpiredError if the session has ended."""
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionExpiredError(None, "the session expired while its client was away")
        if session.connection is not None:
            session.connection.forget()
            session.connection.session = None
        session.connection = connection
        connection.session = session
        self._keep_alive(session)

    def end_session(self, session: Session) -> None:
        self._end(session)

    def connection_broke(self, connection: ClientConnection) -> None:
        """The connection stays the session's until another replaces it, because requests may still arrive on it."""
        if connection.session is not None and not self._is_stopped:
            self._let_expire(connection.session)

    def _let_expire(self, session: Session) -> None:
        """Start the session's timeout, because its connection is gone."""
        if session.expiry is None and session.session_id in self._sessions:
            session.expiry = self.loop.call_later(session.timeout_s, self._expired, session)

    def _keep_alive(self, session: Session) -> None:
        if session.expiry is not None:
            session.expiry.cancel()
            session.expiry = None

    def _expired(self, session: Session) -> None:
        self.fired["session expired"] += 1
        self.on_expired(session.client)
        self._end(session)

    def _end(self, session: Session) -> None:
        if self._sessions.pop(session.session_id, None) is None:
            return
        self._keep_alive(session)
        if session.connection is not None:
            session.connection.session = None
        mine = self.tree.ephemerals(session.session_id)
        if mine:
            self._apply([Delete(path) for path in mine], session.session_id)
        else:
            self.tree.last_zxid += 1

    # -- requests

    def write(self, operations: Sequence[Operation], session: Session) -> list[OperationResult]:
        return self._apply(operations, session.session_id)

    def watch_data(self, path: str, connection: Watch) -> None:
        self._watches.watch_data(path, connection)

    def watch_children(self, path: str, connection: Watch) -> None:
        self._watches.watch_children(path, connection)

    def set_watches(self, watched: WatchedPaths, connection: ClientConnection) -> None:
        """Set a client's watches again, and report the changes that it missed."""
        for path in watched.data:
            self._watch_again(path, connection, watched.seen_zxid)
        for path in watched.missing:
            if self.tree.contains(path):
                connection.send_event(WatchEvent(EventType.CREATED, path))
            else:
                self._watches.watch_data(path, connection.send_event)
        for path in watched.children:
            if not self.tree.contains(path):
                connection.send_event(WatchEvent(EventType.DELETED, path))
            elif self.tree.stat(path).pzxid > watched.seen_zxid:
                connection.send_event(WatchEvent(EventType.CHILDREN_CHANGED, path))
            else:
                self._watches.watch_children(path, connection.send_event)

    def _watch_again(self, path: str, connection: ClientConnection, seen_zxid: int) -> None:
        if not self.tree.contains(path):
            connection.send_event(WatchEvent(EventType.DELETED, path))
        elif self.tree.stat(path).mzxid > seen_zxid:
            connection.send_event(WatchEvent(EventType.DATA_CHANGED, path))
        else:
            self._watches.watch_data(path, connection.send_event)

    def _apply(self, operations: Sequence[Operation], session_id: int) -> list[OperationResult]:
        number = self.tree.last_zxid + 1
        try:
            applied = self.tree.apply(operations, session_id, self._clock_ms())
        finally:
            self.tree.last_zxid = number  # ZooKeeper gives refused operations a zxid, too
        for triggered in self._watches.trigger(applied.events):
            triggered.watch(triggered.event)
        return applied.results
