"""Counts what the members of a consumer group subscribe to, so that questions about the group take constant time."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from .records import MemberMetadata, ResolvedPattern

__all__ = ["Subscriptions", "changed", "unused_patterns"]


class Subscriptions:
    """``mentions``: how many topic names the members have sent, all together."""

    __slots__ = ("_assignors", "_patterns", "_topics", "mentions")

    def __init__(self) -> None:
        self._topics: dict[str, int] = {}
        """Topic → how many members name it and how many patterns match it."""
        self._patterns: dict[str, int] = {}
        self._assignors: dict[str, int] = {}
        self.mentions = 0

    def copy(self) -> "Subscriptions":
        other = Subscriptions()
        other._topics, other._patterns = self._topics.copy(), self._patterns.copy()
        other._assignors, other.mentions = self._assignors.copy(), self.mentions
        return other

    # -- changes

    def add(self, metadata: MemberMetadata) -> None:
        _count(self._topics, metadata.names, 1)
        _count(self._patterns, _given(metadata.pattern), 1)
        _count(self._assignors, _given(metadata.server_assignor), 1)
        self.mentions += len(metadata.names)

    def remove(self, metadata: MemberMetadata) -> None:
        _count(self._topics, metadata.names, -1)
        _count(self._patterns, _given(metadata.pattern), -1)
        _count(self._assignors, _given(metadata.server_assignor), -1)
        self.mentions -= len(metadata.names)

    def add_matches(self, topics: Iterable[str]) -> None:
        """A pattern matches these topics."""
        _count(self._topics, topics, 1)

    def remove_matches(self, topics: Iterable[str]) -> None:
        _count(self._topics, topics, -1)

    # -- questions

    @property
    def topics(self) -> Collection[str]:
        """Topics that members name, or that their patterns match."""
        return self._topics.keys()

    @property
    def patterns(self) -> Collection[str]:
        """The patterns of the members, whether they are resolved or not."""
        return self._patterns.keys()

    def count_with(self, pattern: str) -> int:
        """How many members use the pattern."""
        return self._patterns.get(pattern, 0)

    def assignor(self, offered: Sequence[str]) -> str:
        """The assignor that most members prefer. Without preferences, and among equals, the one offered first."""
        return max(offered, key=lambda name: self._assignors.get(name, 0))

    @property
    def preferred_assignor(self) -> str | None:
        """The assignor that most members prefer; None when none prefers any."""
        return max(self._assignors, key=self._assignors.__getitem__, default=None)


def changed(
    subscriptions: Subscriptions,
    unused: Iterable[ResolvedPattern],
    removed: Iterable[MemberMetadata],
    added: MemberMetadata | None,
) -> Subscriptions:
    """The subscriptions when members and patterns are removed and a member is added."""
    after = subscriptions.copy()
    for metadata in removed:
        after.remove(metadata)
    if added is not None:
        after.add(added)
    for resolved in unused:
        after.remove_matches(resolved.topics)
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
