"""Which share groups have to know of a change of a topic: those that read it, and those that noted a state of it."""

from collections.abc import Collection, Iterable

from ..modern.subscribed_topics import TopicChanges
from ..modern.subscriptions import SubscriptionIndex
from ..modern.topics import TopicLookup
from .records import RecordKind, Removed, ShareRecord, StatePartitions
from .share_group import ShareGroup
from .states import topic_names

__all__ = ["ShareTopicIndex"]

_NONE: frozenset[str] = frozenset()


class ShareTopicIndex:
    """Topic names → ids of groups."""

    def __init__(self, topics: TopicLookup) -> None:
        self._topics = topics
        self._subscribed = SubscriptionIndex()
        self._having_states = SubscriptionIndex()
        self._noted: dict[str, frozenset[str]] = {}
        """By group id, the topics in `_having_states`."""

    def groups_of(self, topic: str) -> Collection[str]:
        return {*self._subscribed.groups_of(topic), *self._having_states.groups_of(topic)}

    def loaded(self, group: ShareGroup) -> None:
        self._note_subscriptions(group)
        self._note_states(group.group_id, frozenset(topic_names(group.states)))

    def follow(self, group: ShareGroup, records: Iterable[ShareRecord]) -> None:
        """The group has changed by these records."""
        self._note_subscriptions(group)
        if any(map(_is_about_states, records)):
            self._note_states(group.group_id, frozenset(topic_names(group.states)))

    def ended(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._subscribed.change(group.group_id, TopicChanges((), group.subscribers.topics))
        self._note_states(group.group_id, _NONE)

    def _note_subscriptions(self, group: ShareGroup) -> None:
        self._subscribed.change(group.group_id, group.subscribers.take_changes(self._topics))

    def _note_states(self, group_id: str, topics: frozenset[str]) -> None:
        before = self._noted.pop(group_id, _NONE)
        if topics:
            self._noted[group_id] = topics
        self._having_states.change(group_id, TopicChanges(topics - before, before - topics))


def _is_about_states(record: ShareRecord) -> bool:
    return isinstance(record, StatePartitions) or (isinstance(record, Removed) and record.kind is RecordKind.STATES)
