"""Results of the group coordinator, which API handlers turn into responses of a version."""

from typing import NamedTuple

from ....base.frozen import frozen
from ....protocol.errors import ErrorCode

__all__ = [
    "NO_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "GroupListing",
    "GroupSummary",
    "JoinResult",
    "JoinedMember",
    "LeaveResult",
    "LeavingMember",
    "LeftMember",
    "MemberSummary",
    "OffsetFetchResult",
    "SyncResult",
]

NO_GENERATION = -1
UNKNOWN_MEMBER_ID = ""
"""The member id of a client that has no id yet."""


class JoinedMember(NamedTuple):
    """A member as the leader sees it. ``metadata``: for the chosen protocol."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@frozen
class JoinResult:
    """The result of a JoinGroup. ``members``: for the leader only."""

    error: ErrorCode
    member_id: str
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@frozen
class SyncResult:
    """The result of a SyncGroup."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class LeavingMember(NamedTuple):
    """A member in a LeaveGroup. An empty ``member_id`` with an instance id: removal by an administrator (KIP-345)."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class LeftMember(NamedTuple):
    """The result for one leaving member."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


@frozen
class LeaveResult:
    """The result of a LeaveGroup. With an error, ``members`` is empty."""

    error: ErrorCode
    members: tuple[LeftMember, ...] = ()


class OffsetFetchResult(NamedTuple):
    """One partition in OffsetFetch. Offset −1 without an error: nothing is committed."""

    offset: int
    leader_epoch: int
    metadata: str
    error: ErrorCode


class GroupListing(NamedTuple):
    """One group in ListGroups."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


class MemberSummary(NamedTuple):
    """One member in DescribeGroups. Metadata and assignment are empty unless the group is stable."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@frozen
class GroupSummary:
    """One group in DescribeGroups. ``reason``: why there is no classic group with this id; empty when there is one."""

    error: ErrorCode
    state: str = ""
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[MemberSummary, ...] = ()
    reason: str = ""
