"""The records of a share group, as values. Their bytes are in ``record_bytes.py``.

**How.** Every change of a group is a tuple of these records: applied to memory at once, then written as one batch.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from ..modern.assignment import EMPTY, Assignment
from ..modern.records import GroupEpoch, TargetEpoch, TargetMember

__all__ = [
    "NO_STATES",
    "CurrentMember",
    "MemberMetadata",
    "NamedPartitions",
    "RecordKind",
    "Removed",
    "ShareMember",
    "ShareRecord",
    "StatePartitions",
    "nothing_assigned",
]

_NO_EPOCH = -1


class RecordKind(IntEnum):
    """The type of a record, which is the version of its key."""

    MEMBER = 10
    GROUP = 11
    TARGET = 12
    TARGET_MEMBER = 13
    CURRENT_MEMBER = 14
    STATES = 15


class MemberMetadata(NamedTuple):
    """A member as it described itself. ``names``: sorted."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()


class CurrentMember(NamedTuple):
    """The partitions that a member has. It has the whole target of its epoch at once, because nobody gives way."""

    member_id: str
    epoch: int
    previous_epoch: int
    assigned: Assignment


class ShareMember(NamedTuple):
    """The newest records of a member."""

    metadata: MemberMetadata
    current: CurrentMember

    @property
    def member_id(self) -> str:
        return self.metadata.member_id

    @property
    def client_id(self) -> str:
        return self.metadata.client_id

    @property
    def group_instance_id(self) -> None:
        """Share groups have no static members."""
        return


class NamedPartitions(NamedTuple):
    """Some partitions of a topic, with the topic's name at that time."""

    name: str
    partitions: frozenset[int]


class StatePartitions(NamedTuple):
    """The partitions for which the share coordinator keeps a state, by topic id. No set of partitions is empty.

    Attributes:
        initializing: partitions whose state is being created.
        initialized: partitions that have a state; only these are assigned to members.
        deleting: names of the topics whose states are being deleted.
    """

    initializing: Mapping[UUID, NamedPartitions]
    initialized: Mapping[UUID, NamedPartitions]
    deleting: Mapping[UUID, str]


NO_STATES = StatePartitions({}, {}, {})


class Removed(NamedTuple):
    """A tombstone. ``name``: the member id; "" for the kinds of which a group has one record."""

    kind: RecordKind
    name: str = ""


ShareRecord = GroupEpoch | MemberMetadata | TargetEpoch | TargetMember | CurrentMember | StatePartitions | Removed


def nothing_assigned(member_id: str) -> CurrentMember:
    """The assignment of a new member: epoch 0, no partitions."""
    return CurrentMember(member_id, 0, _NO_EPOCH, EMPTY)
