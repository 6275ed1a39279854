"""Records that groups of several types have, as values."""

from typing import NamedTuple

from .assignment import Assignment

__all__ = ["GroupEpoch", "TargetEpoch", "TargetMember"]


class GroupEpoch(NamedTuple):
    """The group. ``metadata_hash``: of the subscribed topics, see `modern.topics.metadata_hash`."""

    epoch: int
    metadata_hash: int = 0


class TargetEpoch(NamedTuple):
    """The group epoch for which the target assignment was computed."""

    epoch: int


class TargetMember(NamedTuple):
    """The partitions that a member shall get."""

    member_id: str
    assignment: Assignment
