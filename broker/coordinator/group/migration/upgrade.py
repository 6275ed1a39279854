"""Makes a classic group a consumer group, when a client joins it by the consumer protocol. No clock, no I/O.

The members keep their ids, their assignments and the classic protocol. The generation becomes the epoch. A member that
keeps partitions while the group rebalances may not have given back yet what its generation took from it: nobody gets
such partitions before it joins again.
"""

from collections.abc import Generator, Iterator, Set
from typing import NamedTuple
from uuid import UUID

from .....protocol.codec import DecodeError
from .....protocol.errors import GroupIdNotFoundError
from ..consumer.consumer_group import ConsumerGroup
from ..consumer.heartbeat import Heartbeat
from ..consumer.name_patterns import check_new_pattern
from ..consumer.records import (
    ClassicMember,
    CurrentMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    TargetEpoch,
    TargetMember,
)
from ..consumer.states import MemberState
from ..group import Group
from ..modern.assignment import Assignment, assignment_of, pairs
from ..modern.room import check_room
from ..modern.topics import TopicLookup
from ..offset_batch import AppliedRecords, BegunBatch
from .classic_state import ClassicMemberState, ClassicState
from .client_protocol import Subscription, read_assignment, read_subscription
from .policy import MigrationPolicy

__all__ = ["UpgradeDraft", "check_upgrade", "draft_steps", "upgrade_records"]

_MOST_MEMBERS = 1_000
_MOST_BYTES = 512 * 1024
"""Limits of a group's members, and of their subscriptions and assignments, which take memory a second time."""

_NO_HASH = 0
"""The hash of topics before the coordinator has looked at them: the next member makes the next epoch. The leader's
assignment may be incomplete, because it gives a partition that one member shall give back to nobody yet.
"""


class UpgradeDraft(NamedTuple):
    """A consumer group that is not in the registry yet. ``source``: the classic group as it was. ``applied``: what made
    the group."""

    source: ClassicState
    group: ConsumerGroup
    applied: AppliedRecords

    def is_of(self, group: Group) -> bool:
        """Whether it is made of the classic group as it is now."""
        return self.source == ClassicState.of(group)


def check_upgrade(group: Group, joining: Heartbeat, policy: MigrationPolicy, max_size: int) -> None:
    """Check what takes little time. Raises KafkaError when the group may not be converted, or would refuse the client.

    ``joining``: the heartbeat by which the client joins.
    """
    if (reason := _refusal(group, policy, max_size)) is not None:
        raise _refused(group.group_id, reason)
    is_known = joining.member_id in group.members or joining.instance_id in group.static_members
    if not is_known:
        check_room("consumer", len(group.members), max_size)
    if joining.pattern:
        check_new_pattern(joining.pattern, ())  # members of the classic protocol have none


def draft_steps(group: Group, topics: TopicLookup, batch: BegunBatch) -> Generator[None, None, UpgradeDraft]:
    """Make the consumer group that the classic group becomes, after `check_upgrade`, in short steps. ``batch``: empty.

    Raises GroupIdNotFoundError when the members' assignments cannot be taken over.
    """
    draft = UpgradeDraft(ClassicState.of(group), ConsumerGroup(group.group_id), AppliedRecords([], batch))
    for key in group.tombstones():
        batch.add(key, None)
    for record in upgrade_records(draft.source, topics):
        if record is not None:
            draft.group.apply(record)
            draft.applied.records.append(record)
            batch.add(*draft.group.encoded(record))
        yield
    return draft


def upgrade_records(source: ClassicState, topics: TopicLookup) -> Iterator[GroupRecord | None]:
    """The records of the consumer group. None: a step without a record.

    Raises GroupIdNotFoundError.
    """
    epoch = source.generation_id
    described: list[MemberMetadata] = []
    owned: dict[str, Assignment] = {}
    assigned: dict[str, Assignment] = {}
    given: set[tuple[UUID, int]] = set()
    try:
        for member in source.members:
            subscription = read_subscription(member.protocols[0].metadata, topics)  # equal in all of its protocols
            described.append(_metadata(member, subscription))
            owned[member.member_id] = subscription.owned
            assigned[member.member_id] = read_assignment(member.assignment, topics)
            given.update(pairs(assigned[member.member_id]))
            yield None
    except DecodeError:
        raise _refused(source.group_id, "the embedded consumer protocol is malformed") from None
    except ValueError:
        reason = "an unsupported custom assignor is in use. Use a default assignor before the upgrade"
        raise _refused(source.group_id, reason) from None
    yield from described
    yield GroupEpoch(epoch, _NO_HASH)
    yield from (TargetMember(member_id, own) for member_id, own in assigned.items())
    yield TargetEpoch(epoch)
    for member_id, own in assigned.items():
        yield _current(member_id, epoch, own, owned[member_id], given)


def _current(
    member_id: str, epoch: int, assigned: Assignment, owned: Assignment, given: Set[tuple[UUID, int]]
) -> CurrentMember:
    """``owned``: the partitions that the member had when it joined. ``given``: those that some member has now."""
    revoking = assignment_of(partition for partition in pairs(owned) if partition not in given)
    state = MemberState.UNREVOKED_PARTITIONS if revoking else MemberState.STABLE
    return CurrentMember(member_id, epoch, epoch, state, assigned, revoking)


def _refusal(group: Group, policy: MigrationPolicy, max_size: int) -> str | None:
    if not policy.may_upgrade:
        return "online upgrade is disabled"
    if not group.is_consumer_group:
        return "the group does not use the consumer embedded protocol"
    if len(group.members) > min(max_size, _MOST_MEMBERS):
        return "the group size exceeds the consumer group maximum size"
    sizes = (len(each.protocols[0].metadata) + len(each.assignment) for each in group.members.values())
    return "its subscriptions and assignments are too large" if sum(sizes) > _MOST_BYTES else None


def _refused(group_id: str, reason: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(f"Cannot upgrade classic group {group_id} to consumer group because {reason}.")


def _metadata(member: ClassicMemberState, subscription: Subscription) -> MemberMetadata:
    return MemberMetadata(
        member.member_id,
        member.group_instance_id,
        subscription.rack_id,
        member.client_id,
        member.client_host,
        subscription.names,
        None,
        member.rebalance_timeout_ms,
        None,
        ClassicMember(member.session_timeout_ms, member.protocols),
    )
