"""The settings of groups from the metadata tree, in memory, because coordinators cannot wait for them."""

from collections.abc import Collection, Mapping

from ...config.config import Config
from ...config.group_config import GroupConfig
from ...controller.topics.settings_limit import settings_bytes
from ...controller.tree.config_tree import ConfigTree
from ...controller.tree.group_nodes import group_of_node, settings_of_groups
from ...protocol.text_size import text_bytes

__all__ = ["GroupConfigs", "size_of"]

_GROUP_BYTES = 1_500
"""Memory for the settings of a group, beside their texts."""


class GroupConfigs:
    """Calling it with a group's id returns the settings in force for the group. The broker's settings for groups, which
    are the defaults, do not change while it runs."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._default = GroupConfig.in_force(config, {})
        self._configs: dict[str, GroupConfig] = {}
        self.size_bytes = 0
        """The size of all groups' ids and own settings."""

    def __call__(self, group_id: str) -> GroupConfig:
        return self._configs.get(group_id, self._default)

    @property
    def group_ids(self) -> Collection[str]:
        """The groups that have settings of their own."""
        return self._configs.keys()

    async def load(self, tree: ConfigTree) -> None:
        """Read the settings of all groups. Raises MetadataStoreError."""
        for group_id, settings in (await settings_of_groups(tree)).items():
            self._put(group_id, settings)

    async def take(self, node_name: str, settings: Mapping[str, str]) -> None:
        """Apply changed settings; from now on calls return them."""
        self._put(group_of_node(node_name), settings)

    def _put(self, group_id: str, settings: Mapping[str, str]) -> None:
        before = self._configs.pop(group_id, None)
        if before is not None:
            self.size_bytes -= size_of(group_id, before.overrides)
        group = GroupConfig.in_force(self._config, settings)
        if group.overrides:
            self._configs[group_id] = group
            self.size_bytes += size_of(group_id, group.overrides)


def size_of(group_id: str, settings: Mapping[str, str]) -> int:
    """The size of a group's settings, as `GroupConfigs.size_bytes` counts it."""
    return _GROUP_BYTES + text_bytes(group_id) + settings_bytes(settings) if settings else 0
