"""The metadata tree in a SQLite file, for a single broker.

How: the tree is in memory on the event loop (`znode_tree.py`), which executes an operation at once. A thread commits
the changed rows that have queued up, as one transaction (``synchronous=FULL``: on disk when it returns). Then the loop
delivers watch events and results, in order. If a commit fails, its operations and those queued behind it are undone and
fail. At a start on a full disk, changes are kept in memory (held back) until there is space. The file is locked
exclusively (StoreLockedError for a second broker), which also keeps SQLite from mapping a writable ``-shm`` file. zxids
continue those of the file. Opening it deletes the ephemeral nodes of earlier sessions.
"""

import asyncio
import logging
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .embedded_database import EmbeddedDatabase
from .later_commits import LaterCommits
from .metadata_store import (
    ANY_VERSION,
    Create,
    Delete,
    MetadataStore,
    MetadataStoreError,
    Operation,
    OperationResult,
    SessionEvent,
    SessionExpiredError,
    SetData,
    Stat,
    StoreClosedError,
    StoreFullError,
    StoreWriteError,
    Watch,
    check_path,
    created_path,
    new_stat,
    tell,
)
from .watches import TriggeredWatch, WatchTable
from .znode_tree import Applied, RowChange, ZnodeTree

__all__ = ["EmbeddedStore"]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_RETRY_SECONDS = 2.0


@dataclass(slots=True)
class _Pending:
    """An executed operation whose result was not delivered yet. Reads have no changes."""

    complete: Callable[[], None]
    fail: Callable[[MetadataStoreError], None]
    applied: Applied | None = None
    triggered: list[TriggeredWatch] = field(default_factory=list)


