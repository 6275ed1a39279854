"""Creates topic ids (KIP-516)."""

from random import Random
from uuid import UUID

from ...base.uuid_text import uuid_text
from ...protocol.codec import NULL_UUID

__all__ = ["new_topic_id"]

_RESERVED = (NULL_UUID, UUID(int=1))  # 1 is the id of KRaft's metadata topic


def new_topic_id(random: Random) -> UUID:
    """A random id. As in Kafka, its text never begins with a dash, which command lines would misread."""
    while True:
        candidate = UUID(int=random.getrandbits(128), version=4)
        if candidate not in _RESERVED and not uuid_text(candidate).startswith("-"):
            return candidate
