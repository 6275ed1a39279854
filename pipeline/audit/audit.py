"""The audit of log directories: what is to be looked at, and the work on Spark, a task a partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...storage.files import Files
from ...storage.partition_files import NoLogError, directory_name_of, live_partitions, read_partition_files
from ...storage.topic_partition import TopicPartition
from ...storage.verify.fault import Fault, Findings
from ...storage.verify.log_directory_check import LogDirectoryCheck
from .group_summary import GroupState
from .partition_audit import AuditTask, PartitionAudit, audit_partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class Audit:
    """What was looked at and found, in an order that depends on nothing but that."""

    directories: tuple[str, ...]
    partitions: tuple[PartitionAudit, ...]
    faults: tuple[Fault, ...]

    @property
    def size_bytes(self) -> int:
        return sum(replica.size_bytes for partition in self.partitions for replica in partition.replicas)

    @property
    def groups(self) -> list[GroupState]:
        """Of all partitions of the groups' topic, by name."""
        found = [group for partition in self.partitions for group in partition.groups]
        return sorted(found, key=lambda group: group.group)

    def ends(self) -> dict[TopicPartition, int]:
        """Where the logs end, as far as the furthest replica tells."""
        return {
            partition.topic_partition: max(replica.end or 0 for replica in partition.replicas)
            for partition in self.partitions
        }


def audit(spark: SparkSession, directories: Sequence[str]) -> Audit:
    """Looks at log directories of one cluster, each of a broker; the paths must lead to the same files in all tasks.

    Raises NoLogError, OSError.
    """
    tasks, shared_faults = plan_audit(directories)
    found: list[PartitionAudit] = []
    if tasks:
        slices = min(len(tasks), _MOST_TASKS)
        found = spark.sparkContext.parallelize(tasks, slices).map(audit_partition).collect()
    return gathered(directories, found, shared_faults)


def gathered(directories: Sequence[str], found: Iterable[PartitionAudit], shared_faults: Iterable[Fault]) -> Audit:
    """The whole, of what the tasks found. A fault of a log directory, which each of its tasks sees, counts once."""
    partitions = sorted(found, key=lambda each: (each.topic_partition, [one.directory for one in each.replicas]))
    faults = dict.fromkeys([*shared_faults, *(fault for each in partitions for fault in each.faults)])
    return Audit(tuple(directories), tuple(partitions), tuple(faults))


def plan_audit(directories: Sequence[str]) -> tuple[list[AuditTask], list[Fault]]:
    """The tasks, the largest first, and what is wrong with files that are no partition's.

    Raises NoLogError, OSError.
    """
    files = Files()
    replicas: dict[TopicPartition, list[str]] = defaultdict(list)
    unfinished: list[tuple[TopicPartition, str]] = []
    faults: list[Fault] = []
    found = Findings(faults.append)
    for path in directories:
        partitions = live_partitions(files, path)
        if partitions != [path]:
            LogDirectoryCheck(files, found, with_records=True, progress=_silent).check_shared_files(path, partitions)
        for directory in partitions:
            name = directory_name_of(directory)
            if name is None:
                raise NoLogError(f"{directory} has no name of a partition")
            if name.suffix is None:
                replicas[name.topic_partition].append(directory)
            else:  # a copy that a broker is making for another log directory
                unfinished.append((name.topic_partition, directory))
    found.close()
    tasks = [_task(files, at, found_at) for at, found_at in replicas.items()]
    tasks += [_task(files, at, [directory]) for at, directory in unfinished]
    return sorted(tasks, key=lambda task: (-task.size_bytes, task.topic_partition)), faults


def _task(files: Files, at: TopicPartition, directories: list[str]) -> AuditTask:
    size = sum(
        segment.size_bytes for directory in directories for segment in read_partition_files(files, directory).segments
    )
    return AuditTask(at, tuple(directories), size)


def _silent(size_bytes: int) -> None:
    """Nothing of size is read here."""
