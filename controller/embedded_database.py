"""The SQLite file of the embedded store, and the one thread that uses it."""

import asyncio
import logging
import os
import queue
import threading
from asyncio import Future
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .metadata_store import (
    MetadataStoreError,
    StoreClosedError,
    StoreCorruptError,
    StoreLockedError,
    StoreWriteError,
)
from .znode_tree import RowChange, Znode, ZnodeTree

if TYPE_CHECKING:
    import sqlite3

__all__ = ["EmbeddedDatabase"]

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


class EmbeddedDatabase:
    """Methods are called on the event loop and answered there; the work is done in the thread, in order."""

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
            self._post(done, self._write(rows, zxid))
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
            self._close()
            self._post(joined)
            return False

        self._jobs.put(job)
        return True

    def kill(self) -> None:
        """Have the thread finish with the commit under way, and wait for it; its outcome is told to nobody."""
        if self._thread is None:
            return
        thread, self._thread = self._thread, None

        def job() -> bool:
            self._close()
            return False

        self._jobs.put(job)
        thread.join()

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

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, opened: "Future[tuple[ZnodeTree, int]]") -> bool:
        def tell(outcome: tuple[ZnodeTree, int] | MetadataStoreError) -> None:
            if isinstance(outcome, MetadataStoreError):
                self._thread = None
            if opened.done():  # who waited was cancelled
                return
            if isinstance(outcome, MetadataStoreError):
                opened.set_exception(outcome)
            else:
                opened.set_result(outcome)

        try:
            outcome = self._load()
        except MetadataStoreError as error:
            self._close()
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

    def _write(self, rows: list[RowChange], zxid: int) -> MetadataStoreError | None:
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
    if name == "SQLITE_CANTOPEN":
        return StoreWriteError(str(path), f"the metadata store cannot be opened: {_why_not_opened(path)}")
    return StoreWriteError(str(path), f"the metadata store cannot be written: {error}")


def _why_not_opened(path: Path) -> str:
    """SQLite does not tell."""
    directory = path.absolute().parent  # os.path does not raise where it may not look
    if not os.path.isdir(directory):
        return f"there is no directory {directory}"
    if os.path.isdir(path):
        return "it is a directory"
    place = path if os.path.exists(path) else directory
    if not os.access(place, os.W_OK | (os.X_OK if place is directory else 0)):
        return f"no permission to write {'into ' if place is directory else ''}{place}"
    return "unable to open database file"
