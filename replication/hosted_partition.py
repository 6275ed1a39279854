"""A partition that has its log on this broker, with all who wait for it."""

from ..storage.log import Log
from ..storage.log_config import LogConfig
from ..storage.strand import Strand
from ..storage.topic_partition import TopicPartition
from .operation_heap import OperationHeap
from .partition import Partition
from .purgatory import DelayedAppend, FetchWatchers

__all__ = ["HostedPartition"]


class HostedPartition:
    """``partition`` is the rules, ``log`` the bytes, ``strand`` the queue through which the log is changed."""

    __slots__ = (
        "allows_down_conversion",
        "log",
        "partition",
        "strand",
        "topic_partition",
        "waiting_appends",
        "waiting_consumers",
        "waiting_followers",
    )

    def __init__(self, partition: Partition, log: Log, strand: Strand) -> None:
        self.topic_partition: TopicPartition = partition.topic_partition
        self.partition = partition
        self.log = log
        self.strand = strand
        self.allows_down_conversion = True
        self.waiting_appends: OperationHeap[DelayedAppend] = OperationHeap()
        self.waiting_consumers: FetchWatchers = {}  # wake when the high watermark moves
        self.waiting_followers: FetchWatchers = {}  # wake when the log grows

    @property
    def log_config(self) -> LogConfig:
        return self.log.config
