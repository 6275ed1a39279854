"""Suspends the leaderships of a broker that is cut off from the cluster, and resumes them.

**Why.** When the metadata store does not reach a leader, the controller elects a follower that it reaches, which the
old leader cannot learn. Clients that still reach the old one would stay with it: it could acknowledge nothing.
**How.** A suspended partition answers as a broker that does not lead, so clients look for the leader elsewhere.
Leaderships that nobody else can have taken are not suspended: see `Partition.maybe_suspend`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...base.gathered_lines import log_gathered
from ...base.topic_partition import TopicPartition
from ..partition.hosted_partition import HostedPartition
from ..partition.isr import PendingIsr
from ..partition.partition import Partition, SuspendedLeader
from ..partition.wakeups import Wakeups

__all__ = ["LeadershipSuspension"]

logger = logging.getLogger(__name__)


class LeadershipSuspension:
    """``hosted``: the online partitions. ``propose_isr`` sends a change of the ISR to the controller."""

    def __init__(
        self,
        hosted: Mapping[TopicPartition, HostedPartition],
        wakeups: Wakeups,
        *,
        propose_isr: Callable[[Partition, PendingIsr], None] | None,
        monotonic_ms: Callable[[], int],
    ) -> None:
        self._hosted = hosted
        self._wakeups = wakeups
        self._propose_isr = propose_isr
        self._monotonic_ms = monotonic_ms
        self._suspended: list[HostedPartition] = []
        self._listeners: list[Callable[[Sequence[HostedPartition]], None]] = []

    def on_change(self, listener: Callable[[Sequence[HostedPartition]], None]) -> None:
        """Call ``listener`` with the partitions whose leadership was just suspended, or just resumed."""
        self._listeners.append(listener)

    @property
    def suspended(self) -> list[HostedPartition]:
        """The partitions whose leadership is suspended."""
        self._suspended = [each for each in self._suspended if isinstance(each.partition.role, SuspendedLeader)]
        return self._suspended

    def suspend_silent(self, silence_ms: int) -> None:
        """Suspend each leadership with a follower in the ISR that has not fetched for ``silence_ms``. Clients'
        waiting requests get NOT_LEADER_OR_FOLLOWER, also for records that are in the log: the producer sends them again
        to the new leader, which knows what it has of them."""
        now_ms = self._monotonic_ms()
        silent = [each for each in self._hosted.values() if each.partition.maybe_suspend(now_ms, silence_ms)]
        if not silent:
            return
        self._suspended += silent
        lines = [f"{each.topic_partition}: leadership suspended, broker cut off from the cluster" for each in silent]
        log_gathered(logger, logging.WARNING, "replication.leadership-suspended", lines)
        for hosted in silent:
            self._wakeups.leadership_lost(hosted)
        self._tell(silent)

    def resume(self, partitions: Iterable[HostedPartition]) -> None:
        """Resume the suspended leaderships among ``partitions``: the cluster was reached again, and has no other
        leader."""
        resumed = [each for each in partitions if isinstance(each.partition.role, SuspendedLeader)]
        if not resumed:
            return
        lines = [f"{each.topic_partition}: leadership resumed" for each in resumed]
        log_gathered(logger, logging.INFO, "replication.leadership-resumed", lines)
        for hosted in resumed:
            change = hosted.partition.resume()
            if hosted.partition.maybe_increment_high_watermark(self._monotonic_ms()):
                self._wakeups.high_watermark_moved(hosted)
            if change is not None and self._propose_isr is not None:
                self._propose_isr(hosted.partition, change)
        self._tell(resumed)

    def follower_fetched(self, hosted: HostedPartition, follower_id: int, leader_epoch: int) -> None:
        """A follower fetched from a suspended leader. If all followers in the ISR have fetched lately, none of them
        leads, and the leadership is resumed."""
        if hosted.partition.note_refused_fetch(follower_id, leader_epoch, self._monotonic_ms()):
            self.resume([hosted])

    def _tell(self, changed: Sequence[HostedPartition]) -> None:
        for listener in self._listeners:
            listener(changed)
