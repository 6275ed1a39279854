"""The partitions whose end marker waits for its next attempt, and the completions that do."""

from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from ....base.topic_partition import TopicPartition
from .end_markers import Ending
from .retry_delays import RetryDelays

__all__ = ["MarkerRetries", "MarkerRetry"]


class MarkerRetry(NamedTuple):
    """``partition``: None for the completion. ``number`` orders equal times."""

    due_ms: int
    number: int
    ending: Ending
    partition: TopicPartition | None
    has_leader: bool

    @property
    def is_needed(self) -> bool:
        return not self.ending.is_over and (self.partition is None or self.partition in self.ending.unwritten)


class MarkerRetries:
    """Retries by the time when they are due."""

    def __init__(self, delays: RetryDelays) -> None:
        self._delays = delays
        self._waiting: list[MarkerRetry] = []
        self._numbers = count()

    def add(self, ending: Ending, partition: TopicPartition | None, now_ms: int, *, has_leader: bool = True) -> None:
        """Try again after a delay that grows with each attempt."""
        attempt = ending.attempts.get(partition, 0) + 1
        ending.attempts[partition] = attempt
        due_ms = now_ms + self._delays.delay_ms(attempt)
        heappush(self._waiting, MarkerRetry(due_ms, next(self._numbers), ending, partition, has_leader))

    @property
    def next_due_ms(self) -> int | None:
        return self._waiting[0].due_ms if self._waiting else None

    def take_due(self, now_ms: int) -> list[MarkerRetry]:
        """Remove the retries whose delay is over. Returns those that are still needed."""
        due: list[MarkerRetry] = []
        while self._waiting and self._waiting[0].due_ms <= now_ms:
            due.append(heappop(self._waiting))
        return [each for each in due if each.is_needed]

    def take_all(self) -> list[MarkerRetry]:
        """Remove all retries. Returns those that are still needed, in the order in which they were due."""
        waiting, self._waiting = sorted(self._waiting, key=lambda each: each[:2]), []
        return [each for each in waiting if each.is_needed]

    def waiting_of(self, ending: Ending) -> set[TopicPartition | None]:
        """The partitions of an ending that wait for their next attempt; None: its completion waits."""
        return {each.partition for each in self._waiting if each.ending is ending}

    def take_leaderless(self) -> list[MarkerRetry]:
        """Remove the retries that wait for a leader. Returns those that are still needed."""
        leaderless = [each for each in self._waiting if not each.has_leader]
        self._waiting = [each for each in self._waiting if each.has_leader]
        heapify(self._waiting)
        return [each for each in leaderless if each.is_needed]
