"""Memory used by share groups, by the rules of ``group/memory.py``. The constants are estimates."""

from .....protocol.text_size import text_bytes
from ..modern.assignment import Assignment
from .records import MemberMetadata, StatePartitions

__all__ = ["assignment_bytes", "metadata_bytes", "states_bytes"]

_MEMBER_BYTES = 1_500
_NAME_BYTES = 100
_TOPIC_BYTES = 400
_PARTITION_BYTES = 70


def metadata_bytes(metadata: MemberMetadata) -> int:
    """A member without its assignments. Its id is stored several times."""
    texts = (metadata.rack_id, metadata.client_id, metadata.client_host)
    names_bytes = sum(_NAME_BYTES + text_bytes(name) for name in metadata.names)
    own_bytes = 2 * text_bytes(metadata.member_id) + sum(text_bytes(text or "") for text in texts)
    return _MEMBER_BYTES + own_bytes + names_bytes


def assignment_bytes(assignment: Assignment) -> int:
    return sum(_TOPIC_BYTES + _PARTITION_BYTES * len(partitions) for partitions in assignment.values())


def states_bytes(states: StatePartitions) -> int:
    topics = [*states.initializing.values(), *states.initialized.values()]
    own_bytes = sum(_TOPIC_BYTES + text_bytes(name) + _PARTITION_BYTES * len(own) for name, own in topics)
    return own_bytes + sum(_TOPIC_BYTES + text_bytes(name) for name in states.deleting.values())
