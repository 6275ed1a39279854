"""`partition.metadata`: the topic id of the partition whose directory it lies in (KIP-516)."""

from __future__ import annotations

import base64
import uuid

from .files import Files

FILE_NAME = "partition.metadata"


class CorruptPartitionMetadataError(Exception):
    """The file does not read as a version and a topic id."""


def topic_id_text(topic_id: uuid.UUID) -> str:
    """Kafka's way to write a uuid: URL-safe base64 without padding, 22 characters."""
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
    try:
        fields = dict(line.split(":", 1) for line in text.splitlines() if line)
        if int(fields["version"]) < 0:
            raise ValueError("unknown version")
        topic_id = parse_topic_id(fields["topic_id"].strip())
    except (KeyError, ValueError) as error:
        raise CorruptPartitionMetadataError(f"{path} cannot be read: {error}") from None
    if topic_id.int == 0:
        raise CorruptPartitionMetadataError(f"{path} has a zero topic id")
    return topic_id


def write_topic_id(files: Files, path: str, topic_id: uuid.UUID) -> None:
    files.write_atomically(path, f"version: 0\ntopic_id: {topic_id_text(topic_id)}".encode())
