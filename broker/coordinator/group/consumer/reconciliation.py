"""Leads one member of a consumer group from what it has to its target assignment (KIP-848).

**How.** A member first gives back what it shall not keep, in its old epoch. Then it gets the target's epoch, and of its
new partitions those that nobody else owns; it gets the others as their owners give them back.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from .....protocol.errors import FencedMemberEpochError
from ..modern.assignment import EMPTY, Assignment, pairs, union
from .records import CurrentMember
from .states import MemberState

__all__ = ["Goal", "reconcile"]

_NOTHING: frozenset[int] = frozenset()


class Goal(NamedTuple):
    """Where a member is led. ``owned``: the partitions that the client says it has; None when it does not say.

    ``client_epoch``: the newest epoch of which the client knows.

    ``owners``: the owner of each partition. ``is_subscribed``: whether a topic exists that the member subscribes to.
    ``subscription_changed``: by this heartbeat.
    """

    target_epoch: int
    target: Assignment
    owners: Mapping[tuple[UUID, int], str]
    is_subscribed: Callable[[UUID], bool]
    owned: Assignment | None
    client_epoch: int
    subscription_changed: bool


def reconcile(current: CurrentMember, goal: Goal) -> CurrentMember:
    """The member's next assignment; ``current`` when there is nothing to change.

    Raises FencedMemberEpochError for a member in a state that only a newer coordinator knows.
    """
    match current.state:
        case MemberState.STABLE:
            if current.epoch != goal.target_epoch:
                return _advance(current, goal)
            return _without_unsubscribed(current, goal) if goal.subscription_changed else current
        case MemberState.UNREVOKED_PARTITIONS:
            if not _owns_any(goal.owned, current.revoking):
                return _advance(current, goal)
            return _without_unsubscribed(current, goal) if goal.subscription_changed else current
        case MemberState.UNRELEASED_PARTITIONS:
            return _advance(current, goal)
        case MemberState.UNKNOWN:
            if goal.owned is None or goal.owned:
                raise FencedMemberEpochError(
                    "The coordinator does not know the member's state. The member must give up its partitions and join"
                    " again."
                )
            return _advance(current, goal)


def _advance(current: CurrentMember, goal: Goal) -> CurrentMember:
    keep: dict[UUID, frozenset[int]] = {}
    revoke: dict[UUID, frozenset[int]] = {}
    assigned: dict[UUID, frozenset[int]] = {}
    waits = False
    for topic_id in {**goal.target, **current.assigned}:
        has = current.assigned.get(topic_id, _NOTHING)
        target = goal.target.get(topic_id, _NOTHING) if goal.is_subscribed(topic_id) else _NOTHING
        own = has & target
        if own:
            keep[topic_id] = own
        if len(own) < len(has):
            revoke[topic_id] = has - target
        if len(own) < len(target):
            missing = target - has
            free = frozenset(p for p in missing if _is_free(topic_id, p, current, goal))
            waits = waits or len(free) < len(missing)
            own |= free
        if own:
            assigned[topic_id] = own
    if revoke and _owns_any(goal.owned, revoke):
        return current._replace(state=MemberState.UNREVOKED_PARTITIONS, assigned=keep, revoking=revoke)
    return CurrentMember(
        current.member_id,
        goal.target_epoch,
        # Responses may be lost: the client comes with the epoch that it knows until it has heard of a newer one.
        goal.client_epoch if current.epoch != goal.target_epoch else current.previous_epoch,
        MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE,
        assigned,
        EMPTY,
    )


def _is_free(topic_id: UUID, partition: int, current: CurrentMember, goal: Goal) -> bool:
    """Whether no other member owns the partition. The member itself may, because it had to give it back."""
    return (topic_id, partition) not in goal.owners or partition in current.revoking.get(topic_id, _NOTHING)


def _without_unsubscribed(current: CurrentMember, goal: Goal) -> CurrentMember:
    """The assignment without the topics that the member has just unsubscribed from, without waiting for a target."""
    gone = {topic_id: own for topic_id, own in current.assigned.items() if not goal.is_subscribed(topic_id)}
    if not gone:
        return current
    keep = {topic_id: own for topic_id, own in current.assigned.items() if topic_id not in gone}
    revoke = union(current.revoking, gone)
    if _owns_any(goal.owned, revoke):
        return current._replace(state=MemberState.UNREVOKED_PARTITIONS, assigned=keep, revoking=revoke)
    return current._replace(assigned=keep)


def _owns_any(owned: Assignment | None, partitions: Assignment) -> bool:
    """Whether the client has some of the partitions. It may when it does not say what it has."""
    return owned is None or any(partition in owned.get(topic_id, _NOTHING) for topic_id, partition in pairs(partitions))
