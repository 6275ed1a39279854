"""A partition that has its log on this broker, with all who wait for it."""

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

__all__ = ["HostedPartition", "settle"]

T = TypeVar("T")


class HostedPartition:
    """``partition`` is the rules, ``log`` the bytes, ``strand`` the queue through which the log is changed."""

    __slots__ = (
        "allows_down_conversion",
        "end",
        "held_appends",
        "is_throttled_as_follower",
        "is_throttled_as_leader",
        "log",
        "partition",
        "strand",
        "topic_partition",
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
        self.allows_down_conversion = True
        self.is_throttled_as_leader = False
        self.is_throttled_as_follower = False
        self.end: EndOfPartition | None = None  # as it was when a consumer last asked there
        self.held_appends: list[Callable[[], None]] | None = None  # a list while a leadership begins
        self.waiting_appends: OperationHeap[DelayedAppend] = OperationHeap()
        self.waiting_deletions: OperationHeap[DelayedAppend] = OperationHeap()  # wake when the low watermark moves
        self.waiting_consumers = FetchWatchers()  # wake when the high watermark moves
        self.waiting_followers = FetchWatchers()  # wake when the log grows

    @property
    def log_config(self) -> LogConfig:
        return self.log.config

    @contextmanager
    def hold_appends(self) -> Iterator[None]:
        """What clients append meanwhile comes behind this, in its order (in Kafka they wait for leaderIsrUpdateLock).

        Refused one by one, some of a producer's batches that are on their way would come before the leadership and
        some behind it. Those are out of order then, and librdkafka takes a new epoch for all it sends anywhere:
        whatever was stored of it unseen is stored twice.
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
        """Run a step behind what is queued on the log. The future has what it returned or raised."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        self.strand.submit(step, partial(settle, future))
        return future


def settle(future: "asyncio.Future[Any]", outcome: Any) -> None:
    """Give ``future`` what a step on a strand returned or raised."""
    if future.done():  # who waited may be gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
