"""The name of a partition, and the names its directory can have."""

from __future__ import annotations

import re
import uuid
from typing import NamedTuple

DELETE_SUFFIX = "-delete"
FUTURE_SUFFIX = "-future"
STRAY_SUFFIX = "-stray"

_SUFFIXED = re.compile(r"^(\S+)-(\S+)\.(\S+)(-delete|-future|-stray)$")
MAX_FILE_NAME_LENGTH = 255


class TopicPartition(NamedTuple):
    """A partition of a topic; `str()` is `topic-0`, the name of its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class DirectoryName(NamedTuple):
    """The parts of a partition directory's name: the partition, the state (`suffix`), and a unique id.

    Only names with a suffix have the unique id.
    """

    topic_partition: TopicPartition
    suffix: str | None
    unique: str | None = None


def parse_directory_name(name: str) -> DirectoryName | None:
    """`topic-0`, `topic-0.<id>-delete`, `-future` or `-stray`; None when `name` is none of these."""
    suffix: str | None = None
    unique: str | None = None
    if name.endswith((DELETE_SUFFIX, FUTURE_SUFFIX, STRAY_SUFFIX)):
        match = _SUFFIXED.match(name)
        if match is not None:
            name = f"{match.group(1)}-{match.group(2)}"
            unique, suffix = match.group(3), match.group(4)
        # A topic may itself be called "x-delete": then "x-delete" is no partition, but "x-delete-0" is one.
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not (partition.isascii() and partition.isdigit()):
        return None
    return DirectoryName(TopicPartition(topic, int(partition)), suffix, unique)


def future_directory_name(topic_partition: TopicPartition, unique: uuid.UUID) -> str:
    """The directory of a partition's future copy in another log directory; not shortened, so check its length."""
    return f"{topic_partition}.{unique.hex}{FUTURE_SUFFIX}"


def deleted_directory_name(topic_partition: TopicPartition, unique: uuid.UUID) -> str:
    """The name of a deleted partition's directory, shortened to fit in 255 characters."""
    tail = f"-{topic_partition.partition}.{unique.hex}{DELETE_SUFFIX}"
    return topic_partition.topic[: MAX_FILE_NAME_LENGTH - len(tail)] + tail
