"""Reads and writes `partition.metadata`, the file in a partition's directory with its topic id (KIP-516)."""

from __future__ import annotations

import logging
import uuid

from ...base.uuid_text import uuid_from_text, uuid_text
from .files import Files

logger = logging.getLogger(__name__)

FILE_NAME = "partition.metadata"


class CorruptPartitionMetadataError(Exception):
    """The file does not consist of a version and a topic id."""


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
        topic_id = uuid_from_text(fields["topic_id"].strip())
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
    files.write_atomically(path, f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode())
