"""Topics' own settings, as the tree has them: read ahead, since logs are made where nothing may be awaited."""

from collections.abc import Iterable, Mapping

from ..controller.cluster_tree import ClusterTree

__all__ = ["TopicOverrides"]

_ENTITY_TYPE = "topics"


class TopicOverrides:
    """Called with a topic's name, it gives the settings that stand above the broker's: none before `load`."""

    def __init__(self) -> None:
        self._settings: dict[str, Mapping[str, str]] = {}

    def __call__(self, topic: str) -> Mapping[str, str]:
        return self._settings.get(topic, {})

    async def load(self, tree: ClusterTree) -> None:
        """Read those of all topics."""
        self._settings = dict(await tree.configs(_ENTITY_TYPE))

    async def refresh(self, tree: ClusterTree, topics: Iterable[str]) -> None:
        """Read those of ``topics`` again."""
        for topic in topics:
            settings = await tree.config(_ENTITY_TYPE, topic)
            if settings:
                self._settings[topic] = settings
            else:
                self._settings.pop(topic, None)
