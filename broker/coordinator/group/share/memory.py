"""Memory used by share groups, by the rules of ``group/memory.py``. The constants are estimates."""

from .....protocol.text_size import text_bytes
from ..modern.memory import MEMBER_BYTES, PARTITION_BYTES, TOPIC_BYTES, names_bytes
from .records import MemberMetadata, StatePartitions

__all__ = ["metadata_bytes", "states_bytes"]


def metadata_bytes(metadata: MemberMetadata) -> int:
    """A member without its assignments. Its id is stored several times."""
    texts = (metadata.rack_id, metadata.client_id, metadata.client_host)
    own_bytes = 2 * text_bytes(metadata.member_id) + sum(text_bytes(text or "") for text in texts)
    return MEMBER_BYTES + own_bytes + names_bytes(metadata.names)


def states_bytes(states: StatePartitions) -> int:
    topics = [*states.initializing.values(), *states.initialized.values()]
    own_bytes = sum(TOPIC_BYTES + text_bytes(name) + PARTITION_BYTES * len(own) for name, own in topics)
    return own_bytes + sum(TOPIC_BYTES + text_bytes(name) for name in states.deleting.values())
