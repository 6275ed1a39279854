"""Writes topics to files of JSON lines, as ``pybroker consume -o jsonl`` prints them, and appends such files."""

import json
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from ....base.topic_partition import TopicPartition
from ....client.record_json import RecordJsonError, record_from_json, record_to_json
from ....protocol.records.record import Record
from ...apis.broker_parts import BrokerParts
from .appending import append_records, require_topic
from .stored_record import StoredRecord
from .topic_logs import read_topic

__all__ = ["LinesByTopic", "dump_topics", "line_of", "load_file", "read_file"]

_NAMES = ["topic", "partition", "offset", "timestamp_ms", "key", "key_base64", "value", "value_base64", "headers"]
_LONGEST_NAME = 60
_NAMES_OF_HEADER = ["name", "name_base64", "value", "value_base64"]

LinesByTopic = dict[str, list[tuple[int, Record]]]
"""By topic, records with their partitions, in the order of the file."""


async def dump_topics(parts: BrokerParts, path: Path, topics: Sequence[str], *, committed_only: bool) -> int:
    """Write the topics; without any, all that are not internal. Return the number of records."""
    names = topics or [name for name in sorted(parts.cache.topics) if not name.startswith("__")]
    lines: list[str] = []
    for name in names:
        lines += map(line_of, await read_topic(parts, name, committed_only=committed_only))
    await parts.run_in_pool(partial(path.write_text, "".join(lines)))
    return len(lines)


def line_of(stored: StoredRecord) -> str:
    """Return the line of a file."""
    record = Record(stored.offset, stored.timestamp_ms, stored.key, stored.value, stored.headers)
    return record_to_json(TopicPartition(stored.topic, stored.partition), record) + "\n"


async def load_file(parts: BrokerParts, path: Path, topic: str | None, now_ms: int) -> int:
    """Append the records to their topics and partitions, or to ``topic``. Return the number of records.

    A missing topic is created as `require_topic` does, with as many partitions as the file names, at least the default.
    Raises ValueError with file and line, KafkaError and LookupError.
    """
    found = await parts.run_in_pool(partial(read_file, path, topic, now_ms))
    for name, records in found.items():
        needed = max(index for index, _ in records) + 1
        await require_topic(parts, name, max(needed, parts.config.int("num.partitions")))
        await append_records(parts, name, records, now_ms)
    return sum(map(len, found.values()))


def read_file(path: Path, topic: str | None, now_ms: int) -> LinesByTopic:
    """Return the records of a file, all of ``topic`` when it is given. Blocks. Raises ValueError."""
    found: LinesByTopic = {}
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                record = record_from_json(text, now_ms)
                name, index = _place(text, topic)
            except RecordJsonError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
            found.setdefault(name, []).append((index, record))
    return found


def _place(text: bytes, topic: str | None) -> tuple[str, int]:
    fields = json.loads(text)
    _check_names(fields, _NAMES, "")
    for header in fields.get("headers") or ():
        _check_names(header, _NAMES_OF_HEADER, " of a header")
    name, index = topic or fields.get("topic"), fields.get("partition", 0)
    if not isinstance(name, str):
        raise RecordJsonError("there is no topic")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise RecordJsonError("partition must be a number")
    return name, index


def _check_names(fields: Collection[str], known: Sequence[str], where: str) -> None:
    """Raises RecordJsonError for a key of another name, whose value would be lost."""
    for name in fields:
        if name not in known:
            near = get_close_matches(name[:_LONGEST_NAME], known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise RecordJsonError(f"there is no key {name[:_LONGEST_NAME]!r}{where}; {hint}")
