"""The settings of topics from the metadata tree, in memory because logs are created where nothing can be awaited."""

import logging
from collections.abc import Iterable, Mapping

from ...config.topic_config import usable_overrides
from ...controller.topics.settings_limit import settings_bytes
from ...controller.tree.cluster_tree import ClusterTree

__all__ = ["TopicOverrides"]

logger = logging.getLogger(__name__)

_ENTITY_TYPE = "topics"


class TopicOverrides:
    """Calling it with a topic's name returns the topic's own settings; before `load` there are none.

    Invalid settings in the tree, written by another kind of broker, are left out.
    """

    def __init__(self) -> None:
        self._settings: dict[str, Mapping[str, str]] = {}
        self.size_bytes = 0
        """The size of all settings, as `settings_bytes` counts it."""

    def __call__(self, topic: str) -> Mapping[str, str]:
        return self._settings.get(topic, {})

    async def load(self, tree: ClusterTree) -> None:
        """Read the settings of all topics."""
        for topic, settings in (await tree.configs(_ENTITY_TYPE)).items():
            self.put(topic, settings)

    async def refresh(self, tree: ClusterTree, topics: Iterable[str]) -> None:
        """Read the settings of ``topics`` again."""
        wanted = list(topics)
        if wanted:
            found = await tree.configs(_ENTITY_TYPE, wanted)
            for topic in wanted:
                self.put(topic, found.get(topic, {}))

    def put(self, topic: str, settings: Mapping[str, str]) -> None:
        """Store the settings that the tree now has for a topic."""
        good, problems = usable_overrides(settings)
        for problem in problems:
            logger.error("topic %s: a setting in the metadata is ignored: %s", topic, problem)
        self.forget(topic)
        if good:
            self._settings[topic] = good
            self.size_bytes += settings_bytes(good)

    def forget(self, topic: str) -> None:
        """Forget a deleted topic."""
        self.size_bytes -= settings_bytes(self._settings.pop(topic, {}))
