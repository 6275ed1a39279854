"""Finds topics whose names differ only in dots and underscores, which metrics cannot tell apart."""

from collections import defaultdict
from collections.abc import Iterable

from ..tree.cluster_tree import ClusterTree
from .topic_names import has_collision_chars, unified_name

__all__ = ["CollidingTopics"]


class CollidingTopics:
    """Caches the topics until one is created or deleted, because one request may name thousands."""

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree
        self._version: int | None = None
        self._by_unified_name: dict[str, list[str]] = {}

    async def of(self, name: str) -> list[str]:
        """The existing topics that collide with ``name``, including ``name`` itself if it exists."""
        if not has_collision_chars(name):
            return []
        version = await self._tree.topics_version()
        if version != self._version:
            self._by_unified_name = _by_unified_name(await self._tree.topics())  # of this version or a later one
            self._version = version
        return self._by_unified_name.get(unified_name(name), [])


def _by_unified_name(topics: Iterable[str]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for topic in topics:
        if has_collision_chars(topic):
            found[unified_name(topic)].append(topic)
    return dict(found)
