"""Reads and writes `partition.metadata`, the file in a partition's directory with its topic id (KIP-516)."""

from __future__ import annotations

import base64
import logging
import uuid

from .files import Files

logger = logging.getLogger(__name__)

FILE_NAME = "partition.metadata"


class CorruptPartitionMetadataError(Exception):
    """The file does not consist of a version and a topic id."""


def topic_id_text(topic_id: uuid.UUID) -> str:
    """A UUID as Kafka writes it: URL-safe base64 without padding, 22 characters."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def parse_topic_id(text: str) -> uuid.UUID:
    """The inverse of `topic_id_text`. Raises ValueError."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return uuid.UUID(bytes=data)


def read_topic_id(files: Files, path: str) -> uuid.UUID | None:
    """The topic id, or None when there is no file. Raises CorruptPartitionMetadataError."""
    try:
        text = files.read_bytes(path).decode(errors="replace")
    except FileNotFoundError:
        return None
    fields = dict(line.partition(":")[::2] for line in text.splitlines())
    try:
        if int(fields["version"]) < 0:
            raise ValueError("unknown version")
        topic_id = parse_topic_id(fields["topic_id"].strip())
    except KeyError as error:
        raise CorruptPartitionMetadataError(_corrupt(path, f"it has no line {error.args[0]}")) from None
    except ValueError as error:
        raise CorruptPartitionMetadataError(_corrupt(path, str(error))) from None
    if topic_id.int == 0:
        raise CorruptPartitionMetadataError(_corrupt(path, "its topic id is zero"))
    return topic_id


def _corrupt(path: str, why: str) -> str:
    return f"{path} is corrupt ({why}); it is rewritten when the topic is opened"


def recall_topic_id(files: Files, path: str) -> uuid.UUID | None:
    """`read_topic_id`, but None with a warning for a damaged file. (Kafka takes the directory offline.)"""
    try:
        return read_topic_id(files, path)
    except CorruptPartitionMetadataError as error:
        logger.warning("%s", error)
        return None


def write_topic_id(files: Files, path: str, topic_id: uuid.UUID) -> None:
    files.write_atomically(path, f"version: 0\ntopic_id: {topic_id_text(topic_id)}".encode())
