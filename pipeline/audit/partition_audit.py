"""The audit of one partition: checks the files of each replica and compares the replicas. Runs in a task."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...storage.files.files import Files
from ...storage.verify.fault import Fault, Findings
from ...storage.verify.log_directory_check import LogDirectoryCheck
from .compiled_check import quick_batch_faults
from .group_summary import GroupState, summarise_groups
from .missing_segments import check_for_missing_segments
from .replica import Replica, read_replica
from .replica_comparison import compare_replicas

_OPEN_FILES = 16


@dataclass(frozen=True, slots=True)
class AuditTask:
    """A partition and the directories of its replicas."""

    topic_partition: TopicPartition
    directories: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """The offsets and files of a replica: records in [`start`, `end`). `end` is None if damage hides it."""

    directory: str
    start: int
    end: int | None
    high_watermark: int | None
    size_bytes: int
    segments: int


@dataclass(frozen=True, slots=True)
class PartitionAudit:
    """The findings about one partition. `groups` is only filled for partitions of `__consumer_offsets`."""

    topic_partition: TopicPartition
    replicas: tuple[ReplicaFacts, ...]
    faults: tuple[Fault, ...]
    groups: tuple[GroupState, ...]

    @property
    def not_compared(self) -> tuple[str, ...]:
        """The replicas that could not be compared, because no checkpoint has their high watermark."""
        if len(self.replicas) == 1:
            return ()
        return tuple(replica.directory for replica in self.replicas if replica.high_watermark is None)


def audit_partition(task: AuditTask) -> PartitionAudit:
    """Audits a partition. Reads each replica once and its batch headers once more. Raises OSError."""
    files = Files(_OPEN_FILES)
    faults: list[Fault] = []
    found = Findings(faults.append)
    replicas, facts = [], []
    for directory in task.directories:
        replica = read_replica(files, directory, task.topic_partition)
        check = LogDirectoryCheck(files, found, with_records=True, progress=_silent, faults_of=quick_batch_faults)
        end = check.run_partition(directory)
        check_for_missing_segments(files, replica, found)
        replicas.append(replica)
        facts.append(_facts(replica, end))
    comparable = [replica for replica in replicas if replica.high_watermark is not None]
    for other in comparable[1:]:
        compare_replicas(files, comparable[0], other, found)
    found.close()
    groups: tuple[GroupState, ...] = ()
    if task.topic_partition.topic == CONSUMER_OFFSETS_TOPIC and not faults:
        groups = summarise_groups(files, replicas[0])
    return PartitionAudit(task.topic_partition, tuple(facts), tuple(faults), groups)


def _facts(replica: Replica, end: int | None) -> ReplicaFacts:
    return ReplicaFacts(
        replica.directory, replica.start, end, replica.high_watermark, replica.size_bytes, len(replica.files.segments)
    )


def _silent(size_bytes: int) -> None:
    """Ignores progress: a task can't write to the driver's terminal."""
