"""The parts of the broker that share partitions use."""

from collections.abc import Callable
from typing import NamedTuple

from ...base.timers import Scheduler
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ..coordinator.share.ports import SharePartitionKey, ShareState
from .partition_memory import ShareMemory
from .settings import ShareSettings

__all__ = ["Place", "SharePorts"]


class SharePorts(NamedTuple):
    """``first_offset`` tells a callback where a new group begins. ``memory``: the account of all share partitions that
    this broker leads, see `PartitionMemory`."""

    state: ShareState
    timers: Scheduler
    first_offset: Callable[[TopicPartition, ShareSettings, Callable[[int | ErrorCode], None]], None]
    memory: ShareMemory


class Place(NamedTuple):
    """The partition, and the leader epoch in which this broker leads it."""

    key: SharePartitionKey
    topic_partition: TopicPartition
    leader_epoch: int
