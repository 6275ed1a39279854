"""Counts what the members of a consumer group subscribe to, so that questions about the group take constant time."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..modern.subscribed_topics import NO_CHANGES, SubscribedTopics, TopicChanges
from ..modern.topics import TopicLookup
from .records import MemberMetadata, ResolvedPattern

__all__ = ["SubscriptionDraft", "Subscriptions", "changed", "unused_patterns"]


class Subscriptions:
    """``subscribed``: the topics that members name, or that their patterns match.

    ``mentions``: how many topic names the members have sent, all together.
    """

    __slots__ = ("_assignors", "_patterns", "mentions", "subscribed")

    def __init__(self) -> None:
        self.subscribed = SubscribedTopics()
        self._patterns: dict[str, int] = {}
        self._assignors: dict[str, int] = {}
        self.mentions = 0

    def copy(self) -> "Subscriptions":
        other = Subscriptions()
        other.subscribed, other._patterns = self.subscribed.copy(), self._patterns.copy()
        other._assignors, other.mentions = self._assignors.copy(), self.mentions
        return other

    # -- changes

    def add(self, metadata: MemberMetadata) -> None:
        self._count(metadata, 1)

    def remove(self, metadata: MemberMetadata) -> None:
        self._count(metadata, -1)

    def _count(self, metadata: MemberMetadata, change: int) -> None:
        self.subscribed.count(metadata.names, change)
        _count(self._patterns, _given(metadata.pattern), change)
        _count(self._assignors, _given(metadata.server_assignor), change)
        self.mentions += change * len(metadata.names)

    def add_matches(self, topics: Iterable[str]) -> None:
        """A pattern matches these topics."""
        self.subscribed.count(topics, 1)

    def remove_matches(self, topics: Iterable[str]) -> None:
        self.subscribed.count(topics, -1)

    # -- questions

    @property
    def topics(self) -> Collection[str]:
        """Topics that members name, or that their patterns match."""
        return self.subscribed.topics

    @property
    def patterns(self) -> Collection[str]:
        """The patterns of the members, whether they are resolved or not."""
        return self._patterns.keys()

    def topics_hash(self, lookup: TopicLookup) -> int:
        """The `metadata_hash` of the topics."""
        return self.subscribed.hash_after(NO_CHANGES, lookup)

    def count_with(self, pattern: str) -> int:
        """How many members use the pattern."""
        return self._patterns.get(pattern, 0)

    def count_preferring(self, assignor: str) -> int:
        """How many members prefer the assignor."""
        return self._assignors.get(assignor, 0)

    def assignor(self, offered: Sequence[str]) -> str:
        """The assignor that most members prefer. Without preferences, and among equals, the one offered first."""
        return max(offered, key=self.count_preferring)

    @property
    def preferred_assignor(self) -> str | None:
        """The assignor that most members prefer; None when none prefers any."""
        return max(self._assignors, key=self._assignors.__getitem__, default=None)


class SubscriptionDraft:
    """Subscriptions as they would be after changes. It keeps the differences, so that it costs as much as these."""

    __slots__ = ("_assignors", "_before", "_topics", "mentions")

    def __init__(self, before: Subscriptions) -> None:
        self._before = before
        self._topics: dict[str, int] = {}
        self._assignors: dict[str, int] = {}
        self.mentions = before.mentions

    def count(self, metadata: MemberMetadata, change: int) -> None:
        """A member comes with this metadata (1), or goes (-1)."""
        self.count_matches(metadata.names, change)
        _count(self._assignors, _given(metadata.server_assignor), change)
        self.mentions += change * len(metadata.names)

    def count_matches(self, topics: Iterable[str], change: int) -> None:
        """A pattern begins to match these topics (1), or ends to (-1)."""
        _count(self._topics, topics, change)

    def topics(self) -> Collection[str]:
        return self._before.subscribed.topics_after(self._changes())

    def topic_count(self) -> int:
        return self._before.subscribed.count_after(self._changes())

    def topics_hash(self, lookup: TopicLookup) -> int:
        """The `metadata_hash` of the topics."""
        return self._before.subscribed.hash_after(self._changes(), lookup)

    def _changes(self) -> TopicChanges:
        return self._before.subscribed.changes_by(self._topics)

    def assignor(self, offered: Sequence[str]) -> str:
        """See `Subscriptions.assignor`."""
        before, more = self._before, self._assignors
        return max(offered, key=lambda name: before.count_preferring(name) + more.get(name, 0))


def changed(
    subscriptions: Subscriptions,
    unused: Iterable[ResolvedPattern],
    removed: Iterable[MemberMetadata],
    added: MemberMetadata | None,
) -> SubscriptionDraft:
    """The subscriptions when members and patterns are removed and a member is added."""
    after = SubscriptionDraft(subscriptions)
    for metadata in removed:
        after.count(metadata, -1)
    if added is not None:
        after.count(added, 1)
    for resolved in unused:
        after.count_matches(resolved.topics, -1)
    return after


def unused_patterns(
    subscriptions: Subscriptions,
    patterns: Mapping[str, ResolvedPattern],
    removed: Collection[MemberMetadata],
    added: MemberMetadata | None,
) -> list[ResolvedPattern]:
    """The resolved patterns that no member uses any more when members are removed and one is added."""
    counts: dict[str, int] = {}
    for metadata in removed:
        for pattern in _given(metadata.pattern):
            counts[pattern] = counts.get(pattern, 0) + 1
    return [
        patterns[pattern]
        for pattern, count in counts.items()
        if pattern in patterns
        and subscriptions.count_with(pattern) == count
        and (added is None or added.pattern != pattern)
    ]


def _given(name: str | None) -> tuple[str, ...]:
    return (name,) if name else ()


def _count(counts: dict[str, int], names: Iterable[str], change: int) -> None:
    for name in names:
        count = counts.get(name, 0) + change
        if count:
            counts[name] = count
        else:
            del counts[name]
