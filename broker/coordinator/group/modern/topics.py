"""Topics as groups see them."""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Protocol
from uuid import UUID

from .....protocol.codec import NULL_UUID

__all__ = ["TopicLookup", "metadata_hash", "signed_64"]

_HALF = 1 << 63
_MOST_KNOWN = 32_768
"""Topics whose part of hashes is kept. Each takes about 300 bytes."""
_known: dict[str, tuple[UUID, int, int]] = {}
"""By the topic's name, its id, its number of partitions, and its part of hashes."""


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

    Signed, of 64 bits: the sum of a part for each topic; 0 when none of them exists. Other coordinators never compare
    it with one of their own.
    """
    total = 0
    for name in names:
        topic_id, count = lookup.topic_id(name), lookup.partition_count(name)
        known = _known.get(name)
        if known is not None and known[0] is topic_id and known[1] == count:  # a comparison of ids takes longer
            total += known[2]
        elif topic_id != NULL_UUID and count:
            total += _part(name, topic_id, count)
    return signed_64(total)


def signed_64(number: int) -> int:
    """The signed number of 64 bits with the lowest 64 bits of ``number``."""
    return (number + _HALF) % (2 * _HALF) - _HALF


def _part(name: str, topic_id: UUID, count: int) -> int:
    text = b"%s %d %s" % (topic_id.bytes, count, name.encode())
    part = int.from_bytes(blake2b(text, digest_size=8).digest())
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[name] = topic_id, count, part
    return part
