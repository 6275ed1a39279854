"""The places that can hold a cluster's metadata tree: a data directory (embedded store), and ZooKeeper."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ....base.command_parser import BAD_INPUT, CommandError
from ....config.config import METADATA_STORE_FILE, Config
from ....config.load import with_overrides
from ....controller.tree import znodes
from ....controller.tree.embedded_store import EmbeddedStore
from ....controller.tree.metadata_store import MetadataStore, NoNodeError
from ....controller.tree.tree_copy import TreeCopy, read_tree, roots_present, without_levels, write_tree
from ....controller.tree.zookeeper_settings import ZooKeeperSettings
from ....controller.tree.zookeeper_store import ZooKeeperStore
from ....storage.files.files import DirectoryLock, Files
from ....storage.files.meta_properties import read_meta_properties

__all__ = ["DataDirectory", "StoreLocation", "ZooKeeperTree", "names_zookeeper", "store_location"]

_CONNECT = re.compile(r"[^/,]+:\d+(,[^/,]+:\d+)*(/.*)?")
_NAMED = 5


class StoreLocation(Protocol):
    """All methods may raise CommandError, MetadataStoreError, OSError."""

    async def read(self) -> TreeCopy:
        """The tree. Raises CommandError when a broker of it is up."""

    async def check_can_take(self, tree: TreeCopy) -> None:
        """Raises CommandError when a tree is here already, or the brokers of ``tree`` could not go on from here."""

    async def write(self, tree: TreeCopy) -> None: ...

    def after_copy_from(self) -> list[str]:
        """After the copy from here: deal with the old tree; returns lines for the operator."""

    def after_copy_to(self, tree: TreeCopy) -> list[str]:
        """After the copy to here: lines that tell the operator how to go on."""

    def release(self) -> None: ...


def store_location(text: str, config: Config) -> StoreLocation:
    """ZooKeeper for ``host:port,…/path``, else a data directory, which may be given by its embedded store's file."""
    if names_zookeeper(text):
        return ZooKeeperTree(text, with_overrides(config, {"zookeeper.connect": text}))
    return DataDirectory(Path(text))


def names_zookeeper(text: str) -> bool:
    """Whether the text is ``host:port,…/path``, and no file has that name."""
    return _CONNECT.fullmatch(text) is not None and not os.path.exists(text)


class DataDirectory:
    """A data directory, locked while it is used, as a broker would lock it."""

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

    async def check_can_take(self, tree: TreeCopy) -> None:
        if self._store.exists():
            async with self._open() as store:
                if await store.children("/"):
                    raise CommandError(f"{self} is not empty: move it away first if it is not needed")
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
                f"{self._directory} belongs to broker {broker_id}, which alone could not serve the replicas of "
                f"{', '.join(elsewhere[:_NAMED])}{more}: reassign them to broker {broker_id} first"
            )

    async def write(self, tree: TreeCopy) -> None:
        async with self._open() as store:
            await write_tree(store, tree.nodes, at_once=True)

    def after_copy_from(self) -> list[str]:
        """Rename the store: a broker that found it would go on with outdated metadata."""
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
                f"away before a broker starts on {self._directory}, or the broker goes on with outdated metadata"
            ) from error
        return [f"{self._store} was renamed to {name}; it is not needed any more"]

    def after_copy_to(self, tree: TreeCopy) -> list[str]:
        return [f"next: start the broker of {self._directory} without zookeeper.connect"]

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _refuse_other_cluster(self, tree: TreeCopy) -> int:
        """The id of the directory's broker. Raises CommandError when it belongs to another cluster than the tree."""
        meta = read_meta_properties(self._files, str(self._directory))
        if meta is None or meta.broker_id is None:
            raise CommandError(f"{self._directory}: no broker has used it, there is no meta.properties")
        if meta.cluster_id not in (None, tree.cluster_id):  # Kafka before 2.4 stored none there
            raise CommandError(
                f"{self._directory} belongs to cluster {meta.cluster_id}, the tree to cluster {tree.cluster_id}"
            )
        return meta.broker_id

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[MetadataStore]:
        store = await EmbeddedStore.open(self._store, lambda: time.time_ns() // 1_000_000)
        try:
            yield store
        finally:
            await store.close()


class ZooKeeperTree:
    """A tree in ZooKeeper. ``config`` has the settings of the connection and of ACLs."""

    def __init__(self, connect: str, config: Config) -> None:
        self._connect = connect
        self._settings = replace(ZooKeeperSettings.from_config(config), is_guarded=False)

    def __str__(self) -> str:
        return f"ZooKeeper at {self._connect}"

    async def read(self) -> TreeCopy:
        present = await self._roots_present()
        if znodes.CLUSTER_ID_PATH.rpartition("/")[0] not in present:
            if znodes.TOPICS_PATH.rpartition("/")[0] in present:
                raise CommandError(
                    f"{self}: the tree has no {znodes.CLUSTER_ID_PATH}: a copy into it was interrupted, or its brokers "
                    "are older than Kafka 0.10.1; in that case start and stop one broker on it with "
                    f"zookeeper.connect={self._connect}, which gives the cluster its id, then copy"
                )
            raise CommandError(f"{self}: there is no metadata of a cluster", BAD_INPUT)
        async with self._open(self._settings) as store:
            await self._refuse_live_brokers(store)
            tree = await read_tree(store)
            await self._refuse_live_brokers(store)
            return tree

    async def check_can_take(self, tree: TreeCopy) -> None:
        present = await self._roots_present()
        if present:
            raise CommandError(f"{self} is not empty, {', '.join(present)} exist: give another path")

    async def write(self, tree: TreeCopy) -> None:
        async with self._open(self._settings) as store:
            await write_tree(store, without_levels(tree.nodes), at_once=False)

    def after_copy_from(self) -> list[str]:
        return [f"{self} is unchanged: start no broker on it any more"]

    def after_copy_to(self, tree: TreeCopy) -> list[str]:
        return [f"next: start the broker with zookeeper.connect={self._connect}, then start the others"]

    def release(self) -> None:
        pass

    async def _roots_present(self) -> list[str]:
        """Searched from the top, because opening a missing path would create it."""
        async with self._open(replace(self._settings, root="")) as store:
            return await roots_present(store, self._settings.root)

    async def _refuse_live_brokers(self, store: MetadataStore) -> None:
        if "/migration" in await roots_present(store):
            raise CommandError(f"{self}: the cluster is being migrated, or was migrated, to KRaft")
        try:
            live = await store.children(znodes.BROKER_IDS_PATH)
        except NoNodeError:
            return
        if live:
            running = ", ".join(f"broker {broker_id}" for broker_id in live)
            raise CommandError(f"{self}: stop all brokers first; running: {running}")

    @asynccontextmanager
    async def _open(self, settings: ZooKeeperSettings) -> AsyncIterator[MetadataStore]:
        store = await ZooKeeperStore.open(settings)
        try:
            yield store
        finally:
            await store.close()
