"""Sessions of `ZooKeeperStore` for the tests of every metadata store."""

import asyncio
from itertools import count

from kazoo.client import KazooClient
from pybroker.controller.tree.metadata_store import MetadataStore
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore

__all__ = ["ZooKeeperStores", "end_session", "settings_of"]

SESSION_TIMEOUT_MS = 5_000
ROOTS = count()


def settings_of(servers: str, root: str = "", **others: object) -> ZooKeeperSettings:
    return ZooKeeperSettings(servers, root, SESSION_TIMEOUT_MS, 30_000, **others)  # type: ignore[arg-type]


async def end_session(store: ZooKeeperStore, servers: str) -> None:
    """Close the session of a killed store, instead of waiting until it expires."""

    def close() -> None:
        client = KazooClient(servers, client_id=store.credentials)
        client.start()
        client.stop()
        client.close()

    await asyncio.to_thread(close)


class ZooKeeperStores:
    """Gives each test a tree of its own, below a root that the first session creates."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._root = f"/suite/{next(ROOTS)}"

    async def open(self) -> MetadataStore:
        return await ZooKeeperStore.open(settings_of(self._servers, self._root))

    async def end(self, store: MetadataStore) -> None:
        assert isinstance(store, ZooKeeperStore)
        store.kill()
        await end_session(store, self._servers)
