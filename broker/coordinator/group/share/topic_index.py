"""Which share groups have to know of a change of a topic: those that read it, and those that noted a state of it."""

from collections.abc import Collection, Iterable, Mapping, Set
from uuid import UUID

from ..modern.subscribed_topics import TopicChanges
from ..modern.subscriptions import SubscriptionIndex
from ..modern.topics import TopicLookup
from .records import RecordKind, Removed, ShareRecord, StatePartitions
from .share_group import ShareGroup
from .states import topic_ids_by_name

__all__ = ["ShareTopicIndex", "is_about_states"]

_NO_TOPICS: Mapping[str, frozenset[UUID]] = {}
_NO_IDS: frozenset[UUID] = frozenset()


class ShareTopicIndex:
    """Topic names → ids of groups."""

    def __init__(self, topics: TopicLookup) -> None:
        self._topics = topics
        self._subscribed = SubscriptionIndex()
        self._having_states = SubscriptionIndex()
        self._noted: dict[str, Mapping[str, frozenset[UUID]]] = {}
        """By group id, the topics in `_having_states`, with the ids under which the group noted them."""

    def groups_of(self, topic: str) -> Collection[str]:
        return {*self._subscribed.groups_of(topic), *self._having_states.groups_of(topic)}

    def ids_with_states(self, group_id: str, topic: str) -> Set[UUID]:
        """The ids under which the group noted states of topics of this name."""
        return self._noted.get(group_id, _NO_TOPICS).get(topic, _NO_IDS)

    def loaded(self, group: ShareGroup) -> None:
        self._note_subscriptions(group)
        self._note_states(group.group_id, topic_ids_by_name(group.states))

    def follow(self, group: ShareGroup, records: Iterable[ShareRecord]) -> None:
        """The group has changed by these records."""
        self._note_subscriptions(group)
        if any(map(is_about_states, records)):
            self._note_states(group.group_id, topic_ids_by_name(group.states))

    def ended(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._subscribed.change(group.group_id, TopicChanges((), group.subscribers.topics))
        self._note_states(group.group_id, _NO_TOPICS)

    def _note_subscriptions(self, group: ShareGroup) -> None:
        self._subscribed.change(group.group_id, group.subscribers.take_changes(self._topics))

    def _note_states(self, group_id: str, topics: Mapping[str, frozenset[UUID]]) -> None:
        before = self._noted.pop(group_id, _NO_TOPICS)
        if topics:
            self._noted[group_id] = topics
        came, went = topics.keys() - before.keys(), before.keys() - topics.keys()
        self._having_states.change(group_id, TopicChanges(came, went))


def is_about_states(record: ShareRecord) -> bool:
    """Whether other partitions have a state after this record."""
    return isinstance(record, StatePartitions) or (isinstance(record, Removed) and record.kind is RecordKind.STATES)
