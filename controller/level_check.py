"""Whether a broker supports the feature levels of its cluster. Kafka refuses the registration of one that does not."""

from collections.abc import Mapping

from ..config.config import Config
from .features import LAST_LEVELS, levels_in, supported_features
from .tree import znodes
from .tree.config_tree import read_watched
from .tree.metadata_store import MetadataStore

__all__ = ["UnsupportedLevelError", "check_levels", "check_stored_levels"]


class UnsupportedLevelError(Exception):
    """The cluster has a level of ``feature`` that this broker does not support. ``highest``: the level that it does."""

    def __init__(self, feature: str, level: int, highest: int) -> None:
        super().__init__(f"{feature} is {level} in this cluster, but this broker supports levels up to {highest}")
        self.feature = feature


def check_levels(levels: Mapping[str, int], config: Config) -> None:
    """Raises UnsupportedLevelError when a broker with these settings may not join a cluster with these levels.

    It would become the coordinator of groups that it does not read.
    """
    supported = supported_features(config)
    for name, level in levels.items():
        highest = LAST_LEVELS[name] if name in supported else 0
        if level > highest:
            raise UnsupportedLevelError(name, level, highest)


async def check_stored_levels(store: MetadataStore, config: Config) -> None:
    """`check_levels` for the levels in the tree. Also raises MetadataStoreError."""
    node = await read_watched(store, znodes.FEATURE_PATH, None)
    check_levels({} if node is None else levels_in(node[0]), config)
