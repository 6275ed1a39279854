"""Which groups read a topic, so that a change of the topic reaches them without a look at every group."""

from collections.abc import Collection

from .subscribed_topics import TopicChanges

__all__ = ["SubscriptionIndex"]


class SubscriptionIndex:
    """Topic names → ids of the groups whose members subscribe to them, by name or by a pattern."""

    def __init__(self) -> None:
        self._groups: dict[str, set[str]] = {}

    def change(self, group_id: str, changes: TopicChanges) -> None:
        """The group reads other topics from now on."""
        for topic in changes.went:
            groups = self._groups.get(topic)
            if groups is not None:
                groups.discard(group_id)
                if not groups:
                    del self._groups[topic]
        for topic in changes.came:
            self._groups.setdefault(topic, set()).add(group_id)

    def groups_of(self, topic: str) -> Collection[str]:
        return tuple(self._groups.get(topic, ()))
