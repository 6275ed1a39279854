"""A partition whose log is on this broker, with the requests that wait for it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from ...base.topic_partition import TopicPartition
from ...storage.log.log import Log
from ...storage.log.strand import Strand
from ...storage.log_config import LogConfig
from ...storage.workers.callbacks import call_isolated
from .delayed_fetch import FetchWatchers
from .end_of_partition import EndOfPartition
from .operation_heap import OperationHeap
from .partition import Partition
from .purgatory import DelayedAppend
from .topic_traffic import TopicTraffic

__all__ = ["HostedPartition", "settle"]

T = TypeVar("T")


class HostedPartition:
    """``partition`` has the state and its rules, ``log`` the records, ``strand`` the queue of changes to the log."""

    __slots__ = (
        "allows_down_conversion",
        "end",
        "held_appends",
        "high_watermark_mover",
        "is_throttled_as_follower",
        "is_throttled_as_leader",
        "log",
        "partition",
        "strand",
        "topic_partition",
        "traffic",
        "waiting_appends",
        "waiting_consumers",
        "waiting_deletions",
        "waiting_followers",
    )

    def __init__(self, partition: Partition, log: Log, strand: Strand) -> None:
        self.topic_partition: TopicPartition = partition.topic_partition
        self.partition = partition
        self.log = log
        self.strand = strand
        self.traffic = TopicTraffic()
        """The counters of its topic; `PartitionSet.host` sets those that all partitions of the topic share."""
        self.allows_down_conversion = True
        self.is_throttled_as_leader = False
        self.is_throttled_as_follower = False
        self.high_watermark_mover = -1
        """The follower whose fetch was the last one to raise the high watermark; -1: none yet."""
        self.end: EndOfPartition | None = None  # as of the last fetch that had everything
        self.held_appends: list[Callable[[], None]] | None = None  # not None while a leadership begins
        self.waiting_appends: OperationHeap[DelayedAppend] = OperationHeap()
        self.waiting_deletions: OperationHeap[DelayedAppend] = OperationHeap()  # wake when the low watermark moves
        self.waiting_consumers = FetchWatchers()  # wake when the high watermark moves
        self.waiting_followers = FetchWatchers()  # wake when the log grows

    @property
    def log_config(self) -> LogConfig:
        return self.log.config

    @contextmanager
    def hold_appends(self) -> Iterator[None]:
        """Hold the appends of clients meanwhile, and run them afterwards in their order (Kafka: leaderIsrUpdateLock).

        Why: otherwise some of a producer's batches would be refused before the leadership and later ones accepted
        behind it. The later ones would be out of order; librdkafka then starts a new epoch for all its partitions, and
        stores again every record whose acknowledgement it missed.
        """
        held: list[Callable[[], None]] = []
        self.held_appends = held
        try:
            yield
        finally:
            self.held_appends = None
            for append in held:
                call_isolated(append)

    def run(self, step: Callable[[Log], T]) -> "asyncio.Future[T]":
        """Run a step on the log, behind the steps that are queued. The future has what it returned or raised."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        self.strand.submit(step, partial(settle, future))
        return future


def settle(future: "asyncio.Future[Any]", outcome: Any) -> None:
    """Settle ``future`` with what a step on a strand returned or raised."""
    if future.done():  # the caller may have been cancelled
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
