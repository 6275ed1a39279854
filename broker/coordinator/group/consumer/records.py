"""The records of a consumer group, as values. Their bytes are in ``record_bytes.py``.

**How.** Every change of a group is a tuple of these records: applied to memory at once, then written as one batch.
"""

from enum import IntEnum
from typing import NamedTuple

from ..member import MemberProtocol
from ..modern.assignment import Assignment
from ..modern.records import GroupEpoch, TargetEpoch, TargetMember
from .states import MemberState

__all__ = [
    "ClassicMember",
    "CurrentMember",
    "GroupEpoch",
    "GroupRecord",
    "MemberMetadata",
    "RecordKind",
    "Removed",
    "ResolvedPattern",
    "TargetEpoch",
    "TargetMember",
]


class RecordKind(IntEnum):
    """The type of a record, which is the version of its key."""

    GROUP = 3
    PARTITION_METADATA = 4
    """Only Kafka 4.0 writes it; later releases delete it."""
    MEMBER = 5
    TARGET = 6
    TARGET_MEMBER = 7
    CURRENT_MEMBER = 8
    PATTERN = 16


class ClassicMember(NamedTuple):
    """The fields that only a member of the classic protocol has. ``protocols``: at least one, by preference."""

    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]


class MemberMetadata(NamedTuple):
    """A member as it described itself. ``names``: sorted. ``pattern``: None or "" for none.

    ``rebalance_timeout_ms``: -1 when unknown. ``classic``: None for a member that uses the consumer protocol.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()
    pattern: str | None = None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMember | None = None


class CurrentMember(NamedTuple):
    """The partitions that a member has. ``revoking``: partitions that it must give back.

    ``epoch`` -2: a static member that has left.
    """

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
