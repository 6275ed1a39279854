"""Writes topics to files of JSON lines, as ``pybroker consume -o jsonl`` prints them, and appends such files."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ....base.topic_partition import TopicPartition
from ....client.record_json import RecordJsonError, record_from_json, record_to_json
from ....protocol.records.record import Record
from ...apis.broker_parts import BrokerParts
from .appending import append_records, require_topic
from .topic_logs import read_topic

__all__ = ["dump_topics", "load_file"]

_Lines = dict[str, list[tuple[int, Record]]]
"""By topic, records with their partitions, in the order of the file."""


async def dump_topics(parts: BrokerParts, path: Path, topics: Sequence[str], *, committed_only: bool) -> int:
    """Write the topics; without any, all that are not internal. Return the number of records."""
    names = topics or [name for name in sorted(parts.cache.topics) if not name.startswith("__")]
    lines = []
    for name in names:
        for each in await read_topic(parts, name, committed_only=committed_only):
            record = Record(each.offset, each.timestamp_ms, each.key, each.value, each.headers)
            lines.append(record_to_json(TopicPartition(each.topic, each.partition), record) + "\n")
    await parts.run_in_pool(partial(path.write_text, "".join(lines)))
    return len(lines)


async def load_file(parts: BrokerParts, path: Path, topic: str | None, now_ms: int) -> int:
    """Append the records to their topics and partitions, or to ``topic``. Return the number of records.

    A missing topic is created with as many partitions as the file names, at least the default. Raises ValueError with
    file and line, KafkaError and LookupError.
    """
    found = await parts.run_in_pool(partial(_read, path, topic, now_ms))
    for name, records in found.items():
        needed = max(index for index, _ in records) + 1
        await require_topic(parts, name, max(needed, parts.config.int("num.partitions")))
        await append_records(parts, name, records, now_ms)
    return sum(map(len, found.values()))


def _read(path: Path, topic: str | None, now_ms: int) -> _Lines:
    found: _Lines = {}
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
    name, index = topic or fields.get("topic"), fields.get("partition", 0)
    if not isinstance(name, str):
        raise RecordJsonError("there is no topic")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise RecordJsonError("partition must be a number")
    return name, index
