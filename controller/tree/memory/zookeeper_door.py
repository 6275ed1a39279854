"""A server through which clients of ZooKeeper reach a tree in memory: kazoo, `ZooKeeperStore`, brokers of Apache Kafka.

Limits: it listens on this machine only, without TLS and SASL. It serves the requests that Kafka's brokers and kazoo
send. Others, such as containers, nodes with a time to live and persistent watches, get the error "unimplemented".
"""

import asyncio

from ..loop_calls import LoopCalls
from .door_connection import DoorConnection
from .four_letter_words import DoorState, answer_to
from .memory_tree import MemoryTree

__all__ = ["ZooKeeperDoor"]

_LOOPBACK = "127.0.0.1"
_MAX_CONNECTIONS = 250
_BETWEEN_SWEEPS_S = 0.5
_GREETING_WITHIN_S = 10.0


class ZooKeeperDoor:
    """Open with `ZooKeeperDoor.open`, on a running event loop."""

    def __init__(self, tree: MemoryTree) -> None:
        self._tree = tree
        self._loop = asyncio.get_running_loop()
        self._calls = LoopCalls(self._loop)
        self._connections: set[DoorConnection] = set()
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._is_held = False
        self.port = 0

    @classmethod
    async def open(cls, tree: MemoryTree, port: int = 0) -> "ZooKeeperDoor":
        """Listen on a port of 127.0.0.1; 0: a free one. Raises OSError."""
        door = cls(tree)
        door._server = server = await door._loop.create_server(door._connection, _LOOPBACK, port)
        door.port = server.sockets[0].getsockname()[1]
        door._sweep()
        return door

    async def close(self) -> None:
        """Close the port and all connections. Sessions stay in the tree."""
        if self._server is None:
            return
        server, self._server = self._server, None
        if self._sweeping is not None:
            self._sweeping.cancel()
        server.close()
        for connection in list(self._connections):
            connection.close()
        await server.wait_closed()

    def hold(self) -> None:
        """Serve nobody until `release`. Connections stay and new ones are accepted, as by a stopped process."""
        self._is_held = True
        for connection in self._connections:
            connection.hold()

    def release(self) -> None:
        self._is_held = False
        for connection in self._connections:
            connection.release()

    def _connection(self) -> DoorConnection:
        return DoorConnection(self._tree, self._calls, self._opened, self._closed, self._describe)

    def _describe(self, word: bytes) -> bytes:
        clients = tuple(sorted(connection.peer for connection in self._connections))
        return answer_to(word, DoorState(clients, *self._tree.measure()))

    def _opened(self, connection: DoorConnection) -> None:
        """Called for a new connection, and again when it has a session."""
        if self._server is None or (len(self._connections) >= _MAX_CONNECTIONS and connection not in self._connections):
            connection.close()
            return
        self._connections.add(connection)
        if self._is_held:
            connection.hold()
        if connection.session is not None:
            for other in list(self._connections):
                if other.session is connection.session and other is not connection:
                    other.close()  # the session has moved to this connection

    def _closed(self, connection: DoorConnection) -> None:
        self._connections.discard(connection)

    def _sweep(self) -> None:
        """End sessions whose clients are silent, and connections that never began one."""
        next_s = self._tree.sweep()
        late_s = self._loop.time() - _GREETING_WITHIN_S
        for connection in list(self._connections):
            if connection.session is None and connection.began_s < late_s:
                connection.close()
        self._sweeping = self._loop.call_later(min(next_s, _BETWEEN_SWEEPS_S), self._sweep)
