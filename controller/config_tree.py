"""Who is controller, and the settings of topics, brokers and others (/controller, /config): a part of `ClusterTree`.

Who changes settings writes them and a notification of it at once, if the controller is still the same.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

from . import znodes
from .metadata_store import (
    BadVersionError,
    Check,
    Create,
    MetadataStore,
    MetadataStoreError,
    NodeExistsError,
    NoNodeError,
    Operation,
    SetData,
    Watch,
)
from .znodes import ConfigEntity, ControllerInfo

__all__ = ["ConfigTree", "ControllerNode", "all_found"]

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
        stat = self.store.exists(znodes.CONTROLLER_PATH, watch)
        try:
            data, node_stat = await self.store.get(znodes.CONTROLLER_PATH)
        except NoNodeError:
            return None
        finally:
            await stat
        return ControllerNode(ControllerInfo.decode(data), node_stat.version, node_stat.ephemeral_owner)

    async def config(self, entity_type: str, name: str) -> dict[str, str]:
        """The settings of an entity, none if it has no node."""
        try:
            data, _ = await self.store.get(znodes.config_path(entity_type, name))
        except NoNodeError:
            return {}
        return dict(ConfigEntity.decode(entity_type, name, data).settings)

    async def configs(self, entity_type: str) -> dict[str, dict[str, str]]:
        """The settings of all entities of a type that have some."""
        names = await self.store.children(f"/config/{entity_type}")
        reads = await all_found({name: self.store.get(znodes.config_path(entity_type, name)) for name in names})
        return {name: dict(ConfigEntity.decode(entity_type, name, data).settings) for name, (data, _) in reads.items()}

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


async def all_found(reads: Mapping[Key, Awaitable[Result]]) -> dict[Key, Result]:
    """Await reads that were all started; leave out the nodes that do not exist."""
    found: dict[Key, Result] = {}
    failed: MetadataStoreError | None = None
    for key, read in reads.items():
        try:
            found[key] = await read
        except NoNodeError:
            continue
        except MetadataStoreError as error:  # await the others too, or asyncio complains of errors nobody took
            failed = error
    if failed is not None:
        raise failed
    return found
