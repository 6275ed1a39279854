"""The topics of a group's members: how many subscriptions each has, and their `metadata_hash`.

**Why.** A group may have 100,000 topics, while a member that joins or leaves has a few. Each change costs as much as
the topics that it is about: the hash is a sum, to which topics that come are added, and from which others are taken.
"""

from collections.abc import Collection, Generator, Iterable, Mapping
from typing import NamedTuple

from .topics import TopicLookup, metadata_hash, signed_64

__all__ = ["NO_CHANGES", "SubscribedTopics", "TopicChanges"]


class TopicChanges(NamedTuple):
    """``came``: topics that nobody subscribed to before. ``went``: topics that nobody subscribes to any more."""

    came: Collection[str]
    went: Collection[str]


NO_CHANGES = TopicChanges((), ())
_STEP = 200
"""How many topics one step looks up."""


class SubscribedTopics:
    """``topics``: those with at least one subscription."""

    __slots__ = ("_changed", "_counts", "_hash", "_since")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._changed: set[str] = set()
        """The topics that came or went since `take_changes`."""
        self._hash: int | None = None
        """The hash of the topics at the last `take_changes`; None: the next question computes it."""
        self._since: set[str] | None = None
        """The topics that came or went since the first of `hash_steps`; None: the hash is not being computed."""

    def copy(self) -> "SubscribedTopics":
        other = SubscribedTopics()
        other._counts, other._changed, other._hash = self._counts.copy(), self._changed.copy(), self._hash
        return other

    @property
    def topics(self) -> Collection[str]:
        return self._counts.keys()

    # -- changes

    def count(self, names: Iterable[str], change: int) -> None:
        """Subscriptions to these topics come (1), or go (-1)."""
        counts = self._counts
        for name in names:
            before = counts.get(name, 0)
            if before + change:
                counts[name] = before + change
            else:
                del counts[name]
            if not before or not before + change:
                self._flip(name)

    def _flip(self, name: str) -> None:
        """The topic came, or went. Both together are no change."""
        self._changed ^= {name}
        if self._since is not None:
            self._since ^= {name}

    def take_changes(self, lookup: TopicLookup) -> TopicChanges:
        """The topics that came and went since the last call."""
        if not self._changed:
            return NO_CHANGES
        changed, self._changed = self._changed, set()
        counts = self._counts
        changes = TopicChanges(
            [name for name in changed if name in counts], [name for name in changed if name not in counts]
        )
        if self._hash is not None:
            self._hash = _changed_hash(self._hash, changes, lookup)
        return changes

    def forget_hash(self) -> None:
        """The metadata of some topic changed."""
        self._hash = None

    def assume_hash(self, value: int) -> None:
        """Answer questions by this hash, which was stored, until `hash_steps` is over."""
        if self._hash is None:
            self._hash = value

    def hash_steps(self, lookup: TopicLookup) -> Generator[None, None, None]:
        """Compute the hash anew in short steps. Until the end, the old one answers questions."""
        names, total = tuple(self._counts), 0
        self._since = set()
        for first in range(0, len(names), _STEP):
            total += metadata_hash(names[first : first + _STEP], lookup)
            yield
        changed, self._since = self._since, None
        if self._changed:  # they are not in the hash yet: the next question computes it
            self._hash = None
            return
        came = [name for name in changed if name in self._counts]
        went = [name for name in changed if name not in self._counts]
        self._hash = _changed_hash(total, TopicChanges(came, went), lookup)

    # -- questions

    def changes_by(self, counts: Mapping[str, int]) -> TopicChanges:
        """The topics that would come and go if these numbers of subscriptions were added."""
        own = self._counts
        return TopicChanges(
            [name for name, change in counts.items() if change > 0 and name not in own],
            [name for name, change in counts.items() if change < 0 and own.get(name) == -change],
        )

    def changes_between(self, removed: Iterable[str], added: Iterable[str]) -> TopicChanges:
        """The topics that would come and go if one subscription to each of ``removed`` were replaced by ``added``."""
        counts = dict.fromkeys(added, 1)
        for name in removed:
            if counts.pop(name, 0) == 0:
                counts[name] = -1
        return self.changes_by(counts)

    def topics_after(self, changes: TopicChanges) -> Collection[str]:
        """The topics when these have come and gone."""
        if changes is NO_CHANGES:
            return self.topics
        return set(self._counts).difference(changes.went).union(changes.came)

    def count_after(self, changes: TopicChanges) -> int:
        """The number of topics when these have come and gone."""
        return len(self._counts) - len(changes.went) + len(changes.came)

    def hash_after(self, changes: TopicChanges, lookup: TopicLookup) -> int:
        """The `metadata_hash` of the topics when these have come and gone."""
        if self._changed:  # they are not in the hash yet
            before = metadata_hash(self._counts, lookup)
        else:
            if self._hash is None:
                self._hash = metadata_hash(self._counts, lookup)
            before = self._hash
        return _changed_hash(before, changes, lookup)


def _changed_hash(before: int, changes: TopicChanges, lookup: TopicLookup) -> int:
    return signed_64(before + metadata_hash(changes.came, lookup) - metadata_hash(changes.went, lookup))
