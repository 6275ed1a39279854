"""The SQLite file of the embedded store, and the thread that uses it."""

import asyncio
import errno
import logging
import os
import queue
import stat
import threading
from asyncio import Future
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.unusable_path import why_not_writable
from .metadata_store import (
    MetadataStoreError,
    StoreClosedError,
    StoreCorruptError,
    StoreFullError,
    StoreLockedError,
    StorePathError,
    StoreVersionError,
    StoreWriteError,
)
from .node_acl_table import VERSION_WITH_ACLS, read_acls, version_of, write_acls
from .znode_tree import RowChange, Znode, ZnodeTree

if TYPE_CHECKING:
    import sqlite3

__all__ = ["EmbeddedDatabase"]

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
_FIRST_SESSION = 1

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
    """Methods are called on the event loop, and results arrive there; the thread does the work, in order.

    On a full disk the file can be opened and read; writes fail with StoreFullError until there is space.
    ``is_durable``: whether a commit survives a power cut and a crash of the process. Without it, a new file is made by
    the first commit.
    """

    def __init__(self, path: Path, *, is_durable: bool = True) -> None:
        self._path = path
        self.is_durable = is_durable
        self._jobs: queue.SimpleQueue[Callable[[], bool]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_made = True
        self._is_closed = False
        self._unwritten_session: int | None = None
        self._read_up_to = -1

    def start(self, loop: asyncio.AbstractEventLoop, opened: "Future[tuple[ZnodeTree, int]]") -> None:
        self._loop = loop
        if self.is_durable or self._path.exists():
            self._begin(lambda: self._open(opened))
        else:
            self._is_made = False
            opened.set_result((ZnodeTree(), _FIRST_SESSION))

    def commit(self, rows: list[RowChange], zxid: int, done: Callable[[MetadataStoreError | None], None]) -> None:
        """Write ``rows`` and ``zxid`` as one transaction; ``done`` is called on the loop."""

        def job() -> bool:
            self._post(done, self._write(rows, zxid))
            return True

        if self._thread is None and not self._is_made:
            self._begin(job)
        else:
            self._jobs.put(job)

    def stop(self, stopped: "Future[None]") -> bool:
        """End the thread after its queued work; False if it was told before."""
        if self._thread is None:
            return False
        thread, self._thread = self._thread, None

        def joined() -> None:
            thread.join()  # it only has to return
            if not stopped.done():
                stopped.set_result(None)

        def job() -> bool:
            self._close()
            self._post(joined)
            return False

        self._jobs.put(job)
        return True

    def kill(self) -> None:
        """End the thread after the commit under way, and wait for it; the result is dropped."""
        if self._thread is None:
            return
        thread, self._thread = self._thread, None

        def job() -> bool:
            self._close()
            return False

        self._jobs.put(job)
        thread.join()

    def _begin(self, job: Callable[[], bool]) -> None:
        """Start the thread with a first job."""
        self._jobs.put(job)
        self._thread = threading.Thread(target=self._run, name="metadata-store", daemon=True)
        self._thread.start()

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
        self._is_closed = True
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, opened: "Future[tuple[ZnodeTree, int]]") -> bool:
        def tell(outcome: tuple[ZnodeTree, int] | MetadataStoreError) -> None:
            if isinstance(outcome, MetadataStoreError):
                self._thread = None
            if opened.done():  # the waiting task was cancelled
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
        import sqlite3  # here, so that a broker with ZooKeeper does not import it

        try:
            try:
                return self._begin_session(self._connect())
            except sqlite3.OperationalError as error:
                if not self._lacks_only_its_log(error):
                    raise
                self._disconnect()
                return self._read_without_log()
        except sqlite3.Error as error:
            raise _store_error(self._path, error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorruptError(str(self._path), f"not a metadata tree: {error}") from error

    def _connect(self) -> "sqlite3.Connection":
        import sqlite3

        _create_private(self._path)
        connection = sqlite3.connect(self._path, timeout=1.0, isolation_level=None)
        self._connection = connection
        # This mode goes first: without it the next statement would make an index in shared memory, a file that a full
        # disk has no room for.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.is_durable else 'OFF'}")
        connection.execute(f"PRAGMA journal_mode = {'WAL' if self.is_durable else 'MEMORY'}")
        return connection

    def _begin_session(self, connection: "sqlite3.Connection") -> tuple[ZnodeTree, int]:
        import sqlite3

        connection.execute("BEGIN IMMEDIATE")
        is_new = self._check_schema(connection)
        _hide_from_others(self._path, Path(f"{self._path}-wal"))
        connection.execute("UPDATE counter SET value = value + 1 WHERE name = 'session'")
        tree, session = _read_tree(connection)
        try:
            self._end_transaction(connection)
        except sqlite3.OperationalError as error:
            if is_new or not _is_full(error):
                raise
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._unwritten_session = session
        return tree, session

    def _end_transaction(self, connection: "sqlite3.Connection") -> None:
        connection.execute("COMMIT")

    def _make(self) -> "sqlite3.Connection":
        """Make the file of a tree that was new when it was opened."""
        connection = self._connect()
        self._begin_session(connection)
        self._is_made = True
        return connection

    def _lacks_only_its_log(self, error: "sqlite3.OperationalError") -> bool:
        """Whether only the write-ahead log cannot be created: XFS needs space even for a name. The log would be
        empty, so the database itself is complete."""
        if error.sqlite_errorname != "SQLITE_CANTOPEN" or not os.path.isfile(self._path):
            return False
        may_write = os.access(self._path, os.W_OK) and os.access(self._path.absolute().parent, os.W_OK)
        return may_write and not os.path.lexists(f"{self._path}-wal")

    def _read_without_log(self) -> tuple[ZnodeTree, int]:
        """Read without the log, which would exist if another process used the file. Writes connect again."""
        import sqlite3

        connection = sqlite3.connect(f"{self._path.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None)
        try:
            if self._check_schema(connection):
                raise StoreFullError(str(self._path), "the metadata store cannot be written: no space for its log")
            tree, session = _read_tree(connection)
        finally:
            connection.close()
        self._read_up_to = tree.last_zxid
        self._unwritten_session = session + 1
        return tree, session + 1

    def _reconnect(self) -> "sqlite3.Connection":
        """Connect again for writing, after the file could only be read."""
        import sqlite3

        try:
            connection = self._connect()
            (zxid,) = connection.execute("SELECT value FROM counter WHERE name = 'zxid'").fetchone()
        except sqlite3.OperationalError as error:
            self._disconnect()
            if self._lacks_only_its_log(error):
                raise StoreFullError(str(self._path), "the metadata store cannot be written: no space") from error
            raise
        if zxid != self._read_up_to:
            raise StoreCorruptError(str(self._path), "another process has written to this metadata store")
        return connection

    def _check_schema(self, connection: "sqlite3.Connection") -> bool:
        """Whether the database is new. Raises StoreCorruptError."""
        version = version_of(connection)
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables == 0 and version == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            return True
        if version not in (SCHEMA_VERSION, VERSION_WITH_ACLS):
            raise StoreVersionError(
                str(self._path), f"has a metadata tree of version {version}, this pybroker reads {VERSION_WITH_ACLS}"
            )
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise StoreCorruptError(str(self._path), f"the database is damaged: {verdict}")
        return False

    def _write(self, rows: list[RowChange], zxid: int) -> MetadataStoreError | None:
        import sqlite3

        if self._is_closed:
            return StoreClosedError(None, "the metadata store is closed")
        connection = self._connection
        try:
            if connection is None:
                connection = self._reconnect() if self._is_made else self._make()
            self._write_rows(connection, rows, zxid)
        except MetadataStoreError as error:
            return error
        except sqlite3.Error as error:
            try:
                if connection is not None and connection.in_transaction:
                    connection.execute("ROLLBACK")
            except sqlite3.Error:
                logger.exception("metadata store: rollback failed")
                return StoreCorruptError(str(self._path), f"{error}; its rollback failed too")
            return _store_error(self._path, error)
        self._unwritten_session = None
        return None

    def _write_rows(self, connection: "sqlite3.Connection", rows: list[RowChange], zxid: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT OR REPLACE INTO znode VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_row(change.path, change.after) for change in rows if change.after is not None],
        )
        connection.executemany(
            "DELETE FROM znode WHERE path = ?", [(change.path,) for change in rows if change.after is None]
        )
        write_acls(connection, rows)
        connection.execute("UPDATE counter SET value = ? WHERE name = 'zxid'", (zxid,))
        if self._unwritten_session is not None:
            connection.execute("UPDATE counter SET value = ? WHERE name = 'session'", (self._unwritten_session,))
        connection.execute("COMMIT")


def _create_private(path: Path) -> None:
    """The file contains keys of users, so it is for this user only. SQLite gives its log the same mode."""
    with suppress(OSError):  # it exists, or SQLite will say why it cannot
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _hide_from_others(*paths: Path) -> None:
    """Files of an earlier pybroker could be read by everyone."""
    for path in paths:
        with suppress(OSError):  # another user owns it
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & stat.S_IRWXO:
                path.chmod(mode & ~stat.S_IRWXO)


def _read_tree(connection: "sqlite3.Connection") -> tuple[ZnodeTree, int]:
    """The tree, and the number of the last session."""
    counters = dict(connection.execute("SELECT name, value FROM counter"))
    rows = connection.execute(
        "SELECT path, data, czxid, mzxid, pzxid, ctime_ms, mtime_ms, version, children_created, ephemeral_owner"
        " FROM znode"
    )
    acls = read_acls(connection)
    nodes = [(row[0], Znode(*row[1:], *acls.get(row[0], ()))) for row in rows]
    return ZnodeTree(nodes, counters["zxid"]), counters["session"]


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


def _is_full(error: "sqlite3.Error") -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"


def _store_error(path: Path, error: "sqlite3.Error") -> MetadataStoreError:
    """The MetadataStoreError for an error of SQLite, with a plain message."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLockedError(str(path), "another process uses this metadata store")
    # SQLite reports a file without permission as an I/O error, or in other words that name no reason.
    obstacle = _obstacle(path)
    if obstacle is not None and name.startswith(("SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_PERM")):
        return StorePathError(str(path), f"the metadata store cannot be opened: {obstacle}")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and _has_no_room(path):
        text = "no space left for another file: no inodes are left, or a quota is used up"
        return StoreFullError(str(path), f"the metadata store cannot be written: {text}")
    if name in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or name.startswith(("SQLITE_CORRUPT_", "SQLITE_IOERR")):
        return StoreCorruptError(str(path), f"the metadata store cannot be read: {error}")
    if name.startswith("SQLITE_CANTOPEN"):
        return StorePathError(str(path), f"the metadata store cannot be opened: {error}")
    kind = StoreFullError if _is_full(error) else StoreWriteError
    return kind(str(path), f"the metadata store cannot be written: {error}")


def _obstacle(path: Path) -> str | None:
    """The reason why this process cannot use the files, which SQLite does not give; None when there is none."""
    if (why := why_not_writable(str(path))) is not None:
        return why
    for log in (f"{path}-wal", f"{path}-shm", f"{path}-journal"):
        if os.path.lexists(log) and (why := why_not_writable(log)) is not None:
            return f"its log {log} cannot be used: {why}"
    return why_not_writable(f"{path}-wal")  # which SQLite makes, with the others, beside a file that exists


def _has_no_room(path: Path) -> bool:
    """Whether the directory of the store takes no other file. SQLite gives no reason when it cannot create its own."""
    from tempfile import TemporaryFile

    try:
        TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return False
