"""One metadata tree in memory, shared by the sessions of many brokers, each on an event loop in its own thread.

How: a lock protects the tree. An operation runs at once on the thread that starts it. Watch events and results are
posted to the owner of their session while the lock is held, so that each owner gets them in the order of the changes.
A session ends when its owner was silent for the session timeout. No thread waits for that: each owner calls
`MemoryTree.look_after` at intervals, which ends the sessions of silent owners, also its own.
Limits: 1 MiB of data a node, 256 MiB for all nodes, 10,000 sessions.
"""

import logging
import math
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Protocol, TypeVar

from ....base.quiet_lines import QUIET
from ..metadata_store import (
    Acl,
    Create,
    Delete,
    MetadataStoreError,
    Operation,
    OperationResult,
    SessionExpiredError,
    SetData,
    Stat,
    StoreFullError,
    StoreWriteError,
    Watch,
    WatchEvent,
)
from ..node_rights import ALL_RIGHTS, Identity, Permission, Rights, masked
from ..watches import WatchTable
from ..znode_tree import Applied, RowChange, ZnodeTree

__all__ = ["MemoryTree", "SessionOwner", "TreeSession"]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_MAX_DATA_BYTES = 0xFFFFF
"""The largest node in ZooKeeper, by its limit ``jute.maxbuffer`` for a request."""
_MAX_TREE_BYTES = 256 << 20
_MAX_SESSIONS = 10_000
_MAX_IDENTITIES = 100
_NO_IDENTITY = Rights()
_PASSWORD_BYTES = 16
_SHORTEST_MS, _LONGEST_MS = 1_000, 60_000
"""The session timeouts that are granted, as by a ZooKeeper whose tick is 500 ms."""


class SessionOwner(Protocol):
    """Gets the results and events of a session."""

    def post(self, call: Callable[[], object]) -> None:
        """Queue ``call`` for the owner's thread. Called from any thread under the tree's lock, so it must not wait."""

    def told(self, watch: Watch, event: WatchEvent) -> None:
        """A watch of the session fires; called on the owner's thread."""

    def expired(self) -> None:
        """The session is over; called on the owner's thread, after all earlier results and events."""


@dataclass(slots=True, eq=False)
class TreeSession:
    """A session as the tree sees it. Its fields belong to the tree's lock, except ids and timeout, which stay."""

    session_id: int
    password: bytes
    timeout_ms: int
    owner: SessionOwner | None
    """None after the owner left without ending the session."""
    heard_s: float
    watches: WatchTable = field(default_factory=WatchTable)
    rights: Rights = _NO_IDENTITY

    @property
    def expires_s(self) -> float:
        return self.heard_s + self.timeout_ms / 1000

    def post(self, call: Callable[[], object]) -> None:
        if self.owner is not None:
            self.owner.post(call)


