"""Creates topic ids (KIP-516)."""

from random import Random
from uuid import UUID

from .znode_json import uuid_to_text

__all__ = ["NULL_TOPIC_ID", "new_topic_id"]

NULL_TOPIC_ID = UUID(int=0)
"""Means "no id" on the wire."""
_RESERVED = (NULL_TOPIC_ID, UUID(int=1))  # 1 is the id of KRaft's metadata topic


def new_topic_id(random: Random) -> UUID:
    """A random id. As in Kafka, its text never begins with a dash, which command lines would misread."""
    while True:
        candidate = UUID(int=random.getrandbits(128), version=4)
        if candidate not in _RESERVED and not uuid_to_text(candidate).startswith("-"):
            return candidate
