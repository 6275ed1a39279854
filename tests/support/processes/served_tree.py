"""A metadata tree in memory behind a door for clients of ZooKeeper: in tests it stands for a running ZooKeeper."""

import time
from collections.abc import Callable

from pybroker.broker.library.loop_thread import LoopThread
from pybroker.controller.tree.memory.door_connection import DoorConnection
from pybroker.controller.tree.memory.memory_tree import MemoryTree
from pybroker.controller.tree.memory.zookeeper_door import ZooKeeperDoor

__all__ = ["ServedTree"]


class ServedTree:
    """The door is open on a loop in a thread of its own, because kazoo may block the loop of a test."""

    def __init__(self) -> None:
        self.tree = MemoryTree(lambda: time.time_ns() // 1_000_000)
        self._thread = LoopThread("door")
        self._door = self._thread.call(ZooKeeperDoor.open(self.tree))
        self.port = self._door.port

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def connections(self) -> set[DoorConnection]:
        return self._door._connections

    def post(self, call: Callable[[], object]) -> None:
        """Have it called on the loop of the door."""
        self._thread.post(call)

    def pause(self) -> None:
        """As SIGSTOP: connections stay, and no session expires."""
        self.tree.suspend()
        self._thread.post(self._door.hold)

    def resume(self) -> None:
        self.tree.unsuspend()
        self._thread.post(self._door.release)

    def kill(self) -> None:
        """Close the door and all connections. The tree stays, and no session expires until `start`."""
        self.tree.suspend()
        self._thread.call(self._door.close())

    def start(self) -> None:
        """Open the door again after `kill`."""
        self._door = self._thread.call(ZooKeeperDoor.open(self.tree, self.port))
        self.tree.unsuspend()

    def close(self) -> None:
        self._thread.call(self._door.close())
        self._thread.close()
