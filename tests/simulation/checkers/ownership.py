"""Judges what the members of a consumer group did: which partitions they consumed, and which commits were accepted.

**Why.** Two clients may consume one partition at the same time, when one of them does not know yet that it was fenced.
But an accepted commit proves that the coordinator takes the member for the owner. So the commits of one member must not
be accepted after those of another, unless the member got the partition anew in between.
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

    ``text``: names the commit; it is the metadata of the offset.
    """

    member_id: str
    epoch: int
    partition: OwnedPartition
    offset: int
    acquired_s: float
    asked_s: float

    @property
    def text(self) -> str:
        return f"{self.member_id}/{self.epoch}/{self.partition.topic_id.hex}/{self.partition.number}/{self.offset}"


class _Accepted(NamedTuple):
    commit: MemberCommit
    answered_s: float


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
        self._latest: dict[OwnedPartition, dict[str, _Accepted]] = {}
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

    def accepts(self, commit: MemberCommit, answered_s: float) -> None:
        """The coordinator accepted a commit."""
        del self.in_doubt[commit.text]
        self.accepted.append(commit)
        latest = self._latest.setdefault(commit.partition, {})
        for other in latest.values():
            if other.commit.member_id == commit.member_id:
                continue
            if commit.acquired_s < other.commit.asked_s and other.answered_s < commit.asked_s:
                self._report(
                    f"{commit.partition}: a commit of {commit.member_id} in epoch {commit.epoch} is accepted, but"
                    f" {other.commit.member_id} got the partition in epoch {other.commit.epoch} meanwhile"
                )
        latest[commit.member_id] = _Accepted(commit, answered_s)
        self._committed[commit.partition] = commit.offset

    def check_offset(self, partition: OwnedPartition, expected: int, found: int) -> None:
        """A coordinator that accepts commits said that ``found`` is committed, ``expected`` was before the question."""
        if found < expected and not self._may_have_gone_back(partition, found):
            self._report(f"{partition}: offset {expected} was committed, {found} is known")

    def _may_have_gone_back(self, partition: OwnedPartition, offset: int) -> bool:
        """Whether a commit that was given up may have arrived late."""
        return any(each.partition == partition and each.offset == offset for each in self.in_doubt.values())
