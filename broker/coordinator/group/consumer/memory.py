"""Memory used by consumer groups, by the rules of ``group/memory.py``. The constants are estimates."""

from .....protocol.text_size import text_bytes
from ..memory import protocols_bytes
from ..modern.memory import MEMBER_BYTES, TOPIC_BYTES, names_bytes
from .records import MemberMetadata, ResolvedPattern

__all__ = ["metadata_bytes", "pattern_bytes"]


def metadata_bytes(metadata: MemberMetadata) -> int:
    """A member without its assignments. Its ids are stored several times."""
    ids_bytes = text_bytes(metadata.member_id) + text_bytes(metadata.instance_id or "")
    texts = (metadata.rack_id, metadata.client_id, metadata.client_host, metadata.pattern, metadata.server_assignor)
    classic_bytes = 0 if metadata.classic is None else protocols_bytes(metadata.classic.protocols)
    return (
        MEMBER_BYTES
        + 2 * ids_bytes
        + sum(text_bytes(text or "") for text in texts)
        + names_bytes(metadata.names)
        + classic_bytes
    )


def pattern_bytes(pattern: ResolvedPattern) -> int:
    return TOPIC_BYTES + text_bytes(pattern.pattern) + names_bytes(pattern.topics)
