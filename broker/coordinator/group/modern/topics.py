"""Topics as groups see them."""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Protocol
from uuid import UUID

from .....protocol.codec import NULL_UUID

__all__ = ["TopicLookup", "metadata_hash"]

_HALF = 1 << 63


class TopicLookup(Protocol):
    """Looks topics up in the cluster's metadata."""

    @property
    def topics(self) -> Collection[str]:
        """The names of all topics."""
        ...

    def topic_id(self, name: str) -> UUID:
        """The topic's id; NULL_UUID when it has none."""
        ...

    def topic_name(self, topic_id: UUID) -> str | None:
        """The name of the topic with this id; None when there is none."""
        ...

    def partition_count(self, name: str) -> int:
        """The number of partitions; 0 for an unknown topic."""
        ...


def metadata_hash(names: Iterable[str], lookup: TopicLookup) -> int:
    """A number that differs when one of these topics came, grew, went or was made anew (KIP-1101).

    Signed, of 64 bits; 0 when none of them exists. Other coordinators never compare it with one of their own.
    """
    total = 0
    for name in names:
        topic_id, count = lookup.topic_id(name), lookup.partition_count(name)
        if topic_id != NULL_UUID and count:
            text = b"%s %d %s" % (topic_id.bytes, count, name.encode())
            total += int.from_bytes(blake2b(text, digest_size=8).digest())
    return (total + _HALF) % (2 * _HALF) - _HALF
