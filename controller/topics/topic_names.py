"""Rules for topic names (Kafka's Topic), and which topics are internal."""

import re

from ...base.kafka_names import INTERNAL_TOPICS
from ...protocol.errors import InvalidPartitionsError, InvalidTopicError

__all__ = [
    "CLUSTER_METADATA_TOPIC",
    "check_directory_names",
    "check_topic_name",
    "has_collision_chars",
    "is_internal_topic",
    "is_legal_topic_name",
    "unified_name",
]

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
"""KRaft's metadata topic; clients may not create a topic with this name."""

MAX_LENGTH = 249
"""A directory's name is the topic, a hyphen and the partition: at most 255 bytes with five digits."""
_MAX_DIRECTORY_LENGTH = 255
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raises InvalidTopicError unless ``name`` is a legal topic name."""
    reason = _why_illegal(name)
    if reason is not None:
        raise InvalidTopicError(f"Topic name is invalid: {reason}")


def check_directory_names(name: str, partition_count: int) -> None:
    """Raises InvalidPartitionsError when the name of a partition's directory would be too long.

    Such a partition would make the whole log directory fail, at every start.
    """
    if len(f"{name}-{partition_count - 1}") > _MAX_DIRECTORY_LENGTH:
        raise InvalidPartitionsError(
            f"With {partition_count} partitions the names of directories would be longer than {_MAX_DIRECTORY_LENGTH}."
        )


def is_legal_topic_name(name: str) -> bool:
    return _why_illegal(name) is None


def is_internal_topic(name: str) -> bool:
    return name in INTERNAL_TOPICS


def has_collision_chars(name: str) -> bool:
    return "." in name or "_" in name


def unified_name(name: str) -> str:
    """Topics with the same unified name collide, because metrics replace dots by underscores."""
    return name.replace(".", "_")


def _why_illegal(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
