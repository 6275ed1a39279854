"""Where a cluster's tree can lie: in a data directory (the embedded store), or in ZooKeeper."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ....config.config import METADATA_STORE_FILE, Config
from ....config.load import with_overrides
from ....controller.tree import znodes
from ....controller.tree.embedded_store import EmbeddedStore
from ....controller.tree.metadata_store import MetadataStore, NoNodeError
from ....controller.tree.tree_copy import TreeCopy, read_tree, roots_present, write_tree
from ....controller.tree.zookeeper_settings import ZooKeeperSettings
from ....controller.tree.zookeeper_store import ZooKeeperStore
from ....storage.files.files import DirectoryLock, Files
from ....storage.files.meta_properties import read_meta_properties
from ..command_parser import BAD_INPUT, CommandError

__all__ = ["DataDirectory", "StoreLocation", "ZooKeeperTree", "store_location"]

_CONNECT = re.compile(r"[^/,]+:\d+(,[^/,]+:\d+)*(/.*)?")
_NAMED = 5


class StoreLocation(Protocol):
    """All may raise CommandError, MetadataStoreError, OSError."""

    async def read(self) -> TreeCopy:
        """Its tree, of which no broker may be up."""

    async def refuse_unless_it_takes(self, tree: TreeCopy) -> None:
        """It must hold no other tree, and be one from which the tree's brokers can go on. Changes nothing."""

    async def write(self, tree: TreeCopy) -> None: ...

    def left(self) -> list[str]:
        """The tree is elsewhere now: what is done about this one, or is left to do, in lines for the operator."""

    def taken(self, tree: TreeCopy) -> list[str]:
        """The tree is here now: how to go on."""

    def release(self) -> None: ...


def store_location(text: str, config: Config) -> StoreLocation:
    """``host:port,…/path`` is ZooKeeper, anything else a data directory or the file of an embedded store."""
    if _CONNECT.fullmatch(text) and not os.path.exists(text):
        return ZooKeeperTree(text, with_overrides(config, {"zookeeper.connect": text}))
    return DataDirectory(Path(text))


class DataDirectory:
    """Locked as long as it is used, as a broker would lock it."""

    def __init__(self, path: Path) -> None:
        self._directory, self._store = (path.parent, path) if path.is_file() else (path, path / METADATA_STORE_FILE)
        self._files = Files()
        if not self._directory.is_dir():
            raise CommandError(f"{self._directory}: there is no such directory", BAD_INPUT)
        self._lock: DirectoryLock | None = self._files.lock_directory(str(self._directory))

    def __str__(self) -> str:
        return f"the embedded store {self._store}"

    async def read(self) -> TreeCopy:
        if not self._store.exists():
            raise CommandError(f"{self._store}: there is no embedded store", BAD_INPUT)
        async with self._open() as store:
            tree = await read_tree(store)
        self._refuse_other_cluster(tree)
        return tree

    async def refuse_unless_it_takes(self, tree: TreeCopy) -> None:
        if self._store.exists():
            async with self._open() as store:
                if await store.children("/"):
                    raise CommandError(f"{self} is not empty: move it away first, if it is not needed any more")
        broker_id = self._refuse_other_cluster(tree)
        elsewhere = [
            f"{topic.topic}-{partition} (on {', '.join(map(str, assignment.replicas))})"
            for topic in tree.topics()
            for partition, assignment in topic.partitions.items()
            if assignment.replicas != (broker_id,)
        ]
        if elsewhere:
            more = f" and {len(elsewhere) - _NAMED} more" if len(elsewhere) > _NAMED else ""
            raise CommandError(
                f"{self._directory} is of broker {broker_id}, and with it alone there would be no use for replicas of "
                f"{', '.join(elsewhere[:_NAMED])}{more}: reassign them to broker {broker_id} first"
            )

    async def write(self, tree: TreeCopy) -> None:
        async with self._open() as store:
            await write_tree(store, tree.nodes, at_once=True)

    def left(self) -> list[str]:
        """A broker that found it again would go on with what was true before."""
        name = f"{self._store}.copied"
        number = 1
        while os.path.exists(name):
            number += 1
            name = f"{self._store}.copied-{number}"
        try:
            self._files.rename(str(self._store), name)
            self._files.sync_directory(str(self._directory))
        except OSError as error:
            raise CommandError(
                f"the copy is complete, but {self._store} could not be renamed ({error.strerror or error}): move it "
                f"away before a broker is started on {self._directory}, which would go on with what was true before"
            ) from error
        return [f"{self._store} is called {name} now: it is not needed any more"]

    def taken(self, tree: TreeCopy) -> list[str]:
        return [f"next: start the broker of {self._directory} without zookeeper.connect"]

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _refuse_other_cluster(self, tree: TreeCopy) -> int:
        """The id of the broker that the directory is of, which must be of the tree's cluster."""
        meta = read_meta_properties(self._files, str(self._directory))
        if meta is None or meta.broker_id is None:
            raise CommandError(f"{self._directory}: no broker has been here, it has no meta.properties")
        if meta.cluster_id != tree.cluster_id:
            raise CommandError(f"{self._directory} is of cluster {meta.cluster_id}, the tree is of {tree.cluster_id}")
        return meta.broker_id

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[MetadataStore]:
        store = await EmbeddedStore.open(self._store, lambda: time.time_ns() // 1_000_000)
        try:
            yield store
        finally:
            await store.close()


class ZooKeeperTree:
    """``config`` says how to log in, and who may read what is written."""

    def __init__(self, connect: str, config: Config) -> None:
        self._connect = connect
        self._settings = replace(ZooKeeperSettings.from_config(config), is_guarded=False)

    def __str__(self) -> str:
        return f"ZooKeeper at {self._connect}"

    async def read(self) -> TreeCopy:
        if znodes.CLUSTER_ID_PATH.rpartition("/")[0] not in await self._roots_present():
            raise CommandError(f"{self}: no cluster's tree is there", BAD_INPUT)
        async with self._open(self._settings) as store:
            await self._refuse_live_brokers(store)
            tree = await read_tree(store)
            await self._refuse_live_brokers(store)
            return tree

    async def refuse_unless_it_takes(self, tree: TreeCopy) -> None:
        present = await self._roots_present()
        if present:
            raise CommandError(f"{self} is not empty, {', '.join(present)} are there: name another path behind it")

    async def write(self, tree: TreeCopy) -> None:
        async with self._open(self._settings) as store:
            await write_tree(store, tree.nodes, at_once=False)

    def left(self) -> list[str]:
        return [f"{self} is as it was: remove it, or at least start no broker on it any more"]

    def taken(self, tree: TreeCopy) -> list[str]:
        return [f"next: start the broker with zookeeper.connect={self._connect}, and then others beside it"]

    def release(self) -> None:
        pass

    async def _roots_present(self) -> list[str]:
        """Looked for from the top, for to open a path that is not there creates it."""
        async with self._open(replace(self._settings, root="")) as store:
            return await roots_present(store, self._settings.root)

    async def _refuse_live_brokers(self, store: MetadataStore) -> None:
        if "/migration" in await roots_present(store):
            raise CommandError(f"{self}: the cluster is being migrated to KRaft, or was")
        try:
            live = await store.children(znodes.BROKER_IDS_PATH)
        except NoNodeError:
            return
        if live:
            raise CommandError(f"{self}: stop all brokers first, there are {', '.join(live)}")

    @asynccontextmanager
    async def _open(self, settings: ZooKeeperSettings) -> AsyncIterator[MetadataStore]:
        store = await ZooKeeperStore.open(settings)
        try:
            yield store
        finally:
            await store.close()
