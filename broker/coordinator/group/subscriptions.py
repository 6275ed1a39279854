"""Reads the topics in consumers' protocol metadata.

Why: offsets of topics that members read must neither expire nor be deleted.
"""

import struct
from collections.abc import Iterable, Iterator

__all__ = ["CONSUMER_PROTOCOL_TYPE", "subscribed_topics"]

CONSUMER_PROTOCOL_TYPE = "consumer"


_MOST_TOPICS = 100_000
"""A topic takes thirty times the memory of its name."""
_MOST_MENTIONS = 200_000
"""Mentions of topics by all members. Each takes the event loop 0.4 microseconds; equal metadata is read once."""


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Topics named by ConsumerProtocolSubscription blobs. None when a blob is something else, or when the blobs name
    more topics or have more mentions than the limits above.

    Only the prefix that all versions share is read (version, topics).
    """
    topics: set[str] = set()
    mentions = 0
    try:
        for blob in frozenset(subscriptions):
            for topic in _topics(blob):
                topics.add(topic)
                mentions += 1
                if len(topics) > _MOST_TOPICS or mentions > _MOST_MENTIONS:
                    return None
    except (struct.error, UnicodeDecodeError, ValueError):
        return None
    return frozenset(topics)


def _topics(blob: bytes) -> Iterator[str]:
    version, count = struct.unpack_from(">hi", blob)
    if version < 0 or count < 0:
        raise ValueError(f"not a consumer subscription: version {version}, {count} topics")
    position = 6
    for _ in range(count):
        (length,) = struct.unpack_from(">h", blob, position)
        position += 2
        if length < 0 or position + length > len(blob):
            raise ValueError("a topic name ends past the subscription")
        yield bytes(blob[position : position + length]).decode()
        position += length