class MemoryTree:
    """``clock_ms`` dates the nodes; ``now_s`` measures how long sessions are silent.

    ``noted`` gets the changed rows and the zxid of each write, under the lock; it must not wait.
    """

    def __init__(
        self,
        clock_ms: Callable[[], int],
        now_s: Callable[[], float] = monotonic,
        *,
        nodes: ZnodeTree | None = None,
        noted: Callable[[list[RowChange], int], None] | None = None,
    ) -> None:
        self.nodes = ZnodeTree() if nodes is None else nodes
        """Belongs to the lock: only for steps that `perform` runs."""
        self._clock_ms = clock_ms
        self.now_s = now_s
        self._noted = noted
        self._lock = threading.Lock()
        self._sessions: dict[int, TreeSession] = {}
        self._last_id = (clock_ms() << 16) & (2**62 - 1)  # a later tree with the same nodes gives other ids
        self._is_suspended = False

    # -- sessions

    def begin(self, timeout_ms: int, owner: SessionOwner, rights: Rights = _NO_IDENTITY) -> TreeSession:
        """A new session. ``timeout_ms`` is raised to a second, or lowered to a minute. ``rights``: by its address.

        Raises StoreFullError when there are too many.
        """
        with self._lock:
            self._end_silent_sessions()
            if len(self._sessions) >= _MAX_SESSIONS:
                raise StoreFullError(None, f"there are {_MAX_SESSIONS} sessions, no more are taken")
            self._last_id += 1
            granted_ms = min(max(timeout_ms, _SHORTEST_MS), _LONGEST_MS)
            password = secrets.token_bytes(_PASSWORD_BYTES)
            session = TreeSession(self._last_id, password, granted_ms, owner, self.now_s(), rights=rights)
            self._sessions[session.session_id] = session
            return session

    def resume(
        self, session_id: int, password: bytes, owner: SessionOwner, rights: Rights = _NO_IDENTITY
    ) -> TreeSession:
        """Give a session to a new owner with ``rights`` and without its watches. Raises SessionExpiredError."""
        with self._lock:
            self._end_silent_sessions()
            session = self._sessions.get(session_id)
            if session is None or not secrets.compare_digest(session.password, password):
                raise SessionExpiredError(None, "there is no such session")
            session.heard_s, session.owner = self.now_s(), owner
            session.watches, session.rights = WatchTable(), rights
            return session

    def leave(self, session: TreeSession, owner: SessionOwner) -> None:
        """Note that the owner is gone. The session stays until its timeout, unless it has another owner."""
        with self._lock:
            if session.owner is owner:
                session.owner = None
                session.watches.clear()

    def look_after(self, session: TreeSession) -> float | None:
        """Note that the session's owner lives, and end silent sessions. Returns the seconds until the next call is due;
        None if the session is over."""
        with self._lock:
            self._end_silent_sessions()
            if session.session_id not in self._sessions:
                return None
            session.heard_s = self.now_s()
            return min(session.timeout_ms / 4000, self._next_end_in_s())

    def sweep(self) -> float:
        """End silent sessions. Returns the seconds until the next session may be silent for too long."""
        with self._lock:
            self._end_silent_sessions()
            return self._next_end_in_s()

    def is_alive(self, session: TreeSession) -> bool:
        with self._lock:
            self._end_silent_sessions()
            return session.session_id in self._sessions

    def expire(self, session_id: int) -> None:
        """End a session before its timeout; its owner is told. Harmless when it is over."""
        with self._lock:
            self._expire(session_id)

    def owner_of(self, path: str) -> int:
        """The session of an ephemeral node; 0 if there is no such node, or it is none."""
        with self._lock:
            return self.nodes.stat(path).ephemeral_owner if self.nodes.contains(path) else 0

    def suspend(self) -> None:
        """Let no session expire until `unsuspend`; for the time in which no owner can reach the tree."""
        with self._lock:
            self._is_suspended = True

    def unsuspend(self) -> None:
        """All sessions have their whole timeout again, as after a restart of ZooKeeper."""
        with self._lock:
            self._is_suspended = False
            for session in self._sessions.values():
                session.heard_s = self.now_s()

    # -- operations

    def perform(
        self,
        session: TreeSession,
        step: Callable[[TreeSession], Result],
        answer: Callable[[Result | MetadataStoreError], None],
    ) -> None:
        """Run ``step`` now, under the lock, and post ``answer`` with its result or error to the session's owner.

        ``step`` calls the methods below; it gets the session, or fails with SessionExpiredError.
        """
        with self._lock:
            owner = session.owner
            outcome: Result | MetadataStoreError
            try:
                self._end_silent_sessions()
                if session.session_id not in self._sessions:
                    raise SessionExpiredError(None, "the session is over")
                session.heard_s = self.now_s()
                outcome = step(session)
            except MetadataStoreError as error:
                outcome = error
            if owner is not None:
                owner.post(partial(answer, outcome))

    def get(self, session: TreeSession, path: str, watch: Watch | None) -> tuple[bytes, Stat]:
        result = self.nodes.get(path)
        session.rights.check(path, self.nodes.acl(path), Permission.READ)
        if watch is not None:
            session.watches.watch_data(path, watch)
        return result

    def exists(self, session: TreeSession, path: str, watch: Watch | None) -> Stat | None:
        stat = self.nodes.stat(path) if self.nodes.contains(path) else None
        if stat is not None:
            session.rights.check(path, self.nodes.acl(path), Permission.READ)
        if watch is not None:
            session.watches.watch_data(path, watch)
        return stat

    def children(self, session: TreeSession, path: str, watch: Watch | None) -> list[str]:
        names = self.nodes.children(path)
        session.rights.check(path, self.nodes.acl(path), Permission.READ)
        if watch is not None:
            session.watches.watch_children(path, watch)
        return names

    def write(self, session: TreeSession, operations: Sequence[Operation]) -> list[OperationResult]:
        self._check_limits(operations)
        return self._apply(operations, session.session_id, session.rights)

    def acl(self, session: TreeSession, path: str) -> tuple[Acl, Stat]:
        acl, stat = self.nodes.acl(path), self.nodes.stat(path)
        session.rights.check(path, acl, Permission.READ | Permission.ADMIN)
        return acl if session.rights.may(acl, Permission.ADMIN) else masked(acl), stat

    def set_acl(self, session: TreeSession, path: str, acl: Acl, version: int) -> Stat:
        self._check_limits((), sum(len(entry.id) for entry in acl))
        self._publish(self.nodes.set_acl(path, acl, version, session.rights))
        return self.nodes.stat(path)

    def add_identity(self, session: TreeSession, identity: Identity) -> bool:
        """Count what the session's owner proved among its rights; False if it has proved too much."""
        known = session.rights.identities
        if identity in known:
            return True
        if len(known) >= _MAX_IDENTITIES:
            return False
        session.rights = Rights((*known, identity))
        return True

    def end(self, session: TreeSession) -> None:
        """End the session because its owner wishes it; the owner is not told."""
        del self._sessions[session.session_id]
        self._delete_ephemerals(session.session_id)

    def measure(self) -> tuple[int, int, int, int, int]:
        """The last zxid; the numbers of nodes, of ephemeral nodes and of watches; and the bytes of all nodes."""
        with self._lock:
            watches = sum(len(session.watches) for session in self._sessions.values())
            nodes = self.nodes
            return nodes.last_zxid, len(nodes), len(nodes.ephemerals()), watches, nodes.size_bytes

    # -- under the lock

    def _next_end_in_s(self) -> float:
        ends = [each.expires_s for each in self._sessions.values()]
        return max(min(ends, default=math.inf) - self.now_s(), 0.001)

    def _end_silent_sessions(self) -> None:
        if self._is_suspended:
            return
        now_s = self.now_s()
        for session in [each for each in self._sessions.values() if each.expires_s <= now_s]:
            self._expire(session.session_id)

    def _expire(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        self._delete_ephemerals(session_id)
        if session.owner is not None:
            session.owner.post(session.owner.expired)

    def _delete_ephemerals(self, session_id: int) -> None:
        """A session that is over has no watches any more, so they do not fire."""
        if paths := self.nodes.ephemerals(session_id):
            self._apply([Delete(path) for path in paths], session_id, ALL_RIGHTS)

    def _check_limits(self, operations: Sequence[Operation], more_bytes: int = 0) -> None:
        """Raises StoreWriteError, StoreFullError."""
        for operation in operations:
            if not isinstance(operation, Create | SetData):
                continue
            if len(operation.data) > _MAX_DATA_BYTES:
                reason = f"{len(operation.data)} bytes of data; a node takes {_MAX_DATA_BYTES} at most"
                raise self._refused(StoreWriteError(operation.path, reason))
            more_bytes += len(operation.data)
        if more_bytes and self.nodes.size_bytes + more_bytes > _MAX_TREE_BYTES:
            raise self._refused(StoreFullError(None, f"all nodes together may take {_MAX_TREE_BYTES >> 20} MiB"))

    def _refused(self, error: StoreWriteError) -> StoreWriteError:
        logger.warning("metadata store: a write is refused: %s", error, extra=QUIET)
        return error

    def _apply(self, operations: Sequence[Operation], session_id: int, rights: Rights) -> list[OperationResult]:
        applied = self.nodes.apply(operations, session_id, self._clock_ms(), rights)
        self._publish(applied)
        return applied.results

    def _publish(self, applied: Applied) -> None:
        if self._noted is not None and applied.rows:
            self._noted(applied.rows, applied.zxid)
        for session in self._sessions.values():
            for triggered in session.watches.trigger(applied.events):
                if session.owner is not None and session.rights.may(
                    self._acl_of(triggered.event.path, applied), Permission.READ
                ):
                    session.owner.post(partial(session.owner.told, triggered.watch, triggered.event))

    def _acl_of(self, path: str, applied: Applied) -> Acl:
        """The list of a node that exists or was just deleted."""
        if self.nodes.contains(path):
            return self.nodes.acl(path)
        return next(row.before.acl for row in applied.rows if row.path == path and row.before is not None)
