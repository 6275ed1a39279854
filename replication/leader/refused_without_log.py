"""The batches of idempotent producers that were refused because their partition has no log on this broker.

Why: the broker may get the log a moment later, as at its start. The producer's next batches must then be refused alike
(see `RefusedBatches`).
"""

from ...base.timers import Scheduler, TimerHandle
from ...base.topic_partition import TopicPartition
from ...storage.producers.refused_batches import FORGOTTEN_AFTER_MS, RefusedBatch, RefusedBatches

__all__ = ["MAX_REFUSED", "RefusedWithoutLog"]

MAX_REFUSED = 10_000
"""Batches of all partitions together."""


class RefusedWithoutLog:
    """Removes batches one to two minutes after their refusal; after one minute they have no effect any more."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._partitions: dict[TopicPartition, RefusedBatches] = {}
        """In the order of their last refusals."""
        self._count = 0
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def note(self, topic_partition: TopicPartition, refused: RefusedBatch) -> None:
        """Remember a refused batch. Over `MAX_REFUSED` the partition refused longest ago is forgotten."""
        batches = self._partitions.pop(topic_partition, None) or RefusedBatches()
        self._partitions[topic_partition] = batches
        self._count -= len(batches)
        batches.note(refused, MAX_REFUSED)
        self._count += len(batches)
        while self._count > MAX_REFUSED:
            self.take(next(iter(self._partitions)))
        if self._timer is None:
            self._expire_later(refused.refused_ms)

    def take(self, topic_partition: TopicPartition) -> list[RefusedBatch]:
        """Remove and return the batches of a partition."""
        batches = list(self._partitions.pop(topic_partition, ()))
        self._count -= len(batches)
        return batches

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire_later(self, now_ms: int) -> None:
        then_ms = now_ms + FORGOTTEN_AFTER_MS
        self._timer = self._scheduler.call_later(FORGOTTEN_AFTER_MS / 1000, self._expire, then_ms)

    def _expire(self, now_ms: int) -> None:
        for batches in self._partitions.values():
            batches.remove_expired(now_ms)
        self._partitions = {key: batches for key, batches in self._partitions.items() if batches}
        self._count = sum(map(len, self._partitions.values()))
        self._timer = None
        if self._partitions:
            self._expire_later(now_ms)
