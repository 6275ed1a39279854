"""Makes a classic group a consumer group, when a client joins it by the consumer protocol. No clock, no I/O.

The members keep their ids, their assignments and the classic protocol. The generation becomes the epoch.
"""

from .....protocol.codec import DecodeError
from .....protocol.errors import GroupIdNotFoundError
from ..consumer.member import nothing_assigned
from ..consumer.records import (
    ClassicMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    TargetEpoch,
    TargetMember,
)
from ..group import Group
from ..member import Member
from ..modern.assignment import Assignment
from ..modern.topics import TopicLookup, metadata_hash
from .client_protocol import read_assignment, read_subscription
from .policy import MigrationPolicy

__all__ = ["upgrade_records"]

_MOST_MEMBERS = 1_000
"""The event loop converts all members of a group at once."""


def upgrade_records(
    group: Group, policy: MigrationPolicy, max_size: int, topics: TopicLookup
) -> tuple[GroupRecord, ...]:
    """The records of the consumer group that the classic group becomes. Raises GroupIdNotFoundError when it may not."""
    if (reason := _refusal(group, policy, max_size)) is not None:
        raise _refused(group, reason)
    epoch = group.generation_id
    described: list[MemberMetadata] = []
    assigned: dict[str, Assignment] = {}
    try:
        for member in group.members.values():
            described.append(_metadata(member, topics))
            assigned[member.member_id] = read_assignment(member.assignment, topics)
    except DecodeError:
        raise _refused(group, "the embedded consumer protocol is malformed") from None
    except ValueError:
        reason = "an unsupported custom assignor is in use. Use a default assignor before the upgrade"
        raise _refused(group, reason) from None
    names = {name for metadata in described for name in metadata.names}
    current = (
        nothing_assigned(member_id)._replace(epoch=epoch, previous_epoch=epoch, assigned=own)
        for member_id, own in assigned.items()
    )
    return (
        *described,
        GroupEpoch(epoch, metadata_hash(names, topics)),
        *(TargetMember(member_id, own) for member_id, own in assigned.items()),
        TargetEpoch(epoch),
        *current,
    )


def _refusal(group: Group, policy: MigrationPolicy, max_size: int) -> str | None:
    if not policy.may_upgrade:
        return "online upgrade is disabled"
    if not group.is_consumer_group:
        return "the group does not use the consumer embedded protocol"
    if len(group.members) > min(max_size, _MOST_MEMBERS):
        return "the group size exceeds the consumer group maximum size"
    return None


def _refused(group: Group, reason: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.")


def _metadata(member: Member, topics: TopicLookup) -> MemberMetadata:
    """All protocols of a member have the same subscription."""
    subscription = read_subscription(member.protocols[0].metadata, topics)
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
