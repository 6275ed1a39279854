"""The part of `ClusterTree` for /controller and /config: the controller, and the settings of topics, brokers, users.

A change of settings writes the settings and a notification in one transaction, if the controller is still the same.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from . import znodes
from .metadata_store import (
    BadVersionError,
    Check,
    Create,
    MetadataStore,
    NodeExistsError,
    NoNodeError,
    Operation,
    SetData,
    Stat,
    Watch,
)
from .znodes import ConfigEntity, ControllerInfo, ZnodeDecodeError

__all__ = ["ConfigTree", "ControllerNode", "all_found", "read_watched"]

logger = logging.getLogger(__name__)

Key = TypeVar("Key")
Result = TypeVar("Result")


class ControllerNode(NamedTuple):
    """/controller: the controller, the version of the node, and the session that owns it."""

    info: ControllerInfo
    version: int
    session_id: int


class ConfigTree:
    """All methods may raise `MetadataStoreError`, readers `ZnodeDecodeError` too."""

    def __init__(self, store: MetadataStore) -> None:
        self.store = store

    async def controller(self, watch: Watch | None = None) -> ControllerNode | None:
        """The controller, or None. ``watch`` is set in both cases."""
        node = await read_watched(self.store, znodes.CONTROLLER_PATH, watch)
        if node is None:
            return None
        data, node_stat = node
        return ControllerNode(ControllerInfo.decode(data), node_stat.version, node_stat.ephemeral_owner)

    async def config(self, entity_type: str, name: str) -> dict[str, str]:
        """The settings of an entity; empty if it has no node."""
        try:
            data, _ = await self.store.get(znodes.config_path(entity_type, name))
        except NoNodeError:
            return {}
        return dict(ConfigEntity.decode(entity_type, name, data).settings)

    async def configs(self, entity_type: str, names: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
        """The settings of all entities of a type, or of those in ``names``, that have a node.

        A node that cannot be decoded counts as no settings, as in Kafka, so that it does not block the others.
        """
        if names is None:
            names = await self.store.children(f"/config/{entity_type}")
        reads = await all_found({name: self.store.get(znodes.config_path(entity_type, name)) for name in names})
        found: dict[str, dict[str, str]] = {}
        for name, (data, _) in reads.items():
            try:
                found[name] = dict(ConfigEntity.decode(entity_type, name, data).settings)
            except ZnodeDecodeError as error:
                logger.error("settings are ignored: %s", error)
        return found

    async def change_config(
        self, entity_type: str, name: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> Mapping[str, str]:
        """Replace the settings of an entity by the result of ``change``, and notify every broker.

        Returns the new settings. ``change`` is called again if another writer was faster; its errors are passed on.
        """
        path = znodes.config_path(entity_type, name)
        while True:
            controller = await self.controller()
            guard: list[Operation] = [Check(znodes.CONTROLLER_PATH, controller.version)] if controller else []
            try:
                data, stat = await self.store.get(path)
            except NoNodeError:
                entity = ConfigEntity(entity_type, name, change({}))
                write: Operation = Create(path, entity.encode())
            else:
                entity = ConfigEntity(entity_type, name, change(ConfigEntity.decode(entity_type, name, data).settings))
                write = SetData(path, entity.encode(), stat.version)
            notification = znodes.encode_config_change(f"{entity_type}/{name}")
            operations = [*guard, write, Create(znodes.CONFIG_CHANGE_PREFIX, notification, sequential=True)]
            try:
                await self.store.multi(operations)
            except (BadVersionError, NodeExistsError, NoNodeError) as error:
                failed = None if error.operation_index is None else operations[error.operation_index]
                if isinstance(error, NoNodeError) and isinstance(failed, Create):
                    raise  # the persistent nodes of the tree are missing
                continue
            return entity.settings

    async def config_changes(self, watch: Watch | None = None) -> list[str]:
        """The names of the existing notifications, oldest first."""
        return await self.store.children(znodes.CONFIG_CHANGES_PATH, watch)

    async def config_change(self, notification: str) -> tuple[bytes, int] | None:
        """The data of a notification (`znodes.decode_config_change`) and its time in ms; None: it is gone."""
        try:
            data, stat = await self.store.get(znodes.config_change_path(notification))
        except NoNodeError:
            return None
        return data, stat.ctime_ms

    async def forget_config_change(self, notification: str) -> None:
        """Delete a notification; another broker may have been faster."""
        try:
            await self.store.delete(znodes.config_change_path(notification))
        except NoNodeError:
            return


async def read_watched(store: MetadataStore, path: str, watch: Watch | None) -> tuple[bytes, Stat] | None:
    """The data of a node; None if it does not exist. ``watch`` is set in both cases."""
    # One after the other: with two reads at once, a cancelled caller would leave the error of the other unread.
    await store.exists(path, watch)
    try:
        return await store.get(path)
    except NoNodeError:
        return None


async def all_found(reads: Mapping[Key, Awaitable[Result]]) -> dict[Key, Result]:
    """Await reads that were all started; leave out the nodes that do not exist. Raises the first other error."""
    found: dict[Key, Result] = {}
    # Await all together, so that after an error or cancellation no read is left with an unread error.
    outcomes = await asyncio.gather(*reads.values(), return_exceptions=True)
    for key, outcome in zip(reads, outcomes, strict=True):
        if isinstance(outcome, NoNodeError):
            continue
        if isinstance(outcome, BaseException):
            raise outcome
        found[key] = outcome
    return found
