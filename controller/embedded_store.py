"""The metadata tree in a SQLite file: one broker, nothing else to start.

The tree lives in memory, on the event loop (`znode_tree.py`): an operation is decided there the moment it is started.
What it changes is queued as rows for a thread of our own, which commits everything that queued up while it was busy as
one transaction (``synchronous=FULL``: the commit is on disk when it returns). Then the loop delivers, in order, watch
events and results. Memory is therefore at most one batch ahead of the disk; when a commit fails, the batch and all
behind it are taken back and fail.

The file is held exclusively (a second broker gets StoreLockedError), which also keeps SQLite from mapping a writable
``-shm`` file. zxids go on where the file left them; ephemeral nodes of earlier sessions go when it is opened.
"""

import asyncio
import logging
import queue
import threading
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .metadata_store import (
    ANY_VERSION,
    Create,
    CreateResult,
    Delete,
    MetadataStore,
    MetadataStoreError,
    Operation,
    OperationResult,
    SessionEvent,
    SessionExpiredError,
    SetData,
    SetDataResult,
    Stat,
    StoreClosedError,
    StoreCorruptError,
    StoreLockedError,
    StoreWriteError,
    Watch,
    check_path,
)
from .watches import TriggeredWatch, WatchTable
from .znode_tree import Applied, RowChange, Znode, ZnodeTree

if TYPE_CHECKING:
    import sqlite3

__all__ = ["EmbeddedStore"]

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1

_SCHEMA = f"""
CREATE TABLE znode (
    path TEXT PRIMARY KEY NOT NULL, data BLOB NOT NULL,
    czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL, pzxid INTEGER NOT NULL,
    ctime_ms INTEGER NOT NULL, mtime_ms INTEGER NOT NULL,
    version INTEGER NOT NULL, children_created INTEGER NOT NULL, ephemeral_owner INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE counter (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter VALUES ('zxid', 0), ('session', 0);
PRAGMA user_version = {SCHEMA_VERSION};
"""

Result = TypeVar("Result")


@dataclass(slots=True)
class _Pending:
    """An operation that was decided and waits for its turn to be told. Reads have nothing applied."""

    complete: Callable[[], None]
    fail: Callable[[MetadataStoreError], None]
    applied: Applied | None = None
    triggered: list[TriggeredWatch] = field(default_factory=list)


