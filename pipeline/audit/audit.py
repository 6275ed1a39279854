"""Plans the audit of log directories and runs it on Spark, one task a partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...base.topic_partition import TopicPartition
from ...storage.files.files import Files
from ...storage.segment.partition_files import NoLogError, directory_name_of, live_partitions, read_partition_files
from ...storage.verify.fault import Fault, Findings
from ...storage.verify.log_directory_check import LogDirectoryCheck
from .group_summary import GroupState
from .partition_audit import AuditTask, PartitionAudit, audit_partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_TASKS = 10_000
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit, in an order that depends only on the findings."""

    directories: tuple[str, ...]
    partitions: tuple[PartitionAudit, ...]
    faults: tuple[Fault, ...]

    @property
    def size_bytes(self) -> int:
        return sum(replica.size_bytes for partition in self.partitions for replica in partition.replicas)

    @property
    def groups(self) -> list[GroupState]:
        """All groups of all partitions of `__consumer_offsets`, by name."""
        found = [group for partition in self.partitions for group in partition.groups]
        return sorted(found, key=lambda group: group.group)

    @property
    def not_compared(self) -> list[str]:
        """Replicas that could not be compared with others of their partition."""
        return [directory for partition in self.partitions for directory in partition.not_compared]

    def ends(self) -> dict[TopicPartition, int]:
        """The log end offset of each partition: the highest of its replicas."""
        return {
            partition.topic_partition: max(replica.end or 0 for replica in partition.replicas)
            for partition in self.partitions
        }


class AuditProgress(NamedTuple):
    """Progress: finished and total partitions, and finished and total bytes of segments."""

    partitions: int
    of_partitions: int
    size_bytes: int
    of_bytes: int


def audit(
    spark: SparkSession, directories: Sequence[str], on_progress: Callable[[AuditProgress], None] | None = None
) -> Audit:
    """Audits log directories of one cluster. The paths must lead to the same files in all tasks.

    `on_progress` is called with the progress from time to time, and at the end. Raises NoLogError, OSError.
    """
    tasks, shared_faults = plan_audit(directories)
    found = _on_spark(spark, tasks, on_progress or _no_progress) if tasks else []
    return gathered(directories, found, shared_faults)


def _on_spark(
    spark: SparkSession, tasks: Sequence[AuditTask], on_progress: Callable[[AuditProgress], None]
) -> list[PartitionAudit]:
    """Runs the tasks on Spark. Tasks report progress by accumulators, which this function polls while the job runs."""
    context = spark.sparkContext
    partitions, size_bytes = context.accumulator(0), context.accumulator(0)

    def work(task: AuditTask) -> PartitionAudit:
        done = audit_partition(task)
        partitions.add(1)
        size_bytes.add(task.size_bytes)
        return done

    def progress() -> AuditProgress:
        # A task that Spark ran twice is counted twice.
        done = min(partitions.value, len(tasks)), min(size_bytes.value, whole_bytes)
        return AuditProgress(done[0], len(tasks), done[1], whole_bytes)

    whole_bytes = sum(task.size_bytes for task in tasks)
    planned = context.parallelize(tasks, min(len(tasks), _MOST_TASKS)).map(work)
    reported = AuditProgress(0, len(tasks), 0, whole_bytes)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(planned.collect)
        while not wait([job], _LOOK_EVERY_S).done:
            if (now := progress()) != reported:
                on_progress(now)
                reported = now
        found: list[PartitionAudit] = job.result()
    on_progress(progress())
    return found


def gathered(directories: Sequence[str], found: Iterable[PartitionAudit], shared_faults: Iterable[Fault]) -> Audit:
    """Merges the findings of all tasks. A fault of a log directory, which each of its tasks sees, counts once."""
    partitions = sorted(found, key=lambda each: (each.topic_partition, [one.directory for one in each.replicas]))
    faults = dict.fromkeys([*shared_faults, *(fault for each in partitions for fault in each.faults)])
    return Audit(tuple(directories), tuple(partitions), tuple(faults))


def plan_audit(directories: Sequence[str]) -> tuple[list[AuditTask], list[Fault]]:
    """Returns the tasks, largest first, and the faults of files that belong to no partition.

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
                raise NoLogError(f"the name of {directory} is not that of a partition")
            if name.suffix is None:
                replicas[name.topic_partition].append(directory)
            else:  # a future replica: a broker is moving the partition to this log directory
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
    """Ignores the size."""


def _no_progress(progress: AuditProgress) -> None:
    """Ignores the progress."""
