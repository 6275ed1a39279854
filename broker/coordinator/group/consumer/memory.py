"""Memory used by consumer groups, by the rules of ``group/memory.py``. The constants are estimates."""

from .....protocol.text_size import text_bytes
from ..memory import protocols_bytes
from ..modern.memory import MEMBER_BYTES, NAME_BYTES, TOPIC_BYTES
from .records import MemberMetadata, ResolvedPattern

__all__ = ["metadata_bytes", "pattern_bytes"]


def metadata_bytes(metadata: MemberMetadata) -> int:
    """A member without its assignments. Its ids are stored several times."""
    ids_bytes = text_bytes(metadata.member_id) + text_bytes(metadata.instance_id or "")
    texts = (metadata.rack_id, metadata.client_id, metadata.client_host, metadata.pattern, metadata.server_assignor)
    names_bytes = sum(NAME_BYTES + text_bytes(name) for name in metadata.names)
    classic_bytes = 0 if metadata.classic is None else protocols_bytes(metadata.classic.protocols)
    return MEMBER_BYTES + 2 * ids_bytes + sum(text_bytes(text or "") for text in texts) + names_bytes + classic_bytes


def pattern_bytes(pattern: ResolvedPattern) -> int:
    return TOPIC_BYTES + text_bytes(pattern.pattern) + sum(NAME_BYTES + text_bytes(t) for t in pattern.topics)