class EmbeddedStore(MetadataStore):
    """Open with `EmbeddedStore.open`. One object is one session."""

    def __init__(self, database: "_Database", tree: ZnodeTree, session_id: int, clock_ms: Callable[[], int]) -> None:
        self._database = database
        self._tree = tree
        self._session_id = session_id
        self._clock_ms = clock_ms
        self._loop = asyncio.get_running_loop()
        self._watches = WatchTable()
        self._listeners: list[Callable[[SessionEvent], None]] = []
        self._queued: deque[_Pending] = deque()
        self._committing: list[_Pending] = []
        self._commit_scheduled = False
        self._end: MetadataStoreError | None = None

    @classmethod
    async def open(cls, path: Path, clock_ms: Callable[[], int]) -> "EmbeddedStore":
        """Open or create the file at ``path``. StoreCorruptError, StoreLockedError, StoreWriteError."""
        database = _Database(path)
        loop = asyncio.get_running_loop()
        opened: Future[tuple[ZnodeTree, int]] = loop.create_future()
        database.start(loop, opened)
        tree, session_id = await opened
        store = cls(database, tree, session_id, clock_ms)
        stale = tree.ephemerals()
        if stale:
            await store.multi([Delete(node) for node in stale])
        return store

    @property
    def session_id(self) -> int:
        return self._session_id

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        def path_of(results: list[OperationResult]) -> str:
            (result,) = results
            assert isinstance(result, CreateResult)
            return result.path

        return self._write([Create(path, data, ephemeral, sequential)], path_of)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        def stat_of(results: list[OperationResult]) -> Stat:
            (result,) = results
            assert isinstance(result, SetDataResult)
            return result.stat

        return self._write([SetData(path, data, version)], stat_of)

    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        return self._write([Delete(path, version)], lambda _: None)

    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        return self._write(operations, lambda results: results)

    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        def read() -> tuple[bytes, Stat]:
            result = self._tree.get(path)
            if watch is not None:
                self._watches.watch_data(path, watch)
            return result

        return self._read(read)

    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        def read() -> Stat | None:
            check_path(path)
            if watch is not None:
                self._watches.watch_data(path, watch)
            return self._tree.stat(path) if self._tree.contains(path) else None

        return self._read(read)

    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        def read() -> list[str]:
            names = self._tree.children(path)
            if watch is not None:
                self._watches.watch_children(path, watch)
            return names

        return self._read(read)

    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        self._listeners.append(listener)

    async def close(self) -> None:
        """End the session: ephemeral nodes go, the file is closed. A second close does nothing."""
        if self._end is None:
            mine = self._tree.ephemerals(self._session_id)
            self._watches.clear()
            last = self.multi([Delete(path) for path in mine])
            self._end = StoreClosedError(None, "the metadata store is closed")
            try:
                await last
            except MetadataStoreError as error:
                logger.warning("metadata store: the session could not be ended: %s", error)
        await self._stop_thread()

    async def abandon(self) -> None:
        """Let go of the file as a crash does: what is not committed is lost, ephemeral nodes stay in the file."""
        self._fail_everything(SessionExpiredError(None, "the metadata store was abandoned"))
        await self._stop_thread()

    async def _stop_thread(self) -> None:
        stopped: Future[None] = self._loop.create_future()
        if self._database.stop(stopped):
            await stopped

    # -- deciding, on the loop

    def _read(self, read: Callable[[], Result]) -> "Future[Result]":
        future: Future[Result] = self._loop.create_future()
        if self._end is not None:
            future.set_exception(self._end)
            return future
        try:
            result = read()
        except MetadataStoreError as error:
            self._enqueue(_refusal(future, error))
        else:
            self._enqueue(_answer(future, result))
        return future

    def _write(
        self, operations: Sequence[Operation], result_of: Callable[[list[OperationResult]], Result]
    ) -> "Future[Result]":
        future: Future[Result] = self._loop.create_future()
        if self._end is not None:
            future.set_exception(self._end)
            return future
        try:
            applied = self._tree.apply(operations, self._session_id, self._clock_ms())
        except MetadataStoreError as error:
            self._enqueue(_refusal(future, error))
        else:
            pending = _answer(future, result_of(applied.results))
            pending.applied = applied
            pending.triggered = self._watches.trigger(applied.events)
            self._enqueue(pending)
        return future

    def _enqueue(self, pending: _Pending) -> None:
        nothing_to_write = pending.applied is None or not pending.applied.rows
        if nothing_to_write and not self._queued and not self._committing:
            pending.complete()
            return
        self._queued.append(pending)
        if not self._commit_scheduled and not self._committing:
            # Not at once: what else is started in this turn of the loop shall share the commit.
            self._commit_scheduled = True
            self._loop.call_soon(self._commit)

    # -- committing

    def _commit(self) -> None:
        self._commit_scheduled = False
        if not self._queued or self._committing:
            return
        self._committing = list(self._queued)
        self._queued.clear()
        rows: dict[str, RowChange] = {}
        for pending in self._committing:
            for change in pending.applied.rows if pending.applied else ():
                rows[change.path] = change
        self._database.commit(list(rows.values()), self._tree.last_zxid, self._committed)

    def _committed(self, error: MetadataStoreError | None) -> None:
        if error is not None:
            self._take_back(error)
            return
        for pending in self._committing:
            self._deliver(pending.triggered)
            pending.complete()
        self._committing = []  # only now: what a watch just started must not be answered before the rest of these
        if self._queued and not self._commit_scheduled:
            self._commit()

    def _deliver(self, triggered: list[TriggeredWatch]) -> None:
        for entry in triggered:
            try:
                entry.watch(entry.event)
            except Exception as error:
                # A watch only posts an event. One that raises is a bug, and must not cost others their results.
                self._loop.call_exception_handler(
                    {"message": f"watch on {entry.event.path} raised", "exception": error}
                )

    def _take_back(self, error: MetadataStoreError) -> None:
        """The commit failed: undo what memory is ahead of the disk, newest first, and tell its owners."""
        logger.error("metadata store: commit failed: %s", error)
        unwritten = [*self._committing, *self._queued]
        self._committing = []
        self._queued.clear()
        for pending in reversed(unwritten):
            if pending.applied is not None:
                self._tree.undo(pending.applied)
                self._watches.restore(pending.triggered)
        if not isinstance(error, StoreWriteError):
            self._fail_everything(SessionExpiredError(None, f"the metadata store failed: {error}"))
        for pending in unwritten:
            pending.fail(error)

    def _fail_everything(self, error: MetadataStoreError) -> None:
        if self._end is not None:
            return
        self._end = error
        for pending in [*self._committing, *self._queued]:
            pending.fail(error)
        self._committing = []
        self._queued.clear()
        self._watches.clear()
        for listener in self._listeners:
            listener(SessionEvent.EXPIRED)


def _answer(future: "Future[Result]", result: Result) -> _Pending:
    def complete() -> None:
        if not future.done():
            future.set_result(result)

    return _Pending(complete, _failing(future))


def _refusal(future: "Future[Any]", error: MetadataStoreError) -> _Pending:
    def complete() -> None:
        if not future.done():
            future.set_exception(error)

    return _Pending(complete, _failing(future))


