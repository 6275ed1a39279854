"""What groups take in memory, counted as members come and go (``pybroker.groups.max.bytes``; Kafka has no bound).

The numbers are estimates of Python's objects, and what clients say of themselves at its size.
"""

from .member import Member, MemberProtocol

__all__ = ["GROUP_BYTES", "PENDING_BYTES", "GroupMemory", "member_bytes", "protocols_bytes"]

GROUP_BYTES = 3_000
PENDING_BYTES = 900
_MEMBER_BYTES = 1_800
_PROTOCOL_BYTES = 300


class GroupMemory:
    """The account of all groups of a coordinator."""

    __slots__ = ("max_bytes", "used_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0

    def has_room_for(self, size_bytes: int) -> bool:
        return self.used_bytes + size_bytes <= self.max_bytes


def protocols_bytes(protocols: tuple[MemberProtocol, ...]) -> int:
    return sum(_PROTOCOL_BYTES + len(protocol.name) + len(protocol.metadata) for protocol in protocols)


def member_bytes(member: Member) -> int:
    """Without its protocols. Its ids are kept in several places."""
    instance_bytes = 0 if member.group_instance_id is None else len(member.group_instance_id)
    return _MEMBER_BYTES + 2 * (len(member.member_id) + instance_bytes) + len(member.client_id)
