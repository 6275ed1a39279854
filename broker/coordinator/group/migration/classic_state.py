"""Copies of what a classic group hands over to a consumer group, to see later whether it has changed."""

from typing import NamedTuple, Self

from ..group import Group
from ..member import Member, MemberProtocol

__all__ = ["ClassicMemberState", "ClassicState"]


class ClassicMemberState(NamedTuple):
    """The fields of a `Member` that a consumer group takes over."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes

    @classmethod
    def of(cls, member: Member) -> Self:
        return cls(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.protocols,
            member.assignment,
        )


class ClassicState(NamedTuple):
    """The generation and the members of a classic group."""

    group_id: str
    generation_id: int
    members: tuple[ClassicMemberState, ...]

    @classmethod
    def of(cls, group: Group) -> Self:
        return cls(group.group_id, group.generation_id, tuple(map(ClassicMemberState.of, group.members.values())))
