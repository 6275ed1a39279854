"""Finds the member that a heartbeat comes from, or the static member whose place it takes, and refuses others."""

from collections.abc import Callable
from typing import NamedTuple

from .....protocol.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)
from ..modern.assignment import Assignment
from ..modern.room import check_room
from .consumer_group import ConsumerGroup
from .heartbeat import JOIN_EPOCH, STATIC_LEAVE_EPOCH, Heartbeat
from .member import ConsumerMember, nothing_assigned
from .records import CurrentMember, MemberMetadata

__all__ = ["Arrival", "arrive", "known_member"]


class Arrival(NamedTuple):
    """The member of a heartbeat as it was until now.

    ``replaced``: the id under which a static member was known that returns under another. ``is_behind``: the member
    does not know its epoch yet, because a response was lost.
    """

    metadata: MemberMetadata
    current: CurrentMember
    is_new: bool = False
    replaced: str | None = None
    is_behind: bool = False

    @property
    def member_id(self) -> str:
        return self.metadata.member_id


def arrive(group: ConsumerGroup, heartbeat: Heartbeat, max_size: int, new_member_id: Callable[[], str]) -> Arrival:
    """The member of a heartbeat that does not leave. Raises KafkaError when the group refuses it."""
    if heartbeat.member_epoch == JOIN_EPOCH:
        return _join(group, heartbeat, max_size, new_member_id)
    member = known_member(group, heartbeat)
    return Arrival(member.metadata, member.current, is_behind=_is_behind(member.current, heartbeat))


def known_member(group: ConsumerGroup, heartbeat: Heartbeat) -> ConsumerMember:
    """The member that sends a heartbeat in an epoch other than that of a join, or leaves. Raises KafkaError."""
    if heartbeat.instance_id is not None:
        holder_id = group.static_members.get(heartbeat.instance_id)
        if holder_id is None:
            raise UnknownMemberIdError(f"Instance id {heartbeat.instance_id} is unknown.")
        if holder_id != heartbeat.member_id:
            raise FencedInstanceIdError(
                f"Static member {heartbeat.member_id} with instance id {heartbeat.instance_id} was fenced by member"
                f" {holder_id}."
            )
    member = group.members.get(heartbeat.member_id)
    if member is None:
        raise UnknownMemberIdError(f"Member {heartbeat.member_id} is not a member of group {group.group_id}.")
    return member


def _join(group: ConsumerGroup, heartbeat: Heartbeat, max_size: int, new_member_id: Callable[[], str]) -> Arrival:
    member_id = heartbeat.member_id or new_member_id()
    holder_id = group.static_members.get(heartbeat.instance_id) if heartbeat.instance_id is not None else None
    if holder_id is not None and holder_id != member_id:
        is_classic = heartbeat.classic is not None
        return _return_under_another_id(group.members[holder_id], member_id, joins_by_classic=is_classic)
    member = group.members.get(member_id)
    if member is not None:  # it has lost its epoch, or a response; or it is a static member that returns
        return Arrival(member.metadata, _returned(member.current))
    check_room("consumer", len(group.members), max_size)
    return Arrival(MemberMetadata(member_id), nothing_assigned(member_id), is_new=True)


def _return_under_another_id(holder: ConsumerMember, member_id: str, *, joins_by_classic: bool) -> Arrival:
    """A member of the classic protocol does not say that it leaves for a while, so it may return at any time."""
    if holder.epoch != STATIC_LEAVE_EPOCH and not (holder.is_classic or joins_by_classic):
        raise UnreleasedInstanceIdError(
            f"Static member {member_id} with instance id {holder.metadata.instance_id} cannot join the group because"
            f" the instance id is owned by {holder.member_id} member."
        )
    metadata = holder.metadata._replace(member_id=member_id)
    current = holder.current._replace(member_id=member_id, epoch=0, previous_epoch=0)
    return Arrival(metadata, current, replaced=holder.member_id)


def _returned(current: CurrentMember) -> CurrentMember:
    """A static member that had left begins at epoch 0 again, with its assignment."""
    return current._replace(epoch=0, previous_epoch=0) if current.epoch == STATIC_LEAVE_EPOCH else current


def _is_behind(current: CurrentMember, heartbeat: Heartbeat) -> bool:
    """Whether the member is in its previous epoch. Raises FencedMemberEpochError for any other but its own."""
    epoch = heartbeat.member_epoch
    if epoch == current.epoch:
        return False
    is_behind = epoch == current.previous_epoch and epoch < current.epoch
    if is_behind and heartbeat.owned is not None and _has_no_more(heartbeat.owned, current):
        return True
    relation = "greater" if epoch > current.epoch else "smaller"
    raise FencedMemberEpochError(
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group coordinator"
        f" ({current.epoch}). The member must abandon all its partitions and rejoin."
    )


def _has_no_more(owned: Assignment, current: CurrentMember) -> bool:
    """Whether all that the client has is assigned to it, or was and has to be given back."""
    none: frozenset[int] = frozenset()
    return all(
        partitions <= current.assigned.get(topic_id, none) | current.revoking.get(topic_id, none)
        for topic_id, partitions in owned.items()
    )
