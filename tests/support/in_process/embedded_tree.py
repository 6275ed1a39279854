"""An opened metadata tree of a broker without a cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore

__all__ = ["embedded_tree"]


@asynccontextmanager
async def embedded_tree(directory: Path, now_ms: int = 0) -> AsyncIterator[ClusterTree]:
    """The tree of a store in ``directory``, closed at the end. Its clock stands still."""
    store = await EmbeddedStore.open(directory / "metadata.db", lambda: now_ms)
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    yield tree
    await store.close()
