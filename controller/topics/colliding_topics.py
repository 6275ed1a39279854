"""Finds topics whose names differ only in dots and underscores, which metrics cannot tell apart."""

from collections import defaultdict

from ..tree.cluster_tree import ClusterTree
from .topic_names import has_collision_chars, unified_name

__all__ = ["CollidingTopics"]


class CollidingTopics:
    """Follows the topics that are created and deleted. One request may name thousands."""

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree
        self._version: int | None = None
        self._topics: frozenset[str] = frozenset()
        self._by_unified_name: defaultdict[str, list[str]] = defaultdict(list)

    async def of(self, name: str) -> list[str]:
        """The existing topics that collide with ``name``, including ``name`` itself if it exists."""
        if not has_collision_chars(name):
            return []
        version = await self._tree.topics_version()
        if version != self._version:
            self._follow(frozenset(await self._tree.topics()))  # of this version or a later one
            self._version = version
        return sorted(self._by_unified_name.get(unified_name(name), ()))

    def _follow(self, topics: frozenset[str]) -> None:
        for topic in topics - self._topics:
            if has_collision_chars(topic):
                self._by_unified_name[unified_name(topic)].append(topic)
        for topic in self._topics - topics:
            if has_collision_chars(topic):
                left = self._by_unified_name[unified_name(topic)]
                left.remove(topic)
                if not left:
                    del self._by_unified_name[unified_name(topic)]
        self._topics = topics
