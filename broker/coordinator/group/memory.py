"""Memory used by groups, counted as members come and go (limit: ``pybroker.groups.max.bytes``; Kafka has none).

The constants are estimates of the size of Python objects. Texts and metadata that clients send count at their size.
"""

from ....protocol.text_size import text_bytes
from .member import Member, MemberProtocol

__all__ = [
    "group_bytes",
    "member_bytes",
    "pending_bytes",
    "protocols_bytes",
    "subscription_bytes",
]

_GROUP_BYTES = 3_000
_PENDING_BYTES = 900
_MEMBER_BYTES = 1_800
_PROTOCOL_BYTES = 300
_TOPIC_BYTES = 150


def group_bytes(group_id: str) -> int:
    """A group without members. Its id is stored several times."""
    return _GROUP_BYTES + 2 * text_bytes(group_id)


def pending_bytes(member_id: str) -> int:
    """A member id that was handed out and has not joined yet."""
    return _PENDING_BYTES + text_bytes(member_id)


def subscription_bytes(topics: frozenset[str] | None) -> int:
    """The set of topics that the members of a group read."""
    return sum(_TOPIC_BYTES + text_bytes(topic) for topic in topics or ())


def protocols_bytes(protocols: tuple[MemberProtocol, ...]) -> int:
    return sum(_PROTOCOL_BYTES + text_bytes(protocol.name) + len(protocol.metadata) for protocol in protocols)


def member_bytes(member: Member) -> int:
    """A member without its protocols. Its ids are stored several times."""
    ids_bytes = text_bytes(member.member_id) + text_bytes(member.group_instance_id or "")
    own_bytes = text_bytes(member.client_id) + text_bytes(member.protocol_type) + len(member.assignment)
    return _MEMBER_BYTES + 2 * ids_bytes + own_bytes
