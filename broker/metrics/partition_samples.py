"""Samples of the partitions on this broker: Kafka's ReplicaManager and Partition, and the offsets of the exporters.

**How.** One walk at the beginning of a scrape counts the partitions and finds those led here. Each series then reads
its values from these. Only a partition's leader gives its series, so that sums over the brokers are right.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ...replication.partition.hosted_partition import HostedPartition
from ...replication.partition.partition import Leader, Partition
from ...replication.partition_set import PartitionSet
from .labels import labels
from .partition_texts import PartitionTexts
from .registry import Lines, Pace, Registry, Step, in_steps
from .series.table import series_named

__all__ = ["PartitionSamples"]

_PARTITIONS_BETWEEN_PACES = 16
_IN_A_STEP = 64


class PartitionSamples:
    """The walk over the partitions, and the sources that read what it found."""

    def __init__(
        self,
        registry: Registry,
        partitions: PartitionSet,
        partition_count: Callable[[str], int | None],
        cluster_id: str,
    ) -> None:
        """``partition_count``: of a topic of the cluster; None when it is not known."""
        self._partitions = partitions
        self._partition_count = partition_count
        self._in_cluster = labels(cluster_name=cluster_id)[:-1] + ","
        self._counts = _Counts()
        self._led: list[Partition] = []
        self._texts: list[str] = []
        """The labels of each of ``_led``. No pairs: those would cost garbage collections."""
        registry.add_walk(self)
        for name, count in _COUNTS.items():
            registry.add_value(series_named(name), partial(self._count, count))
        for name, number in _NUMBERS.items():
            registry.add_value(series_named(name), partial(number, partitions))
        for name, value in _OF_LEADERS.items():
            registry.add(series_named(name), partial(self._of_leaders, value))
        for name, value in _OF_LEADERS_IN_CLUSTER.items():
            registry.add(series_named(name), partial(self._of_leaders, value, self._in_cluster))
        registry.add(series_named("kafka_topic_partitions"), self._topics)

    async def collect(self, pace: Pace) -> None:
        counts, led, texts, labels_of = _Counts(), list[Partition](), list[str](), PartitionTexts().of
        for number, hosted in enumerate(list(self._partitions), 1):
            counts.add(hosted)
            if hosted.partition.leader is not None:
                led.append(hosted.partition)
                texts.append(labels_of(hosted.topic_partition))
            if not number % _PARTITIONS_BETWEEN_PACES:
                await pace()
        self._counts, self._led, self._texts = counts, led, texts

    def release(self) -> list[list[Any]]:
        found: list[list[Any]] = [self._led, self._texts]
        self._led, self._texts = [], []
        return found

    def _count(self, count: "Callable[[_Counts], int]") -> int:
        return count(self._counts)

    def _of_leaders(self, value: "Callable[[Partition, Leader], int]", before: str = "{") -> Iterator[Lines]:
        """``before``: stands before the labels of the partition."""
        steps = zip(in_steps(self._texts, _IN_A_STEP), in_steps(self._led, _IN_A_STEP), strict=True)
        for texts, led in steps:
            yield Lines(
                [
                    f"{before}{text} {value(partition, leader)}"
                    for text, partition in zip(texts, led, strict=True)
                    if (leader := partition.leader) is not None  # it may have lost the leadership since the walk
                ]
            )

    def _topics(self) -> Iterator[Step]:
        """The leader of partition 0 tells how many partitions the topic has."""
        for led in self._led:
            topic, partition = led.topic_partition
            count = self._partition_count(topic) if partition == 0 else None
            yield None if count is None else (labels(topic=topic), count)


class _Counts:
    """Numbers of partitions, counted by one walk."""

    __slots__ = ("at_min_isr", "leaders", "producer_ids", "reassigning", "under_min_isr", "under_replicated")

    def __init__(self) -> None:
        self.leaders = 0
        self.under_replicated = 0
        self.under_min_isr = 0
        self.at_min_isr = 0
        self.reassigning = 0
        self.producer_ids = 0

    def add(self, hosted: HostedPartition) -> None:
        self.producer_ids += hosted.log.producer_state.producer_count
        partition = hosted.partition
        leader = partition.leader
        if leader is not None:
            self.leaders += 1
            self.under_replicated += _is_under_replicated(partition, leader)
            self.under_min_isr += _is_under_min_isr(partition, leader)
            self.at_min_isr += _is_at_min_isr(partition, leader)
            self.reassigning += bool(partition.adding_replicas or partition.removing_replicas)


# -- values of a partition that this broker leads


def _replication_factor(partition: Partition, _leader: Leader) -> int:
    """The number of replicas without those that a reassignment is adding, as Kafka counts them."""
    return len(partition.replicas) - len(partition.adding_replicas)


def _isr_size(_partition: Partition, leader: Leader) -> int:
    return len(leader.isr.members)


def _is_under_replicated(partition: Partition, leader: Leader) -> int:
    return int(len(leader.isr.members) < _replication_factor(partition, leader))


def _is_under_min_isr(partition: Partition, leader: Leader) -> int:
    return int(len(leader.isr.members) < partition.effective_minimum_isr())


def _is_at_min_isr(partition: Partition, leader: Leader) -> int:
    return int(len(leader.isr.members) == partition.effective_minimum_isr())


def _last_stable_offset_lag(partition: Partition, _leader: Leader) -> int:
    log = partition.log
    return 0 if log is None else partition.high_watermark - log.last_stable_offset(partition.high_watermark)


def _high_watermark(partition: Partition, _leader: Leader) -> int:
    return partition.high_watermark


def _log_start(partition: Partition, _leader: Leader) -> int:
    return 0 if partition.log is None else partition.log.log_start_offset


def _leader_id(partition: Partition, _leader: Leader) -> int:
    return partition.local_broker_id


def _is_preferred(partition: Partition, _leader: Leader) -> int:
    return int(partition.replicas[:1] == (partition.local_broker_id,))


def _replicas(partition: Partition, _leader: Leader) -> int:
    return len(partition.replicas)


def _lacks_replicas(partition: Partition, leader: Leader) -> int:
    """kafka_exporter compares with all replicas, also those that a reassignment is adding."""
    return int(len(leader.isr.members) < len(partition.replicas))


_OF_LEADERS: Mapping[str, Callable[[Partition, Leader], int]] = {
    "kafka_cluster_partition_underreplicated": _is_under_replicated,
    "kafka_cluster_partition_underminisr": _is_under_min_isr,
    "kafka_cluster_partition_atminisr": _is_at_min_isr,
    "kafka_cluster_partition_insyncreplicascount": _isr_size,
    "kafka_cluster_partition_replicascount": _replication_factor,
    "kafka_cluster_partition_laststableoffsetlag": _last_stable_offset_lag,
    "kafka_topic_partition_current_offset": _high_watermark,
    "kafka_topic_partition_oldest_offset": _log_start,
    "kafka_topic_partition_in_sync_replica": _isr_size,
    "kafka_topic_partition_leader": _leader_id,
    "kafka_topic_partition_leader_is_preferred": _is_preferred,
    "kafka_topic_partition_replicas": _replicas,
    "kafka_topic_partition_under_replicated_partition": _lacks_replicas,
}
_OF_LEADERS_IN_CLUSTER: Mapping[str, Callable[[Partition, Leader], int]] = {
    "kafka_partition_latest_offset": _high_watermark,
    "kafka_partition_earliest_offset": _log_start,
}
_COUNTS: Mapping[str, Callable[[_Counts], int]] = {
    "kafka_server_replicamanager_leadercount": lambda counts: counts.leaders,
    "kafka_server_replicamanager_underreplicatedpartitions": lambda counts: counts.under_replicated,
    "kafka_server_replicamanager_underminisrpartitioncount": lambda counts: counts.under_min_isr,
    "kafka_server_replicamanager_atminisrpartitioncount": lambda counts: counts.at_min_isr,
    "kafka_server_replicamanager_reassigningpartitions": lambda counts: counts.reassigning,
    "kafka_server_replicamanager_produceridcount": lambda counts: counts.producer_ids,
}
_NUMBERS: Mapping[str, Callable[[PartitionSet], int]] = {
    "kafka_server_replicamanager_partitioncount": lambda partitions: len(partitions) + partitions.offline_count,
    "kafka_server_replicamanager_offlinereplicacount": lambda partitions: partitions.offline_count,
    "kafka_server_replicamanager_isrshrinks_total": lambda partitions: partitions.isr_shrinks,
    "kafka_server_replicamanager_isrexpands_total": lambda partitions: partitions.isr_expands,
    "kafka_server_replicamanager_failedisrupdates_total": lambda partitions: partitions.failed_isr_updates,
}
