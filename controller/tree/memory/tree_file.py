"""Keeps a tree in memory in a SQLite file too, so that the next cluster can go on with it.

Changes are written a moment later, in order; nobody waits for them. After a crash of this program the last changes may
be missing. The file has the format of the embedded store.
"""

import asyncio
import logging
from asyncio import Future
from pathlib import Path

from ..embedded_database import EmbeddedDatabase
from ..loop_calls import LoopCalls
from ..metadata_store import Delete, MetadataStoreError
from ..znode_tree import RowChange, ZnodeTree

__all__ = ["TreeFile"]

logger = logging.getLogger(__name__)


class TreeFile:
    """Open with `TreeFile.open`. ``nodes`` is the tree as it was written last, without ephemeral nodes."""

    def __init__(self, database: EmbeddedDatabase, nodes: ZnodeTree) -> None:
        self.nodes = nodes
        self._database = database
        self._calls = LoopCalls(asyncio.get_running_loop())
        self._unwritten: dict[str, RowChange] = {}
        self._zxid = nodes.last_zxid
        self._is_writing = False
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    async def open(cls, path: Path) -> "TreeFile":
        """Open or create the file. Raises MetadataStoreError."""
        loop = asyncio.get_running_loop()
        database = EmbeddedDatabase(path)
        opened: Future[tuple[ZnodeTree, int]] = loop.create_future()
        database.start(loop, opened)
        nodes, _ = await opened
        file = cls(database, nodes)
        if stale := nodes.ephemerals():
            applied = nodes.apply([Delete(node) for node in stale], 0, 0)
            file._take(applied.rows, applied.zxid)
        return file

    def note(self, rows: list[RowChange], zxid: int) -> None:
        """Have a change written; called from any thread, in the order of the changes."""
        self._calls.post(lambda: self._take(rows, zxid))

    async def close(self) -> None:
        """Write what is left, and close the file."""
        await asyncio.sleep(0)  # calls that were posted before this one
        await self._idle.wait()
        stopped: Future[None] = asyncio.get_running_loop().create_future()
        if self._database.stop(stopped):
            await stopped

    def _take(self, rows: list[RowChange], zxid: int) -> None:
        self._unwritten |= {change.path: change for change in rows}
        self._zxid = zxid
        self._idle.clear()
        self._write()

    def _write(self) -> None:
        if self._is_writing:
            return
        if not self._unwritten:
            self._idle.set()
            return
        self._is_writing = True
        rows, self._unwritten = self._unwritten, {}
        self._database.commit(list(rows.values()), self._zxid, lambda error: self._written(rows, error))

    def _written(self, rows: dict[str, RowChange], error: MetadataStoreError | None) -> None:
        self._is_writing = False
        if error is None:
            self._write()
            return
        logger.error("the metadata of the cluster could not be written, and will be with its next change: %s", error)
        self._unwritten = rows | self._unwritten
        self._idle.set()
