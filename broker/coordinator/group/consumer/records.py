"""The records of a consumer group in ``__consumer_offsets``, as values. The bytes are Kafka 4.2's.

**How.** Every change of a group is a tuple of these records: first applied to memory, then written as one batch.
"""

from enum import IntEnum
from typing import NamedTuple

from ..modern.assignment import Assignment
from .states import MemberState

__all__ = [
    "CurrentMember",
    "GroupEpoch",
    "GroupRecord",
    "MemberMetadata",
    "RecordKind",
    "Removed",
    "ResolvedPattern",
    "TargetEpoch",
    "TargetMember",
    "encode",
]


class RecordKind(IntEnum):
    """The type of a record, which is the version of its key."""

    GROUP = 3
    PARTITION_METADATA = 4
    """Kafka 4.0 alone writes it; later releases delete it."""
    MEMBER = 5
    TARGET = 6
    TARGET_MEMBER = 7
    CURRENT_MEMBER = 8
    PATTERN = 16


class GroupEpoch(NamedTuple):
    """The group. ``metadata_hash``: of the subscribed topics, see `modern.topics.metadata_hash`."""

    epoch: int
    metadata_hash: int = 0


class MemberMetadata(NamedTuple):
    """What a member told of itself. ``names``: sorted. ``pattern``: None, or "" in Kafka's records, for none.

    ``rebalance_timeout_ms``: -1 when unknown.
    """

    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    names: tuple[str, ...]
    pattern: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None


class TargetEpoch(NamedTuple):
    """The group epoch for which the target assignment was computed."""

    epoch: int


class TargetMember(NamedTuple):
    """What a member shall get."""

    member_id: str
    assignment: Assignment


class CurrentMember(NamedTuple):
    """What a member has. ``revoking``: partitions that it must give back. ``epoch`` -2: a static member that left."""

    member_id: str
    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: Assignment
    revoking: Assignment


class ResolvedPattern(NamedTuple):
    """The topics that match a pattern. ``version``: of the metadata in which they were looked up, at ``time_ms``."""

    pattern: str
    topics: frozenset[str]
    version: int
    time_ms: int


class Removed(NamedTuple):
    """A tombstone. ``name``: the member id or the pattern; "" for the kinds of which a group has one record."""

    kind: RecordKind
    name: str = ""


GroupRecord = GroupEpoch | MemberMetadata | TargetEpoch | TargetMember | CurrentMember | ResolvedPattern | Removed


def encode(group_id: str, record: GroupRecord) -> tuple[bytes, bytes | None]:
    """Key and value of a record; the value of a tombstone is None."""
    raise NotImplementedError
