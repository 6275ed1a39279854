"""Reads and replaces Kafka's checkpoint files: a version, a number of lines, and the lines.

0
2
topic 0 41
topic 1 7
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...base.topic_partition import TopicPartition
from ..leader_epochs import EpochEntry
from .files import Files

_VERSION = 0


class CorruptCheckpointError(Exception):
    """A file is not a valid checkpoint."""


def read_lines(files: Files, path: str) -> list[list[str]]:
    """The lines of a checkpoint, split at blanks; [] when there is no file. Raises CorruptCheckpointError."""
    try:
        text = files.read_bytes(path).decode()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(f"{path} is not text") from error
    lines = text.splitlines()
    if not lines:
        return []
    try:
        version, count = int(lines[0]), int(lines[1])
    except (ValueError, IndexError):
        raise CorruptCheckpointError(f"{path} does not begin with a version and a count") from None
    if not text.endswith("\n"):
        raise CorruptCheckpointError(f"{path} ends inside a line")
    if version != _VERSION:
        raise CorruptCheckpointError(f"{path} has version {version}, not {_VERSION}")
    entries = [line.split() for line in lines[2:] if line]
    if len(entries) != count:
        raise CorruptCheckpointError(f"{path} should have {count} entries, but has {len(entries)}")
    return entries


def write_lines(files: Files, path: str, lines: Iterable[str]) -> None:
    """Replace a checkpoint. A crash leaves either the old or the new file."""
    entries = list(lines)
    text = "".join(f"{line}\n" for line in (_VERSION, len(entries), *entries))
    files.write_atomically(path, text.encode())


def read_offsets(files: Files, path: str) -> dict[TopicPartition, int]:
    """A checkpoint of offsets by partition. Raises CorruptCheckpointError."""
    offsets = {}
    for line in read_lines(files, path):
        try:
            topic, partition, offset = line
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            raise CorruptCheckpointError(f"{path} has an invalid line {' '.join(line)!r}") from None
    return offsets


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    write_lines(files, path, (f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items()))


def read_epochs(files: Files, path: str) -> list[EpochEntry]:
    """A `leader-epoch-checkpoint`. Raises CorruptCheckpointError."""
    entries = []
    for line in read_lines(files, path):
        try:
            epoch, start_offset = line
            entries.append(EpochEntry(int(epoch), int(start_offset)))
        except ValueError:
            raise CorruptCheckpointError(f"{path} has an invalid line {' '.join(line)!r}") from None
    return entries


def write_epochs(files: Files, path: str, entries: Iterable[EpochEntry]) -> None:
    write_lines(files, path, (f"{entry.epoch} {entry.start_offset}" for entry in entries))