class EmbeddedStore(MetadataStore):
    """Open with `EmbeddedStore.open`. One object is one session."""

    def __init__(
        self,
        database: EmbeddedDatabase,
        tree: ZnodeTree,
        session_id: int,
        clock_ms: Callable[[], int],
        *,
        starts_broker: bool,
        drops_data: Callable[[], bool],
    ) -> None:
        self._database = database
        self._later = None if database.is_durable else LaterCommits(database, self._not_written, drops_data)
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
        self._is_starting = starts_broker
        self._held_back: dict[str, RowChange] = {}
        self._complaint: str | None = None
        """Why the last commit failed; logged once, not for each request that fails with it."""

    @classmethod
    async def open(
        cls,
        path: Path,
        clock_ms: Callable[[], int],
        *,
        starts_broker: bool = False,
        drops_data: Callable[[], bool] | None = None,
    ) -> "EmbeddedStore":
        """Open or create the file at ``path``. Raises StoreCorruptError, StoreLockedError, StoreWriteError.

        ``starts_broker``: on a full disk, writes until `start_is_over` may stay in memory. A cancelled call closes the
        file before it ends. ``drops_data``: for data that ends with this program. Results come before the commit then,
        and `close` and `kill` write the rest, unless ``drops_data()`` says that the file is removed next.
        """
        database = EmbeddedDatabase(path, is_durable=drops_data is None)
        return await cls.open_on(
            database, clock_ms, starts_broker=starts_broker, drops_data=drops_data or (lambda: False)
        )

    @classmethod
    async def open_on(
        cls,
        database: EmbeddedDatabase,
        clock_ms: Callable[[], int],
        *,
        starts_broker: bool = False,
        drops_data: Callable[[], bool] = lambda: False,
    ) -> "EmbeddedStore":
        loop = asyncio.get_running_loop()
        opened: Future[tuple[ZnodeTree, int]] = loop.create_future()
        database.start(loop, opened)
        try:
            tree, session_id = await opened
            store = cls(database, tree, session_id, clock_ms, starts_broker=starts_broker, drops_data=drops_data)
            stale = tree.ephemerals()
            if stale:
                await store.multi([Delete(node) for node in stale])
        except BaseException:
            database.kill()
            raise
        return store

    @property
    def session_id(self) -> int:
        return self._session_id

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        return self._write([Create(path, data, ephemeral, sequential)], created_path)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        return self._write([SetData(path, data, version)], new_stat)

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

    def start_is_over(self) -> None:
        self._is_starting = False
        self._write_held_back_later()

    async def close(self) -> None:
        """End the session: delete its ephemeral nodes and close the file. A second call does nothing."""
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
        """Close the file as a crash does: uncommitted changes are lost, ephemeral nodes stay in the file."""
        self._fail_everything(SessionExpiredError(None, "the metadata store was abandoned"))
        await self._stop_thread()

    def kill(self) -> None:
        self._end = SessionExpiredError(None, "the metadata store was killed")
        self._committing = []
        self._queued.clear()
        self._watches.clear()
        self._commit_the_rest()
        self._database.kill()

    def _commit_the_rest(self) -> None:
        if self._later is not None:
            self._later.commit()

    async def _stop_thread(self) -> None:
        self._commit_the_rest()
        stopped: Future[None] = self._loop.create_future()
        if self._database.stop(stopped):
            await stopped

    # -- executing, on the loop

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
            # Later, so that operations started in this iteration of the loop share the commit.
            self._commit_scheduled = True
            self._loop.call_soon(self._commit)

    # -- committing

    def _commit(self) -> None:
        self._commit_scheduled = False
        if not self._queued or self._committing:
            return
        self._committing = list(self._queued)
        self._queued.clear()
        if self._later is not None:
            self._later.add(self._rows_of_commit(), self._tree.last_zxid)
            self._committed(None)
            return
        rows = self._held_back | self._rows_of_commit()
        self._database.commit(list(rows.values()), self._tree.last_zxid, self._committed)

    def _rows_of_commit(self) -> dict[str, RowChange]:
        """The changed rows, as they will be after the commit."""
        applied = [pending.applied for pending in self._committing if pending.applied is not None]
        return {change.path: change for each in applied for change in each.rows}

    def _committed(self, error: MetadataStoreError | None) -> None:
        if error is None:
            self._note_written()
        elif isinstance(error, StoreFullError) and self._is_starting:
            self._hold_back(error)
        else:
            self._take_back(error)
            return
        for pending in self._committing:
            self._deliver(pending.triggered)
            pending.complete()
        self._committing = []  # only now: operations that a watch started must be answered after these
        if self._queued and not self._commit_scheduled:
            self._commit()

    # -- writes of a start on a full disk

    def _hold_back(self, error: StoreFullError) -> None:
        if not self._held_back:
            logger.error("%s: changes of the start are kept in memory until there is space", error)
        self._held_back |= self._rows_of_commit()

    def _note_written(self) -> None:
        """Note that a commit, including the rows held back, is on disk."""
        self._complaint = None
        if self._held_back:
            logger.info("metadata store: there is space again, the changes of the start were written")
            self._held_back = {}

    def _write_held_back_later(self) -> None:
        if self._held_back and self._end is None:
            self._loop.call_later(_RETRY_SECONDS, self._write_held_back)

    def _write_held_back(self) -> None:
        """Write the rows held back; no operation waits for it. A commit under way contains these rows, and perhaps
        newer versions of them, so it is not followed by another."""
        if self._end is None and not self._committing:
            self._database.commit(list(self._held_back.values()), self._tree.last_zxid, self._tried_again)
        else:
            self._write_held_back_later()

    def _tried_again(self, error: MetadataStoreError | None) -> None:
        if error is None:
            self._note_written()
        self._write_held_back_later()

    def _deliver(self, triggered: list[TriggeredWatch]) -> None:
        for entry in triggered:
            tell(self._loop, entry.watch, entry.event)

    def _take_back(self, error: MetadataStoreError) -> None:
        """After a failed commit: undo all uncommitted changes, newest first, and fail their operations."""
        self._complain(error)
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

    def _complain(self, error: MetadataStoreError) -> None:
        complaint = str(error)
        if complaint != self._complaint:
            logger.error("metadata store: commit failed: %s", complaint)
            self._complaint = complaint

    def _not_written(self, error: MetadataStoreError) -> None:
        """Changes whose results were delivered are not in the file."""
        self._complain(error)
        self._fail_everything(SessionExpiredError(None, f"the metadata store failed: {error}"))

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
