"""The rules for members of a consumer group that use the classic protocol. No clock, no I/O.

A JoinGroup counts as a heartbeat of epoch 0: the group has no leader, and the broker assigns the partitions. A
member's generation is its epoch.
"""

from .....protocol.codec import DecodeError
from .....protocol.errors import (
    FencedInstanceIdError,
    GroupMaxSizeReachedError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    UnknownMemberIdError,
)
from ..consumer.consumer_group import ConsumerGroup
from ..consumer.heartbeat import JOIN_EPOCH, Heartbeat
from ..consumer.member import ConsumerMember
from ..consumer.records import ClassicMember
from ..consumer.states import MemberState
from ..joining import JoinRequest
from ..modern.assignment import pairs
from ..modern.topics import TopicLookup
from ..results import UNKNOWN_MEMBER_ID, LeavingMember
from ..subscriptions import CONSUMER_PROTOCOL_TYPE
from ..syncing import SyncRequest
from .client_protocol import read_subscription
from .policy import MigrationPolicy

__all__ = [
    "check_join",
    "check_return",
    "check_sync",
    "classic_member",
    "has_to_join_again",
    "joining_heartbeat",
    "leaving_member",
]

_VERSION = 0
"""The version of the heartbeat that stands for a JoinGroup."""


def check_join(group: ConsumerGroup, request: JoinRequest, policy: MigrationPolicy, max_size: int) -> None:
    """Raises KafkaError when the client may not join the group."""
    if policy is MigrationPolicy.DISABLED:
        raise InconsistentGroupProtocolError()
    is_known = request.member_id in group.members or request.group_instance_id in group.static_members
    if len(group.members) >= max_size and not is_known:
        raise GroupMaxSizeReachedError()
    if not group.classic.supports(request.protocol_type, request.protocols):
        raise InconsistentGroupProtocolError()
    if request.group_instance_id is not None and request.member_id != UNKNOWN_MEMBER_ID:
        _known(group, request.member_id, request.group_instance_id)


def joining_heartbeat(request: JoinRequest, member_id: str, topics: TopicLookup) -> Heartbeat:
    """The heartbeat that stands for the JoinGroup. Raises InconsistentGroupProtocolError for broken metadata."""
    try:
        subscription = read_subscription(request.protocols[0].metadata, topics)
    except DecodeError:
        raise InconsistentGroupProtocolError() from None
    return Heartbeat(
        request.group_id,
        member_id,
        JOIN_EPOCH,
        request.group_instance_id,
        subscription.rack_id,
        request.rebalance_timeout_ms,
        subscription.names,
        "",  # members of the classic protocol look up the topics of their patterns themselves
        None,
        subscription.owned,
        request.client_id,
        request.client_host,
        _VERSION,
        ClassicMember(request.session_timeout_ms, request.protocols),
    )


def check_return(group: ConsumerGroup, joining: Heartbeat) -> None:
    """Raises UnknownMemberIdError for a member that was removed and does not know it, because it has partitions.

    Others may have read these since. Kafka takes such a member as a new one; it would go on where it was.
    """
    if joining.owned and joining.instance_id is None and joining.member_id not in group.members:
        raise UnknownMemberIdError()


def classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> tuple[ConsumerMember, ClassicMember]:
    """The member that sends a request in a generation. Raises KafkaError."""
    member = _known(group, member_id, instance_id)
    classic = member.metadata.classic
    if classic is None:
        raise UnknownMemberIdError()
    if generation_id != member.epoch:
        raise IllegalGenerationError()
    return member, classic


def leaving_member(group: ConsumerGroup, leaving: LeavingMember) -> ConsumerMember:
    """The member of either protocol that LeaveGroup names, by its id or its instance id alone (KIP-345).

    Raises KafkaError.
    """
    member_id = leaving.member_id
    if member_id == UNKNOWN_MEMBER_ID:
        member_id = group.static_members.get(leaving.group_instance_id or "", UNKNOWN_MEMBER_ID)
    return _known(group, member_id, leaving.group_instance_id)


def check_sync(classic: ClassicMember, request: SyncRequest) -> None:
    """Raises InconsistentGroupProtocolError when the request names another protocol than the JoinGroup's response."""
    is_same_type = request.protocol_type in (None, CONSUMER_PROTOCOL_TYPE)
    if not is_same_type or request.protocol_name not in (None, classic.protocols[0].name):
        raise InconsistentGroupProtocolError()


def has_to_join_again(group: ConsumerGroup, member: ConsumerMember, newest_epoch: int, topics: TopicLookup) -> bool:
    """Whether a JoinGroup would change the member's assignment, or make the group's next epoch."""
    current = member.current
    if current.epoch < newest_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if current.state is MemberState.UNRELEASED_PARTITIONS:
        return not _waits(group, member)
    if group.topics_changed:
        group.topics_changed = group.subscriptions.topics_hash(topics) != group.metadata_hash
    return group.topics_changed


def _waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether other members still own partitions that the member shall get."""
    return any(
        group.owners.get(partition, member.member_id) != member.member_id
        for partition in pairs(group.target_of(member.member_id))
    )


def _known(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    if instance_id is not None:
        holder_id = group.static_members.get(instance_id)
        if holder_id is None:
            raise UnknownMemberIdError()
        if holder_id != member_id:
            raise FencedInstanceIdError()
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberIdError()
    return member
