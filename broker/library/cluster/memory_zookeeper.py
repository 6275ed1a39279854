"""The ZooKeeper of a cluster without Java: a metadata tree in memory, with a door for clients of ZooKeeper."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from ....config.config import Config
from ....controller.tree.memory.memory_store import MemoryStore
from ....controller.tree.memory.memory_tree import MemoryTree
from ....controller.tree.memory.tree_file import TreeFile
from ....controller.tree.memory.tree_link import TreeLink
from ....controller.tree.memory.zookeeper_door import ZooKeeperDoor
from ....controller.tree.metadata_store import MetadataStore, MetadataStoreError
from ....controller.tree.znodes import broker_path
from ...start_error import StartError
from ..loop_thread import LoopThread
from .member import Member

__all__ = ["MemoryZooKeeper"]

_FILE = "metadata.db"


class MemoryZooKeeper(Member):
    """``thread``: where its door is served. ``is_kept``: whether the tree is in a file too, for the next cluster.

    Its sessions survive a stop, as those of a ZooKeeper do; they expire only while it runs.
    """

    def __init__(self, directory: Path, thread: LoopThread, *, is_kept: bool) -> None:
        super().__init__("the metadata store", directory)
        self.port = 0
        self._thread = thread
        self._is_kept = is_kept
        self._file: TreeFile | None = None
        self._tree: MemoryTree | None = None
        self._door: ZooKeeperDoor | None = None
        self._links: dict[int, TreeLink] = {}
        self._is_paused = False

    @property
    def pid(self) -> int | None:
        raise RuntimeError("the metadata store of this cluster has no process of its own; zookeeper='java' starts one")

    @property
    def is_running(self) -> bool:
        return self._door is not None

    @property
    def is_responsive(self) -> bool:
        return self.is_running and not self._is_paused

    @property
    def tree(self) -> MemoryTree:
        assert self._tree is not None, "it was not started"
        return self._tree

    def link(self, broker: int) -> TreeLink:
        """The path of a broker in this process to the tree."""
        link = self._links.get(broker)
        if link is None:
            self._links[broker] = link = TreeLink(self.tree)
            if self._is_paused:
                link.hold()
            if not self.is_running:
                link.break_off()
        return link

    def store_opener(self, broker: int) -> Callable[[Config, Callable[[], int]], Awaitable[MetadataStore]]:
        """Opens sessions for a broker in this process, as `Environment.open_store` does."""

        async def open_store(config: Config, _clock_ms: Callable[[], int]) -> MetadataStore:
            session_timeout_ms = config.int("zookeeper.session.timeout.ms")
            return await MemoryStore.open(
                self.link(broker),
                session_timeout_ms=session_timeout_ms,
                connection_timeout_ms=config.optional_int("zookeeper.connection.timeout.ms") or session_timeout_ms,
                is_guarded=config.boolean("pybroker.zookeeper.guard"),
            )

        return open_store

    def expire(self, broker: int) -> None:
        """End the session in which the broker is registered. Raises RuntimeError when it is not registered."""
        session_id = self.tree.owner_of(broker_path(broker))
        if not session_id:
            raise RuntimeError(f"broker {broker} is not registered in the metadata store")
        self.tree.expire(session_id)

    # -- start and stop

    def begin(self) -> None:
        if self.is_running:
            raise RuntimeError(f"{self.name} is already running")
        self._thread.call(self._open())

    def wait_until_ready(self) -> None:
        """It is ready when `begin` returns."""

    def pause(self) -> None:
        """Let it do nothing. No session expires meanwhile."""
        if self._door is None:
            raise RuntimeError(f"{self.name} is not running")
        self._is_paused = True
        self.tree.suspend()
        self._thread.post(self._door.hold)
        for link in self._links.values():
            link.hold()

    def resume(self) -> None:
        if self._door is None or not self._is_paused:
            return
        self._is_paused = False
        self.tree.unsuspend()
        self._thread.post(self._door.release)
        for link in self._links.values():
            link.release()

    def kill(self) -> None:
        door, self._door = self._door, None
        if door is None:
            return
        self.tree.suspend()
        for link in self._links.values():
            link.break_off()
        self._thread.call(door.close())

    def stop(self) -> None:
        self.kill()

    def close(self) -> None:
        self.kill()
        file, self._file = self._file, None
        if file is not None:
            self._thread.call(file.close())

    async def _open(self) -> None:
        if self._tree is None:
            self._tree = await self._new_tree()
        try:
            self._door = await ZooKeeperDoor.open(self._tree, self.port)
        except OSError as error:
            raise StartError(f"{self.name} cannot listen on port {self.port}: {error.strerror or error}") from error
        self.port = self._door.port
        self._is_paused = False
        self._tree.unsuspend()
        for link in self._links.values():
            link.restore()

    async def _new_tree(self) -> MemoryTree:
        if not self._is_kept:
            return MemoryTree(_clock_ms)
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._file = file = await TreeFile.open(self.directory / _FILE)
        except MetadataStoreError as error:
            raise StartError(f"{self.name} cannot be opened: {error}") from error
        return MemoryTree(_clock_ms, nodes=file.nodes, noted=file.note)


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000
