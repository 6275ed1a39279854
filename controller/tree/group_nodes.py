"""The nodes of groups' settings: /config/groups/<id>, made with the first of them.

Kafka with ZooKeeper has no settings of groups, and its brokers report a notification about one as an error. So only
brokers that serve the consumer protocol write these nodes; beside a Kafka 3.9 they do not.
"""

from collections.abc import Callable, Mapping

from .client_entities import change_client_entity
from .config_tree import ConfigTree
from .entity_names import decode_entity_name, encode_entity_name
from .metadata_store import NoNodeError, ensure

__all__ = ["GROUPS", "change_group_settings", "group_of_node", "settings_of_groups"]

GROUPS = "groups"
_PATH = f"/config/{GROUPS}"


async def settings_of_groups(tree: ConfigTree) -> dict[str, dict[str, str]]:
    """The settings of all groups that have a node, by their ids. Raises MetadataStoreError."""
    try:
        found = await tree.configs(GROUPS)
    except NoNodeError:
        return {}
    return {group_of_node(name): settings for name, settings in found.items()}


async def change_group_settings(
    tree: ConfigTree, group_id: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> Mapping[str, str]:
    """Replace the settings of a group by the result of ``change``, and notify every broker; no settings: no node.

    Returns the new settings. ``change`` is called again if another writer was faster; its errors are passed on.
    ``group_id``: one that can have a node (`can_be_node`).
    """
    await ensure(tree.store, _PATH)
    return await change_client_entity(tree, GROUPS, encode_entity_name(group_id), change)


def group_of_node(name: str) -> str:
    """The id of the group whose node below /config/groups has this name."""
    return decode_entity_name(name)
