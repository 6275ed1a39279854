"""Who is controller, and the settings of topics, brokers and others (/controller, /config): a part of `ClusterTree`.

Who changes settings writes them and a notification of it at once, if the controller is still the same.
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
    """/controller: who it is, the version of the node, and the session that holds it."""

    info: ControllerInfo
    version: int
    session_id: int


class ConfigTree:
    """All methods may raise `MetadataStoreError`, readers `ZnodeDecodeError` too."""

    def __init__(self, store: MetadataStore) -> None:
        self.store = store

    async def controller(self, watch: Watch | None = None) -> ControllerNode | None:
        """Who is controller. ``watch`` is set whether there is one or not."""
        node = await read_watched(self.store, znodes.CONTROLLER_PATH, watch)
        if node is None:
            return None
        data, node_stat = node
        return ControllerNode(ControllerInfo.decode(data), node_stat.version, node_stat.ephemeral_owner)

    async def config(self, entity_type: str, name: str) -> dict[str, str]:
        """The settings of an entity, none if it has no node."""
        try:
            data, _ = await self.store.get(znodes.config_path(entity_type, name))
        except NoNodeError:
            return {}
        return dict(ConfigEntity.decode(entity_type, name, data).settings)

    async def configs(self, entity_type: str, names: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
        """The settings of all entities of a type, or of those with ``names``, that have some.

        What is written in one node, by whomever, must not keep anybody from the others: as with Kafka, who cannot read
        it takes it for no settings.
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
        """Replace the settings of an entity by what ``change`` makes of them, and notify every broker of it.

        Gives what was written. ``change`` is called again when somebody else was faster; what it raises is passed on.
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
                    raise  # the skeleton of the tree is missing
                continue
            return entity.settings

    async def config_changes(self, watch: Watch | None = None) -> list[str]:
        """The names of the notifications that are there, oldest first."""
        return await self.store.children(znodes.CONFIG_CHANGES_PATH, watch)

    async def config_change(self, notification: str) -> tuple[bytes, int] | None:
        """What a notification holds (`znodes.decode_config_change`), and when it was made, in ms; None: it is gone."""
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
    """What a node holds; None: there is none. ``watch`` is armed before, whether there is one or not."""
    # One after the other: whoever gives up waiting for one of two leaves the other's error to nobody.
    await store.exists(path, watch)
    try:
        return await store.get(path)
    except NoNodeError:
        return None


async def all_found(reads: Mapping[Key, Awaitable[Result]]) -> dict[Key, Result]:
    """Await reads that were all started; leave out the nodes that do not exist. Raises the first other error."""
    found: dict[Key, Result] = {}
    # Together: an error, or a cancellation, leaves none of them alone, whose own error nobody would take.
    outcomes = await asyncio.gather(*reads.values(), return_exceptions=True)
    for key, outcome in zip(reads, outcomes, strict=True):
        if isinstance(outcome, NoNodeError):
            continue
        if isinstance(outcome, BaseException):
            raise outcome
        found[key] = outcome
    return found
