"""The keys of records in ``__consumer_offsets``. The version of a key is the type of its record.

Version 1 (or the older 0) names a committed offset, version 2 a classic group. A null value deletes the named item.
"""

from typing import NamedTuple

from ....base.buffer import Buffer
from ....base.topic_partition import TopicPartition
from ....protocol.codec import decode
from ....protocol.messages.consumer_offsets import GroupMetadataKey, OffsetCommitKey
from ..versioned import with_version

__all__ = [
    "GROUP_KEY_VERSION",
    "OFFSET_KEY_VERSIONS",
    "OffsetKey",
    "decode_group_key",
    "decode_offset_key",
    "encode_group_key",
    "encode_offset_key",
]

OFFSET_KEY_VERSIONS = (0, 1)
GROUP_KEY_VERSION = 2


class OffsetKey(NamedTuple):
    """The key of one group's offset for one partition."""

    group_id: str
    partition: TopicPartition


def encode_offset_key(group_id: str, partition: TopicPartition) -> bytes:
    """The key of a committed offset."""
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return with_version(key, OFFSET_KEY_VERSIONS[-1])


def decode_offset_key(body: Buffer, version: int) -> OffsetKey:
    """The key of a committed offset, from the bytes behind its version. Raises DecodeError for a broken key."""
    key = decode(OffsetCommitKey, body, version)
    return OffsetKey(key.group, TopicPartition(key.topic, key.partition))


def encode_group_key(group_id: str) -> bytes:
    """The key of a classic group."""
    return with_version(GroupMetadataKey(group=group_id), GROUP_KEY_VERSION)


def decode_group_key(body: Buffer) -> str:
    """The id of a classic group, from the bytes behind the key's version. Raises DecodeError for a broken key."""
    return decode(GroupMetadataKey, body, GROUP_KEY_VERSION).group
