"""Which groups read a topic, so that a change of the topic reaches them without a look at every group."""

from collections.abc import Collection

__all__ = ["SubscriptionIndex"]

_NONE: frozenset[str] = frozenset()


class SubscriptionIndex:
    """Topic names → ids of the groups whose members subscribe to them, by name or by a pattern."""

    def __init__(self) -> None:
        self._topics: dict[str, frozenset[str]] = {}
        self._groups: dict[str, set[str]] = {}

    def set(self, group_id: str, topics: frozenset[str]) -> None:
        """The group reads these topics from now on; none when it has ended."""
        before = self._topics.pop(group_id, _NONE)
        if topics:
            self._topics[group_id] = topics
        for topic in before - topics:
            self._groups[topic].discard(group_id)
            if not self._groups[topic]:
                del self._groups[topic]
        for topic in topics - before:
            self._groups.setdefault(topic, set()).add(group_id)

    def groups_of(self, topic: str) -> Collection[str]:
        return tuple(self._groups.get(topic, ()))
