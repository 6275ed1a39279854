"""Judges what the members of a consumer group did: what they read of which partitions, and which commits were accepted.

**Why.** Two clients may read one partition at the same time, when one of them does not know yet that it was fenced.
But an accepted commit proves that the member has owned the partition since it got it. So no two members may have such
times in common, and no record is read twice by owners at one time. Each member goes on where the group has read to, so
no record is skipped.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

__all__ = ["Grant", "MemberCommit", "OwnedPartition", "OwnershipHistory"]


class OwnedPartition(NamedTuple):
    topic_id: UUID
    number: int

    def __str__(self) -> str:
        return f"{self.topic_id.hex[:8]}-{self.number}"


class Grant(NamedTuple):
    """A coordinator's answer to a heartbeat. ``assigned``: None when it did not tell."""

    member_id: str
    epoch: int
    assigned: frozenset[OwnedPartition] | None


class MemberCommit(NamedTuple):
    """A commit of one partition. ``acquired_s``: when the member began to consume the partition.

    ``number``: counts the commits of a member. ``text``: names the commit; it is the metadata of the offset.
    """

    member_id: str
    epoch: int
    partition: OwnedPartition
    offset: int
    acquired_s: float
    asked_s: float
    number: int = 0

    @property
    def text(self) -> str:
        partition = f"{self.partition.topic_id.hex}/{self.partition.number}"
        return f"{self.member_id}/{self.epoch}/{partition}/{self.offset}.{self.number}"


class OwnershipHistory:
    """The knowledge of the clients of one group. ``report`` is called with each violation.

    ``grants``: every answer. ``accepted``: the accepted commits. ``in_doubt``: commits without a result, which may
    take effect later, by their texts.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self.grants: dict[Grant, None] = {}
        self.accepted: list[MemberCommit] = []
        self.in_doubt: dict[str, MemberCommit] = {}
        self._latest: dict[OwnedPartition, dict[tuple[str, float], MemberCommit]] = {}
        """The last accepted commit of each member, by the time since which it had the partition."""
        self._read_to: dict[OwnedPartition, int] = {}
        self._committed: dict[OwnedPartition, int] = {}

    def granted(self, asked_epoch: int, grant: Grant) -> None:
        """A heartbeat in ``asked_epoch`` was accepted."""
        self.grants[grant] = None
        if grant.epoch < asked_epoch:
            self._report(f"member {grant.member_id} was in epoch {asked_epoch}, and is told {grant.epoch}")

    def committed(self, partition: OwnedPartition) -> int:
        """The last offset whose commit was accepted; -1: none."""
        return self._committed.get(partition, -1)

    def asks(self, commit: MemberCommit) -> None:
        """A member sends a commit."""
        self.in_doubt[commit.text] = commit

    def refused(self, commit: MemberCommit) -> None:
        self.in_doubt.pop(commit.text, None)

    def reads(self, partition: OwnedPartition, begin: int, end: int) -> None:
        """A member has read all records from ``begin`` up to ``end``."""
        read_to = self.read_to(partition)
        if begin > read_to:
            self._report(
                f"{partition}: a member reads from offset {begin}, but the group has read up to {read_to} only"
            )
        self._read_to[partition] = max(read_to, end)

    def read_to(self, partition: OwnedPartition) -> int:
        """The offset before which the group has read all records."""
        return self._read_to.get(partition, 0)

    def accepts(self, commit: MemberCommit) -> None:
        """The coordinator accepted a commit."""
        del self.in_doubt[commit.text]
        self.accepted.append(commit)
        latest = self._latest.setdefault(commit.partition, {})
        for other in latest.values():
            if other.member_id == commit.member_id:
                continue
            if commit.acquired_s < other.asked_s and other.acquired_s < commit.asked_s:
                self._report(
                    f"{commit.partition}: a commit of {commit.member_id} in epoch {commit.epoch} is accepted, but"
                    f" {other.member_id} got the partition in epoch {other.epoch} meanwhile"
                )
        latest[commit.member_id, commit.acquired_s] = commit
        self._committed[commit.partition] = commit.offset

    def check_offset(self, partition: OwnedPartition, expected: int, found: int) -> None:
        """A coordinator that accepts commits said that ``found`` is committed, ``expected`` was before the question."""
        if found < expected and not self._may_have_gone_back(partition, found):
            self._report(f"{partition}: offset {expected} was committed, {found} is known")

    def _may_have_gone_back(self, partition: OwnedPartition, offset: int) -> bool:
        """Whether a commit that was given up may have arrived late."""
        return any(each.partition == partition and each.offset == offset for each in self.in_doubt.values())
