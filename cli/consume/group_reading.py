"""Reads as a member of a group: from its committed offsets, and with ``--commit`` commits what was printed.

At Ctrl-C the batches in hand are printed to their end and committed, with a rate what is printed by then. With a rate
the member also shows that it is alive, commits and rejoins its group between the records of a batch.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.fetching.partition_reader import Batches, PartitionReader
from ...client.group_membership import GroupMembership
from ..gentle_interrupt import GentleInterrupt, Waiting

__all__ = ["Taker", "read_as_member"]

_COMMIT_EVERY_S = 5.0
_IDLE_S = 0.2

MakeReader = Callable[[dict[TopicPartition, int], list[TopicPartition]], PartitionReader]
"""Makes a reader of partitions that have a committed offset, and of those that have none."""


class Taker(Protocol):
    """Takes the records that are read, until it is full.

    Attributes:
        next_offset: the offset behind the last record that it took; None: it took all that it was given.
    """

    next_offset: int | None

    @property
    def is_full(self) -> bool:
        """Whether no more records are wanted."""
        ...

    def take(self, found: Batches, waiting: Waiting) -> None:
        """Take the records of batches; may wait in ``waiting``. Raises KafkaError for a broken batch."""
        ...


class _RebalanceError(Exception):
    """The group rebalances while the records of a batch wait for their time."""


def read_as_member(
    cluster: AdminCluster,
    group: str,
    topics: list[str],
    consumption: Taker,
    make_reader: MakeReader,
    *,
    commits: bool,
    commits_starts: bool = False,
    waits: bool = True,
) -> None:
    """Print until the consumption is full or the ends are reached. Raises KafkaError, ConnectionError.

    ``commits_starts``: commit also where reading began in partitions that had nothing to read, as Kafka's consumers do.
    ``waits``: a member without partitions waits until it gets some.
    """
    member = GroupMembership(cluster.settings, group, topics)
    with GentleInterrupt() as interrupt:
        reading = _Reading(member, consumption, interrupt, commits=commits, commits_starts=commits_starts)
        try:
            is_over = False
            while not is_over:
                with interrupt.waiting():
                    assigned = member.join()
                    starts = reading.resumed(assigned, member.committed(assigned))
                    reader = make_reader(starts, [at for at in assigned if at not in starts])
                is_over = reading.read(reader, is_idle=waits and not assigned)
        finally:
            try:
                reading.commit()
            finally:
                member.leave()


class _Reading:
    """The partitions of one member: the records that were printed, and the offsets to commit."""

    def __init__(
        self,
        member: GroupMembership,
        consumption: Taker,
        interrupt: GentleInterrupt,
        *,
        commits: bool,
        commits_starts: bool,
    ) -> None:
        self._member = member
        self._consumption = consumption
        self._interrupt = interrupt
        self._commits = commits
        self._commits_starts = commits_starts
        self._offsets: dict[TopicPartition, int] = {}
        self._taken: dict[TopicPartition, int] = {}
        self._committed_s = time.monotonic()

    def resumed(
        self, assigned: Iterable[TopicPartition], committed: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Where to go on in each partition that has a committed offset, or that this member read until now."""
        self._taken = {at: self._taken[at] for at in assigned if at in self._taken}
        return {at: max(committed.get(at, 0), self._taken.get(at, 0)) for at in committed.keys() | self._taken.keys()}

    def read(self, reader: PartitionReader, *, is_idle: bool) -> bool:
        """Read until the group rebalances (False) or nothing more is to be read (True)."""
        consumption = self._consumption
        if self._commits_starts:
            self._offsets |= reader.positions
        while reader.positions or is_idle:
            with self._interrupt.waiting():
                if is_idle:
                    time.sleep(_IDLE_S)
                batches = reader.poll()
            for found in batches:
                try:
                    consumption.take(found, partial(self._pause_of, found.at))
                except KeyboardInterrupt:
                    self._note(found.at, consumption.next_offset)
                    raise
                except _RebalanceError:
                    return self._give_up()
                is_full = consumption.is_full and consumption.next_offset is not None
                self._note(found.at, consumption.next_offset if is_full else reader.positions.get(found.at, found.end))
                if consumption.is_full:
                    return True
            self._commit_if_due()
            if self._member.must_rejoin():
                return self._give_up()
        return True

    @contextmanager
    def _pause_of(self, at: TopicPartition) -> Iterator[None]:
        """A pause between the records of a batch. Raises _RebalanceError, KeyboardInterrupt."""
        self._note(at, self._consumption.next_offset)
        self._commit_if_due()
        if self._member.must_rejoin():
            raise _RebalanceError
        with self._interrupt.waiting():
            yield

    def _give_up(self) -> bool:
        """Commit before the group rebalances; returns that more is to be read."""
        self.commit()
        self._offsets.clear()
        return False

    def _commit_if_due(self) -> None:
        if time.monotonic() - self._committed_s > _COMMIT_EVERY_S:
            self.commit()

    def _note(self, at: TopicPartition, behind: int | None) -> None:
        """Note that everything in front of an offset was taken; None: nothing is known."""
        if behind is not None:
            self._offsets[at] = self._taken[at] = behind

    def commit(self) -> None:
        """Commit what was printed, if that is wanted."""
        self._committed_s = time.monotonic()
        if self._commits:
            self._member.commit(self._offsets)
            self._offsets.clear()
