"""Opens the SCRAM users of a cluster: in the embedded store of a stopped broker, or in ZooKeeper.

**Why.** Brokers that log in to each other by SCRAM need a user before the first of them starts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ....base.command_parser import BAD_INPUT, CommandError
from ....config.config import METADATA_STORE_FILE, Config
from ....controller.tree.cluster_tree import ClusterTree
from ....controller.tree.embedded_store import EmbeddedStore
from ....storage.files.files import DirectoryLock, Files
from ...security.sasl.scram_user_store import ScramUserStore, users_in_zookeeper
from ..metadata.store_locations import names_zookeeper

__all__ = ["opened_user_store"]


@asynccontextmanager
async def opened_user_store(place: str, config: Config) -> AsyncIterator[ScramUserStore]:
    """``place``: ``host:port,…/path`` of ZooKeeper, or a data directory, whose broker must be stopped.

    Raises CommandError, DirectoryLockedError, MetadataStoreError, OSError.
    """
    async with users_in_zookeeper(place, config) if names_zookeeper(place) else _in_directory(Path(place)) as store:
        yield store


@asynccontextmanager
async def _in_directory(directory: Path) -> AsyncIterator[ScramUserStore]:
    """The directory is locked meanwhile, as by a broker."""
    lock = _locked(directory)
    try:
        store = await EmbeddedStore.open(directory / METADATA_STORE_FILE, lambda: time.time_ns() // 1_000_000)
        try:
            yield ScramUserStore(ClusterTree(store))
        finally:
            await store.close()
    finally:
        lock.release()


def _locked(directory: Path) -> DirectoryLock:
    if not directory.is_dir():
        raise CommandError(f"{directory}: there is no such directory", BAD_INPUT)
    return Files().lock_directory(str(directory))
