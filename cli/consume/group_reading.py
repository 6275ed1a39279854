"""Reads as a member of a group: from its committed offsets, and with ``--commit`` commits what was printed."""

import time
from collections.abc import Callable
from typing import Protocol

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.fetching.partition_reader import Batches, PartitionReader
from ...client.group_membership import GroupMembership

__all__ = ["Taker", "read_as_member"]

_COMMIT_EVERY_S = 5.0
_IDLE_S = 0.2

MakeReader = Callable[[dict[TopicPartition, int], list[TopicPartition]], PartitionReader]
"""Makes a reader of partitions that have a committed offset, and of those that have none."""


class Taker(Protocol):
    """Takes the records that are read, until it is full.

    Attributes:
        next_offset: the offset behind the last record that it took, when it became full inside a batch.
    """

    next_offset: int | None

    @property
    def is_full(self) -> bool:
        """Whether no more records are wanted."""
        ...

    def take(self, found: Batches) -> None:
        """Take the records of batches. Raises KafkaError for a broken batch."""
        ...


def read_as_member(
    cluster: AdminCluster,
    group: str,
    topics: list[str],
    consumption: Taker,
    make_reader: MakeReader,
    *,
    commits: bool,
    commits_starts: bool = False,
) -> None:
    """Print until the consumption is full or the ends are reached. Raises KafkaError, ConnectionError.

    ``commits_starts``: commit also where reading began in partitions that had nothing to read, as Kafka's consumers do.
    """
    member = GroupMembership(cluster.settings, group, topics)
    reading = _Reading(member, consumption, commits=commits, commits_starts=commits_starts)
    try:
        is_over = False
        while not is_over:
            assigned = member.join()
            committed = member.committed(assigned)
            reader = make_reader(committed, [at for at in assigned if at not in committed])
            is_over = reading.read(reader, is_idle=not assigned)
    finally:
        reading.commit()
        member.leave()


class _Reading:
    """The partitions of one member: the records that were printed, and the offsets to commit."""

    def __init__(self, member: GroupMembership, consumption: Taker, *, commits: bool, commits_starts: bool) -> None:
        self._member = member
        self._consumption = consumption
        self._commits = commits
        self._commits_starts = commits_starts
        self._offsets: dict[TopicPartition, int] = {}
        self._committed_s = time.monotonic()

    def read(self, reader: PartitionReader, *, is_idle: bool) -> bool:
        """Read until the group rebalances (False) or nothing more is to be read (True)."""
        consumption = self._consumption
        if self._commits_starts:
            self._offsets |= reader.positions
        while reader.positions or is_idle:
            if is_idle:
                time.sleep(_IDLE_S)
            for found in reader.poll():
                consumption.take(found)
                is_full = consumption.is_full and consumption.next_offset is not None
                behind = consumption.next_offset if is_full else reader.positions.get(found.at, found.end)
                assert behind is not None
                self._offsets[found.at] = behind
                if consumption.is_full:
                    return True
            if time.monotonic() - self._committed_s > _COMMIT_EVERY_S:
                self.commit()
            if self._member.must_rejoin():
                self.commit()
                self._offsets.clear()
                return False
        return True

    def commit(self) -> None:
        """Commit what was printed, if that is wanted."""
        self._committed_s = time.monotonic()
        if self._commits:
            self._member.commit(self._offsets)
            self._offsets.clear()
