"""A fetch that waits for records, and the list of fetches that wait for one partition."""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from .fetch import FetchParams, PartitionFetch
from .timer import Timer

__all__ = ["DelayedFetch", "FetchWatchers", "IsEnough"]

_NEVER_PAUSED = float("-inf")


class DelayedFetch:
    """A parked fetch. ``available_bytes`` is what its partitions had for it at the last look."""

    __slots__ = (
        "_by_partition",
        "_finish",
        "_timer",
        "_watched_at",
        "available_bytes",
        "is_completed",
        "params",
    )

    def __init__(self, params: FetchParams, timer: "Timer[DelayedFetch]", finish: Callable[[], None]) -> None:
        self.params = params
        self.available_bytes = 0
        self.is_completed = False
        self._by_partition: dict[PartitionFetch, int] = {}
        self._watched_at: list[FetchWatchers] = []
        self._timer = timer
        self._finish = finish

    def watch(self, watchers: "FetchWatchers", fetch: PartitionFetch) -> None:
        watchers.add(self, fetch)
        self._watched_at.append(watchers)

    def count_answer(self) -> "list[FetchWatchers]":
        """Count the coming response at each partition it waits for. Returns those whose count was zero."""
        first = [watchers for watchers in self._watched_at if not watchers.answered]
        for watchers in self._watched_at:
            watchers.answered += 1
        return first

    def note_available(self, fetch: PartitionFetch, size_bytes: int) -> bool:
        """This partition now has ``size_bytes`` for the fetch. Returns whether all its partitions together have the
        fetch's min bytes."""
        self.available_bytes += size_bytes - self._by_partition.get(fetch, 0)
        self._by_partition[fetch] = size_bytes
        return self.available_bytes >= self.params.min_bytes

    def complete(self) -> None:
        """Answer with the records that are there now."""
        if not self.is_completed:
            self._timer.one_finished()
            self._end()

    def abandon(self) -> None:
        """The client has gone: end without a response."""
        if not self.is_completed:
            self._timer.one_finished()
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
        # The timer may keep a finished operation for a while; it must not keep the request with it.
        self._watched_at.clear()
        self._by_partition.clear()
        self._finish = _nothing


def _nothing() -> None:
    """The ``finish`` of a fetch that has ended."""


class FetchWatchers:
    """The fetches that wait for one partition: those that any new record completes, and those with a larger min bytes.

    Both are in order: ``any_record`` of arrival, ``min_bytes`` of the last check, the longest ago first.
    """

    __slots__ = ("answered", "any_record", "changes", "is_woken", "min_bytes", "paused_until_s")

    def __init__(self) -> None:
        self.any_record: dict[DelayedFetch, PartitionFetch] = {}
        # With ``changes`` as it was at the check. A plain dict finds its first entry behind all that have left.
        self.min_bytes: OrderedDict[DelayedFetch, tuple[PartitionFetch, int]] = OrderedDict()
        self.changes = 0  # of the partition, while fetches with min bytes wait
        self.answered = 0  # consumers in this iteration of the loop
        self.is_woken = False  # a look at ``any_record`` is scheduled
        self.paused_until_s = _NEVER_PAUSED

    def __len__(self) -> int:
        return len(self.any_record) + len(self.min_bytes)

    def __bool__(self) -> bool:
        return bool(self.any_record or self.min_bytes)

    def __iter__(self) -> Iterator[DelayedFetch]:
        yield from self.any_record
        yield from self.min_bytes

    def add(self, operation: DelayedFetch, fetch: PartitionFetch) -> None:
        if operation.params.min_bytes <= 1:
            self.any_record[operation] = fetch
        else:
            self.min_bytes[operation] = fetch, self.changes

    def discard(self, operation: DelayedFetch) -> None:
        """The operation does not wait any more; may be called twice."""
        if self.any_record.pop(operation, None) is None:
            self.min_bytes.pop(operation, None)

    def next_unchecked(self) -> tuple[DelayedFetch, PartitionFetch] | None:
        """The fetch with min bytes that was not checked for longest, if the partition has changed since. It counts as
        checked from now on."""
        for operation, (fetch, changes) in self.min_bytes.items():
            if changes == self.changes:
                return None
            self.min_bytes[operation] = fetch, self.changes
            self.min_bytes.move_to_end(operation)
            return operation, fetch
        return None


IsEnough = Callable[[DelayedFetch, PartitionFetch], bool]
"""Whether the fetch has enough, counting the bytes that this partition has for it by now."""
