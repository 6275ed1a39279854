"""Wakes the requests that wait for a change of a partition."""

from functools import partial

from ...base.timers import Scheduler
from ...protocol.errors import ErrorCode
from .delayed_fetch import DelayedFetch
from .fetch import PartitionFetch
from .hosted_partition import HostedPartition
from .purgatory import DEFAULT_GATHER_MAX_MS, AppendPurgatory, FetchPurgatory
from .reader import available_bytes

__all__ = ["Wakeups"]


class Wakeups:
    """An append wakes follower fetches. A higher high watermark wakes consumer fetches and produces with acks=all.

    A higher low watermark wakes deletions of records.
    """

    __slots__ = ("appends", "deletions", "fetches")

    def __init__(self, loop: Scheduler, gather_max_ms: int = DEFAULT_GATHER_MAX_MS) -> None:
        self.appends = AppendPurgatory(loop)
        self.deletions = AppendPurgatory(loop)
        self.fetches = FetchPurgatory(loop, gather_max_ms)

    def log_grew(self, hosted: HostedPartition) -> None:
        if hosted.waiting_followers:
            self.fetches.wake(hosted.waiting_followers, partial(_is_enough, hosted))

    def high_watermark_moved(self, hosted: HostedPartition) -> None:
        partition = hosted.partition
        if len(hosted.waiting_appends):
            self.appends.advance(hosted.waiting_appends, partition.high_watermark, partition.check_acks)
        if hosted.waiting_consumers:
            self.look_at_consumers(hosted)

    def look_at_consumers(self, hosted: HostedPartition) -> None:
        """Soon complete those waiting consumers that have enough."""
        self.fetches.wake(hosted.waiting_consumers, partial(_is_enough, hosted))

    def low_watermark_moved(self, hosted: HostedPartition) -> None:
        """Call when the low watermark may have moved: a follower reported its log start offset, or left."""
        if len(hosted.waiting_deletions):
            low_watermark = hosted.partition.low_watermark()
            self.deletions.advance(hosted.waiting_deletions, low_watermark, lambda _: ErrorCode.NONE)

    def leadership_lost(self, hosted: HostedPartition, error: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """End all waiting for this partition: produces fail with ``error``, fetches read again and get their errors."""
        self.appends.fail_all(hosted.waiting_appends, error)
        self.deletions.fail_all(hosted.waiting_deletions, error)
        self.fetches.complete_all(hosted.waiting_followers)
        self.fetches.complete_all(hosted.waiting_consumers)

    def leadership_changed(self, hosted: HostedPartition) -> None:
        """A new leader epoch: complete parked fetches. Fetches that named the old epoch are fenced."""
        self.fetches.complete_all(hosted.waiting_followers)
        self.fetches.complete_all(hosted.waiting_consumers)

    def close(self) -> None:
        self.appends.close()
        self.deletions.close()
        self.fetches.close()


def _is_enough(hosted: HostedPartition, operation: DelayedFetch, fetch: PartitionFetch) -> bool:
    size_bytes = available_bytes(hosted, fetch, operation.params)
    return size_bytes is None or operation.note_available(fetch, size_bytes)
