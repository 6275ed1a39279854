"""Memory used by consumer groups, by the rules of ``group/memory.py``. The constants are estimates."""

from .....protocol.text_size import text_bytes
from ..memory import protocols_bytes
from ..modern.assignment import Assignment
from .records import MemberMetadata, ResolvedPattern

__all__ = ["assignment_bytes", "metadata_bytes", "owned_bytes", "pattern_bytes"]

_MEMBER_BYTES = 1_500
_NAME_BYTES = 100
_TOPIC_BYTES = 400
_PARTITION_BYTES = 70
_OWNER_BYTES = 200


def metadata_bytes(metadata: MemberMetadata) -> int:
    """A member without its assignments. Its ids are stored several times."""
    ids_bytes = text_bytes(metadata.member_id) + text_bytes(metadata.instance_id or "")
    texts = (metadata.rack_id, metadata.client_id, metadata.client_host, metadata.pattern, metadata.server_assignor)
    names_bytes = sum(_NAME_BYTES + text_bytes(name) for name in metadata.names)
    classic_bytes = 0 if metadata.classic is None else protocols_bytes(metadata.classic.protocols)
    return _MEMBER_BYTES + 2 * ids_bytes + sum(text_bytes(text or "") for text in texts) + names_bytes + classic_bytes


def assignment_bytes(assignment: Assignment) -> int:
    return sum(_TOPIC_BYTES + _PARTITION_BYTES * len(partitions) for partitions in assignment.values())


def owned_bytes(assignment: Assignment) -> int:
    """An assignment whose partitions have their owner noted."""
    return assignment_bytes(assignment) + sum(_OWNER_BYTES * len(partitions) for partitions in assignment.values())


def pattern_bytes(pattern: ResolvedPattern) -> int:
    return _TOPIC_BYTES + text_bytes(pattern.pattern) + sum(_NAME_BYTES + text_bytes(t) for t in pattern.topics)
