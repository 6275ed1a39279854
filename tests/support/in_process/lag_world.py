"""Groups that read a topic on this broker: the coordinator's rules, real logs, and virtual time."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.lag.group_lags import GroupLag, GroupLags, PartitionLag
from pybroker.broker.lag.partition_ends import OtherLeaders, PartitionEnds
from pybroker.broker.lag.unread_times import UnreadTimes
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.replication.partition.partition import Partition
from pybroker.replication.partition.partition_state import PartitionState
from pybroker.replication.partition_set import PartitionSet
from pybroker.storage.log.log import Log
from pybroker.storage.log.strand import Strand
from support.clients.group_clients import GroupWorld
from support.logs.storage_logs import append_as_leader, batch_of, open_log
from support.logs.storage_pools import InlinePool

LOCAL = 1
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


async def at_once(function: Callable[[], Any]) -> Any:
    return function()


class LagWorld:
    """Two partitions of a topic, led here, and one group."""

    def __init__(self, root: Path, others: OtherLeaders | None = None) -> None:
        self.root = root
        self.groups = GroupWorld()
        self.time = self.groups.time
        self.isr = [LOCAL]
        self.partitions = PartitionSet(asyncio.get_running_loop(), is_known=lambda partition: True, run_in_pool=at_once)
        self.times = UnreadTimes(self.time.now_ms, self.time.time, at_once)
        self.ends = PartitionEnds(self.partitions, lambda partition: self.isr, others)
        self.lags = GroupLags(
            self.groups.parts.registry.groups, self.ends, self.times, self.time.now_ms, self.time.time
        )
        self.groups.parts.registry.commit_clock.end_of = self.ends.known_end

    def host(self, topic_partition: TopicPartition, leader: int = LOCAL) -> Log:
        log = open_log(self.root, topic_partition=topic_partition, now_ms=self.time.now_ms())
        partition = Partition(topic_partition, LOCAL, replica_lag_time_max_ms=10_000, is_alive=lambda broker_id: True)
        partition.attach_log(log, 0, 1)
        state = PartitionState(
            topic_partition, leader, 1, (leader,), 1, (LOCAL, leader) if leader != LOCAL else (LOCAL,)
        )
        if leader == LOCAL:
            partition.become_leader(state, 0, 0)
        else:
            partition.become_follower(state)
        self.partitions.host(HostedPartition(partition, log, Strand(log, InlinePool())))
        return log

    def produce(self, topic_partition: TopicPartition, count: int = 1) -> None:
        hosted = self.partitions.require(topic_partition)
        now_ms = self.time.now_ms()
        append_as_leader(hosted.log, batch_of(*[b"v"] * count, timestamp_ms=now_ms - count + 1), 1, now_ms)
        hosted.partition.maybe_increment_high_watermark(now_ms)

    def commit(self, offset: int, topic_partition: TopicPartition = P0) -> None:
        self.groups.commit({topic_partition: offset})

    @property
    def lag(self) -> GroupLag:
        return self.lags.of(self.groups.group())

    def lag_of(self, topic_partition: TopicPartition = P0) -> PartitionLag:
        (found,) = [each for each in self.lag.partitions if each.topic_partition == topic_partition]
        return found
