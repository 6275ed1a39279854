"""Checks that old records are deleted only where a client asked for it or the topic's settings allow it.

By size, complete segments are deleted while at least `retention.bytes` remain. By time, segments are deleted if all
their records are older than `retention.ms` by the broker's clock.

A replica may start where another correct replica starts; a new replica may start nowhere else. After a crash some
deleted records may exist again, but no others may be missing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pybroker.replication.partition.hosted_partition import HostedPartition
from simulation.checkers.committed_batches import CommittedBatches
from simulation.checkers.history import History, Place, ViolationError

if TYPE_CHECKING:
    from simulation.machines.simulated_broker import SimulatedBroker

__all__ = ["TrimmingChecker"]


class TrimmingChecker:
    """`saw` records the log starts; `judge` then checks the logs whose start has risen since."""

    def __init__(self, history: History, committed: Mapping[Place, CommittedBatches]) -> None:
        self._history = history
        self._committed = committed
        self._starts: dict[tuple[int, object, Place], int] = {}
        """By broker, topic id and partition; kept over restarts of the broker."""
        self._by_right: dict[tuple[object, Place], int] = {}
        self._rises: list[tuple[SimulatedBroker, HostedPartition, int | None]] = []
        """The previous log start is the last item; None if the log is new."""

    def saw(self, broker: "SimulatedBroker", hosted: HostedPartition) -> None:
        place: Place = hosted.topic_partition
        if hosted.partition.topic_id is None:  # the log is being opened
            return
        key = (broker.broker_id, hosted.partition.topic_id, place)
        start = hosted.log.view.log_start_offset
        before = self._starts.get(key)
        self._starts[key] = start
        if start > (before or 0):
            self._rises.append((broker, hosted, before))

    def judge(self) -> None:
        """Check the log starts that have risen. Raises ViolationError."""
        rises, self._rises = self._rises, []
        for broker, hosted, before in rises:
            if before is not None:  # a new replica, which starts where another one does
                self._judge_own(broker, hosted, before)
        for broker, hosted, before in rises:
            place, start = hosted.topic_partition, hosted.log.view.log_start_offset
            by_right = self._by_right.get((hosted.partition.topic_id, place), 0)
            if start > max(by_right, self._history.deletions.get(place, 0)):
                raise ViolationError(
                    f"{place}: broker {broker.broker_id} begins at offset {start} (before: {before}) with "
                    f"{hosted.log.view.size_bytes} bytes left; asked for was {self._history.deletions.get(place, 0)}, "
                    f"settings are {self._history.kept_to_size.get(place[0])}"
                )

    def _judge_own(self, broker: "SimulatedBroker", hosted: HostedPartition, before: int) -> None:
        """Whether the broker's own deletion was allowed."""
        place, view = hosted.topic_partition, hosted.log.view
        settings = self._history.kept_to_size.get(place[0], {})
        size, age_ms = settings.get("retention.bytes"), settings.get("retention.ms")
        is_right = size is not None and view.size_bytes >= int(size)
        if age_ms is not None and place in self._committed:
            latest_ms = broker.latest_clock_ms() - int(age_ms)
            times_ms = [
                fingerprint[3]
                for base_offset, fingerprint in self._committed[place].batches.items()
                if before <= base_offset < view.log_start_offset
            ]
            is_right = all(time_ms < latest_ms for time_ms in times_ms)
        if is_right:
            key = (hosted.partition.topic_id, place)
            self._by_right[key] = max(view.log_start_offset, self._by_right.get(key, 0))