def _failing(future: "Future[Any]") -> Callable[[MetadataStoreError], None]:
    def fail(error: MetadataStoreError) -> None:
        if not future.done():
            future.set_exception(error)

    return fail


class _Database:
    """The SQLite connection and the one thread that uses it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[Callable[[], bool]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: sqlite3.Connection | None = None

    def start(self, loop: asyncio.AbstractEventLoop, opened: "Future[tuple[ZnodeTree, int]]") -> None:
        self._loop = loop
        self._jobs.put(lambda: self._open(opened))
        self._thread = threading.Thread(target=self._run, name="metadata-store", daemon=True)
        self._thread.start()

    def commit(self, rows: list[RowChange], zxid: int, done: Callable[[MetadataStoreError | None], None]) -> None:
        """Write ``rows`` and ``zxid`` as one transaction; ``done`` is called on the loop."""

        def job() -> bool:
            self._post(done, self._commit(rows, zxid))
            return True

        self._jobs.put(job)

    def stop(self, stopped: "Future[None]") -> bool:
        """Have the thread finish; False when it has been told before."""
        if self._thread is None:
            return False
        thread, self._thread = self._thread, None

        def joined() -> None:
            thread.join()  # it has nothing left to do but return
            if not stopped.done():
                stopped.set_result(None)

        def job() -> bool:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._post(joined)
            return False

        self._jobs.put(job)
        return True

    # -- in the thread

    def _run(self) -> None:
        while self._jobs.get()():
            pass

    def _post(self, callback: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            logger.debug("metadata store: the event loop is gone")

    def _open(self, opened: "Future[tuple[ZnodeTree, int]]") -> bool:
        def tell(outcome: tuple[ZnodeTree, int] | MetadataStoreError) -> None:
            if isinstance(outcome, MetadataStoreError):
                self._thread = None
                opened.set_exception(outcome)
            else:
                opened.set_result(outcome)

        try:
            outcome = self._load()
        except MetadataStoreError as error:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._post(tell, error)
            return False
        self._post(tell, outcome)
        return True

    def _load(self) -> tuple[ZnodeTree, int]:
        import sqlite3  # here, so that a broker on ZooKeeper does not pay for it

        try:
            connection = sqlite3.connect(self._path, timeout=1.0, isolation_level=None)
            self._connection = connection
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            self._check_schema(connection)
            connection.execute("UPDATE counter SET value = value + 1 WHERE name = 'session'")
            counters = dict(connection.execute("SELECT name, value FROM counter"))
            rows = connection.execute(
                "SELECT path, data, czxid, mzxid, pzxid, ctime_ms, mtime_ms, version, children_created,"
                " ephemeral_owner FROM znode"
            )
            nodes = [(row[0], Znode(*row[1:])) for row in rows]
            connection.execute("COMMIT")
            return ZnodeTree(nodes, counters["zxid"]), counters["session"]
        except sqlite3.Error as error:
            raise _store_error(self._path, error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorruptError(str(self._path), f"not a metadata tree: {error}") from error

    def _check_schema(self, connection: "sqlite3.Connection") -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables == 0 and version == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            return
        if version != SCHEMA_VERSION:
            raise StoreCorruptError(
                str(self._path), f"holds a metadata tree of version {version}, this pybroker reads {SCHEMA_VERSION}"
            )
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise StoreCorruptError(str(self._path), f"the database is damaged: {verdict}")

    def _commit(self, rows: list[RowChange], zxid: int) -> MetadataStoreError | None:
        import sqlite3

        connection = self._connection
        if connection is None:
            return StoreClosedError(None, "the metadata store is closed")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT OR REPLACE INTO znode VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [_row(change.path, change.after) for change in rows if change.after is not None],
            )
            connection.executemany(
                "DELETE FROM znode WHERE path = ?", [(change.path,) for change in rows if change.after is None]
            )
            connection.execute("UPDATE counter SET value = ? WHERE name = 'zxid'", (zxid,))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except sqlite3.Error:
                logger.exception("metadata store: rollback failed")
                return StoreCorruptError(str(self._path), f"{error}; its rollback failed too")
            return _store_error(self._path, error)
        return None


def _row(path: str, node: Znode) -> tuple[object, ...]:
    return (
        path,
        node.data,
        node.czxid,
        node.mzxid,
        node.pzxid,
        node.ctime_ms,
        node.mtime_ms,
        node.version,
        node.children_created,
        node.ephemeral_owner,
    )


def _store_error(path: Path, error: "sqlite3.Error") -> MetadataStoreError:
    """SQLite's error as one of ours, with a line an operator understands."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLockedError(str(path), "another process uses this metadata store")
    if name in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or name.startswith(("SQLITE_CORRUPT_", "SQLITE_IOERR")):
        return StoreCorruptError(str(path), f"the metadata store cannot be read: {error}")
    return StoreWriteError(str(path), f"the metadata store cannot be written: {error}")
