"""Reads the keys of records in ``__consumer_offsets``."""

from typing import NamedTuple

from pybroker.broker.coordinator.group.record_keys import (
    GROUP_KEY_VERSION,
    OFFSET_KEY_VERSIONS,
    OffsetKey,
    decode_group_key,
    decode_offset_key,
)
from pybroker.broker.coordinator.versioned import split_version

__all__ = ["GroupKey", "UnknownKey", "decode_key"]


class GroupKey(NamedTuple):
    """The key of a classic group."""

    group_id: str


class UnknownKey(NamedTuple):
    """A key of another version."""

    version: int


def decode_key(key: bytes | memoryview) -> OffsetKey | GroupKey | UnknownKey:
    """Returns the item that the record names. Raises DecodeError for a broken key."""
    version, body = split_version(key)
    if version in OFFSET_KEY_VERSIONS:
        return decode_offset_key(body, version)
    return GroupKey(decode_group_key(body)) if version == GROUP_KEY_VERSION else UnknownKey(version)
