"""The nodes of users, client ids and addresses under /config: their quotas, and the credentials of users.

The pair of a user and a client id has the node users/<user>/clients/<client id>. A node without settings and without
children is deleted, with its parents if they are empty too, so that the tree does not grow for ever (Kafka's
AdminZkClient). Names here are names of nodes (`entity_names.py`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from . import znodes
from .config_tree import ConfigTree, all_found
from .entity_names import DEFAULT_ENTITY, decode_entity_name, encode_entity_name
from .metadata_store import (
    BadVersionError,
    Check,
    Create,
    Delete,
    MetadataStore,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Operation,
    SetData,
    Stat,
    parent_of,
)
from .znodes import ConfigEntity

__all__ = ["USERS", "change_client_entity", "read_client_entities", "settings_of_users"]

USERS = "users"
_CLIENTS = "clients"
_TYPES = (USERS, _CLIENTS, "ips")

Entity = tuple[str, str]
"""The type, and the name below it."""
Change = Callable[[Mapping[str, str]], Mapping[str, str]]


class _Node(NamedTuple):
    data: bytes
    stat: Stat


async def read_client_entities(tree: ConfigTree) -> dict[Entity, dict[str, str]]:
    """The settings of all users, client ids, pairs of both, and addresses. Nodes without settings are included."""
    entities: dict[Entity, dict[str, str]] = {}
    for entity_type in _TYPES:
        names = await _children(tree.store, f"/config/{entity_type}")
        if entity_type == USERS:
            reads = await all_found({name: tree.store.children(_clients_path(name)) for name in names})
            names = [*names, *(f"{user}/{_CLIENTS}/{name}" for user, clients in reads.items() for name in clients)]
        found = await tree.configs(entity_type, names)
        entities |= {(entity_type, name): settings for name, settings in found.items()}
    return entities


async def settings_of_users(tree: ConfigTree, users: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
    """The settings of these users, or of all, by the users' own names; without those of the default user."""
    names = None if users is None else [encode_entity_name(user) for user in users]
    found = await tree.configs(USERS, names)
    return {decode_entity_name(name): settings for name, settings in found.items() if name != DEFAULT_ENTITY}


async def change_client_entity(tree: ConfigTree, entity_type: str, name: str, change: Change) -> Mapping[str, str]:
    """Replace the settings of an entity by the result of ``change``, and notify every broker.

    Returns the new settings. ``change`` is called again if another writer was faster; its errors are passed on.
    """
    path = znodes.config_path(entity_type, name)
    notification = Create(
        znodes.CONFIG_CHANGE_PREFIX, znodes.encode_config_change(f"{entity_type}/{name}"), sequential=True
    )
    while True:
        controller = await tree.controller()
        guard: list[Operation] = [Check(znodes.CONTROLLER_PATH, controller.version)] if controller else []
        node = await _read(tree.store, path)
        old = {} if node is None else ConfigEntity.decode(entity_type, name, node.data).settings
        entity = ConfigEntity(entity_type, name, change(old))
        operations = [*guard, *await _write(tree.store, path, node, entity), notification]
        try:
            await tree.store.multi(operations)
        except (BadVersionError, NodeExistsError, NoNodeError, NotEmptyError) as error:
            failed = None if error.operation_index is None else operations[error.operation_index]
            if isinstance(error, NoNodeError) and isinstance(failed, Create) and _is_persistent(failed.path):
                raise
            continue
        return entity.settings


async def _write(store: MetadataStore, path: str, node: _Node | None, entity: ConfigEntity) -> list[Operation]:
    """The operations that make the node hold the settings of ``entity``, or remove it."""
    if node is not None:
        if entity.settings or node.stat.num_children:
            return [SetData(path, entity.encode(), node.stat.version)]
        return [Delete(path, node.stat.version), *await _delete_parents(store, path)]
    if not entity.settings:
        return []
    return [*await _create_parents(store, path), Create(path, entity.encode())]


async def _create_parents(store: MetadataStore, path: str) -> list[Operation]:
    creates: list[Operation] = []
    parent = parent_of(path)
    while not _is_root(parent) and await store.exists(parent) is None:
        creates.insert(0, Create(parent))
        parent = parent_of(parent)
    return creates


async def _delete_parents(store: MetadataStore, path: str) -> list[Operation]:
    """The deletions of parents that have no other child and no settings."""
    deletes: list[Operation] = []
    parent = parent_of(path)
    while not _is_root(parent):
        node = await _read(store, parent)
        if node is None or node.stat.num_children > 1 or _has_settings(parent, node):
            break
        deletes.append(Delete(parent, node.stat.version))
        parent = parent_of(parent)
    return deletes


def _has_settings(path: str, node: _Node) -> bool:
    entity_type, _, name = path.removeprefix("/config/").partition("/")
    return bool(ConfigEntity.decode(entity_type, name, node.data).settings)


def _is_root(path: str) -> bool:
    """Whether this is the node of an entity type."""
    return parent_of(path) == "/config"


def _is_persistent(path: str) -> bool:
    """Whether the parent of a node is one that every broker creates at its start."""
    return parent_of(path) in znodes.PERSISTENT_PATHS


def _clients_path(user: str) -> str:
    return znodes.config_path(USERS, f"{user}/{_CLIENTS}")


async def _read(store: MetadataStore, path: str) -> _Node | None:
    try:
        return _Node(*await store.get(path))
    except NoNodeError:
        return None


async def _children(store: MetadataStore, path: str) -> list[str]:
    try:
        return await store.children(path)
    except NoNodeError:  # before the first start of a broker
        return []
