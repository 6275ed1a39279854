"""A registered broker that accepts connections but never responds."""

import asyncio
from contextlib import suppress

from pybroker.controller.broker_registration import BrokerRegistration
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from simulation.machines.model_zookeeper import ModelZooKeeper

__all__ = ["SilentBroker"]


class SilentBroker:
    """Registers itself and reads requests, but never responds."""

    broker_id = 9

    def __init__(self) -> None:
        self._writers: list[asyncio.StreamWriter] = []
        self._has_left = False

    async def join(self, zookeeper: ModelZooKeeper) -> None:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self._store = await zookeeper.open("the silent broker")
        info = BrokerInfo(self.broker_id, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", port),), 1)
        await BrokerRegistration(ClusterTree(self._store)).register(info, 0)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._has_left:  # the connection was accepted while the broker left
            writer.close()
            return
        self._writers.append(writer)
        with suppress(ConnectionError):
            while await reader.read(1 << 16):
                pass

    async def leave(self) -> None:
        self._has_left = True
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._store.close()
