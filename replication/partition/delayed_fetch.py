"""A fetch that waits at the partitions it concerns, and what a partition knows of those who wait for it."""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from .fetch import FetchParams, PartitionFetch
from .timer import Timer

__all__ = ["DelayedFetch", "FetchWatchers", "IsEnough"]

_NEVER_PAUSED = float("-inf")


class DelayedFetch:
    """A fetch that found less than min bytes. ``available_bytes`` is what its partitions have for it by now."""

    __slots__ = (
        "_by_partition",
        "_finish",
        "_timer",
        "_watched_at",
        "available_bytes",
        "is_completed",
        "is_due",
        "is_gathering",
        "params",
    )

    def __init__(self, params: FetchParams, timer: "Timer[DelayedFetch]", finish: Callable[[], None]) -> None:
        self.params = params
        self.available_bytes = 0
        self.is_completed = False
        self.is_due = False  # for the loop's next turn
        self.is_gathering = False
        self._by_partition: dict[PartitionFetch, int] = {}
        self._watched_at: list[FetchWatchers] = []
        self._timer = timer
        self._finish = finish

    def watch(self, watchers: "FetchWatchers", fetch: PartitionFetch) -> None:
        watchers.add(self, fetch)
        self._watched_at.append(watchers)

    def count_answer(self) -> "list[FetchWatchers]":
        """It is about to be answered: counted where it waits. Returns the partitions with none counted before."""
        first = [watchers for watchers in self._watched_at if not watchers.answered]
        for watchers in self._watched_at:
            watchers.answered += 1
        return first

    def note_available(self, fetch: PartitionFetch, size_bytes: int) -> bool:
        """This partition now has ``size_bytes`` for us; returns whether that makes enough."""
        self.available_bytes += size_bytes - self._by_partition.get(fetch, 0)
        self._by_partition[fetch] = size_bytes
        return self.available_bytes >= self.params.min_bytes

    def complete(self) -> None:
        """Answer with what is there now."""
        if not self.is_completed:
            self._timer.one_died()
            self._end()

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        if not self.is_completed:
            self._timer.one_died()
            self._leave()

    def expire(self) -> None:
        self._end()

    def _end(self) -> None:
        finish = self._finish
        self._leave()
        finish()

    def _leave(self) -> None:
        self.is_completed = True
        for watchers in self._watched_at:
            watchers.discard(self)
        # The timer may keep a finished operation for a while: not what it was about, too.
        self._watched_at.clear()
        self._by_partition.clear()
        self._finish = _nothing


def _nothing() -> None:
    """What a finished fetch does."""


class FetchWatchers:
    """The fetches that wait for a partition, each with what it wants of it: ``eager`` ones in order of arrival, and
    ``patient`` ones, for which the last look did not find enough, in order of these looks."""

    __slots__ = ("answered", "changes", "eager", "patient", "paused_until_s")

    def __init__(self) -> None:
        self.eager: dict[DelayedFetch, PartitionFetch] = {}
        # With ``changes`` as they were at its look. As a queue: the first of a plain dict is behind all that have left.
        self.patient: OrderedDict[DelayedFetch, tuple[PartitionFetch, int]] = OrderedDict()
        self.changes = 0  # of the partition, while there are patient ones
        self.answered = 0  # of the consumers here, in this turn of the loop
        self.paused_until_s = _NEVER_PAUSED

    def __len__(self) -> int:
        return len(self.eager) + len(self.patient)

    def __bool__(self) -> bool:
        return bool(self.eager or self.patient)

    def __iter__(self) -> Iterator[DelayedFetch]:
        yield from self.eager
        yield from self.patient

    def add(self, operation: DelayedFetch, fetch: PartitionFetch) -> None:
        self.eager[operation] = fetch

    def discard(self, operation: DelayedFetch) -> None:
        """It waits no more; may be told of twice."""
        if self.eager.pop(operation, None) is None:
            self.patient.pop(operation, None)

    def was_not_enough(self, operation: DelayedFetch, fetch: PartitionFetch) -> None:
        """Looked at just now."""
        self.eager.pop(operation, None)
        self.patient.pop(operation, None)
        self.patient[operation] = fetch, self.changes

    def next_patient(self) -> tuple[DelayedFetch, PartitionFetch] | None:
        """The one that was not looked at for longest, if the partition has changed since."""
        for operation, (fetch, changes) in self.patient.items():
            return None if changes == self.changes else (operation, fetch)
        return None


IsEnough = Callable[[DelayedFetch, PartitionFetch], bool]
"""Whether its partition has enough for it by now."""
