"""Checks that old records are deleted only where a client asked for it or the topic's settings allow it.

By size, whole segments go as long as `retention.bytes` are left; by time, segments whose records are all older than
`retention.ms` by that broker's clock. A replica may begin where another one does by right; a new one, nowhere else. Of
what a broker has deleted before a crash some may be there again; no more may have gone.
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
    """`saw` is told of logs as they are; then `judge` looks at those that begin later than they did."""

    def __init__(self, history: History, committed: Mapping[Place, CommittedBatches]) -> None:
        self._history = history
        self._committed = committed
        self._starts: dict[tuple[int, object, Place], int] = {}
        """By broker, the topic's id, and partition: also when the broker was restarted since."""
        self._by_right: dict[tuple[object, Place], int] = {}
        self._rises: list[tuple[SimulatedBroker, HostedPartition, int | None]] = []
        """With where the log began before; None: it was not there."""

    def saw(self, broker: "SimulatedBroker", hosted: HostedPartition) -> None:
        place: Place = hosted.topic_partition
        if hosted.partition.topic_id is None:  # it is being opened
            return
        key = (broker.broker_id, hosted.partition.topic_id, place)
        start = hosted.log.view.log_start_offset
        before = self._starts.get(key)
        self._starts[key] = start
        if start > (before or 0):
            self._rises.append((broker, hosted, before))

    def judge(self) -> None:
        """Raises ViolationError."""
        rises, self._rises = self._rises, []
        for broker, hosted, before in rises:
            if before is not None:  # else it is new here, and begins where others do
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
        """Whether it may have deleted what it has."""
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
