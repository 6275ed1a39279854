"""Decides where micro-batches end, from offsets and the time. Pure state."""

from __future__ import annotations

from collections.abc import Mapping

from ...base.topic_partition import TopicPartition
from ..options.partition_json import PartitionNumbers
from .offset_ranges import limit_offsets
from .stream_position import Position, offsets_of, position_of


class MicroBatches:
    """The state of a streaming query. `latest`: ends of the partitions. `target`: where a query with
    Trigger.AvailableNow stops.
    """

    def __init__(self, max_offsets: int | None, min_offsets: int | None, max_delay_ms: int) -> None:
        self._max_offsets = max_offsets
        self._min_offsets = min_offsets
        self._max_delay_ms = max_delay_ms
        self._last_batch_ms = 0
        self._first: Position | None = None
        self.latest: PartitionNumbers = {}
        self.target: PartitionNumbers | None = None

    def begin(self, offsets: Mapping[TopicPartition, int]) -> Position:
        """Sets and returns the start of a new query."""
        self._first = position_of(offsets)
        return self._first

    def learn(self, latest: PartitionNumbers) -> None:
        """Sets the current ends of the partitions."""
        self.latest = latest

    def stop_at(self, target: PartitionNumbers) -> None:
        """Sets the offsets at which the query stops (Trigger.AvailableNow)."""
        self.target = self.latest = target

    def end(self, start: Position, added: Mapping[TopicPartition, int], *, now_ms: int, takes_all: bool) -> Position:
        """Returns the end of the batch that begins at `start`; returns `start` if there is to be no batch.

        `added`: the first offsets of partitions that `start` lacks. `takes_all`: ignore the limits.
        """
        begun = offsets_of(start)
        ends = self._ends(begun, added, now_ms, takes_all)
        if self._first is not None and start == self._first:
            # Spark also runs an empty first batch, and may run it again.
            return position_of(ends, begun)
        return start if ends == begun else position_of(ends)  # the unchanged object: Spark compares the JSON text

    def _ends(
        self, begun: PartitionNumbers, added: Mapping[TopicPartition, int], now_ms: int, takes_all: bool
    ) -> PartitionNumbers:
        started = {**begun, **added}
        if self._is_too_little(started, now_ms) and not takes_all and self.target is None:
            return begun
        ends = self.latest
        if self._max_offsets is not None and not takes_all:
            ends = limit_offsets(self._max_offsets, started, ends)
        if ends != begun:
            self._last_batch_ms = now_ms
        return ends

    def _is_too_little(self, started: Mapping[TopicPartition, int], now_ms: int) -> bool:
        if self._min_offsets is None or now_ms - self._last_batch_ms >= self._max_delay_ms:
            return False
        return sum(end - started.get(at, 0) for at, end in self.latest.items()) < self._min_offsets
