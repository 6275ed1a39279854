"""``pybroker log stat``: summarises partitions as a table or as JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ....base.command_parser import BAD_INPUT, CommandError, CommandParser
from ....base.topic_partition import TopicPartition
from ....storage.files.checkpoint_file import CorruptCheckpointError, read_offsets
from ....storage.files.files import Files
from ....storage.segment.partition_files import NoLogError, directory_name_of, live_partitions
from ....storage.store.log_directory import LOG_START_FILE
from ....storage.store.log_statistics import LogStatistics, log_statistics
from .block_output import BlockOutput

__all__ = ["stat_command"]

_OPEN_FILES = 16
_COLUMNS = ("PARTITION", "SIZE", "SEGMENTS", "RECORDS", "LOG START", "LOG END", "OLDEST", "NEWEST", "COMPRESSION")
_LEFT_ALIGNED = ("PARTITION", "OLDEST", "NEWEST", "COMPRESSION")
_SORTS = ("name", "size", "records", "oldest", "newest")

_DESCRIPTION = """\
Summarises log directories. For each partition: size of the .log files, segments, records, log start offset and log end
offset, times of the oldest and newest record, codecs. DIR is a log directory or a partition's directory.
Only the headers of batches are read, so the times come from headers. A broker may be running."""

_EPILOG = """\
examples:
  pybroker log stat data
  pybroker log stat --sort size data1 data2
  pybroker log stat --json data/orders-*

--json prints one object a line, sizes in bytes and times in ms; the last object is the total.
exit codes: 0 everything was read, 1 something could not be read, 2 bad arguments"""


class _Row(NamedTuple):
    name: str
    topic_partition: TopicPartition | None
    log_start: int
    statistics: LogStatistics


def stat_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, OSError, BrokenPipeError."""
    parser = CommandParser("pybroker log stat", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("directories", metavar="DIR", nargs="+", help="a log directory or a partition's directory")
    parser.add_argument(
        "--sort", metavar="BY", choices=_SORTS, default="name", help=f"{', '.join(_SORTS)}; default: name"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line, not a table")
    options = parser.parse_args(arguments)
    files = Files(_OPEN_FILES)
    try:
        rows = [row for directory in options.directories for row in _rows(files, directory)]
    except NoLogError as error:
        raise CommandError(str(error), BAD_INPUT) from None
    rows = _sorted(rows, options.sort)
    total = LogStatistics()
    for row in rows:
        total.add(row.statistics)
    output = BlockOutput.standard()
    for line in _json_lines(rows, total) if options.json else _table(rows, total):
        output.line(line)
    output.flush()
    return 0


def _rows(files: Files, directory: str) -> list[_Row]:
    partitions = live_partitions(files, directory)
    log_directory = directory if partitions != [directory] else os.path.dirname(os.path.abspath(directory))
    starts = _log_starts(files, log_directory)
    rows = []
    for path in partitions:
        name = directory_name_of(path)
        topic_partition = None if name is None or name.suffix is not None else name.topic_partition
        try:
            statistics = log_statistics(files, path)
        except FileNotFoundError:  # a running broker deleted it
            continue
        start = statistics.first_offset
        if topic_partition is not None:
            start = max(start, starts.get(topic_partition, start))
        rows.append(_Row(os.path.basename(os.path.abspath(path)), topic_partition, start, statistics))
    return rows


def _log_starts(files: Files, log_directory: str) -> Mapping[TopicPartition, int]:
    try:
        return read_offsets(files, os.path.join(log_directory, LOG_START_FILE))
    except CorruptCheckpointError:  # `pybroker log verify` reports it
        return {}


def _sorted(rows: list[_Row], by: str) -> list[_Row]:
    """By name ascending, by size and records largest first, by times earliest first."""
    by_name = sorted(rows, key=lambda row: (row.topic_partition or TopicPartition(row.name, -1), row.name))
    match by:
        case "size":
            return sorted(by_name, key=lambda row: -row.statistics.size_bytes)
        case "records":
            return sorted(by_name, key=lambda row: -row.statistics.records)
        case "oldest":
            return sorted(by_name, key=lambda row: _time_key(row.statistics.oldest_ms))
        case "newest":
            return sorted(by_name, key=lambda row: _time_key(row.statistics.newest_ms))
    return by_name


def _time_key(timestamp: int | None) -> tuple[bool, int]:
    return timestamp is None, timestamp or 0


# --- a table --------------------------------------------------------------------------------------------------------


def _table(rows: Sequence[_Row], total: LogStatistics) -> list[str]:
    cells = [_COLUMNS, *(_cells(row.name, str(row.log_start), row.statistics) for row in rows)]
    count = f"{len(rows)} partition{'' if len(rows) == 1 else 's'}"
    sums = _cells(count, "", total)
    cells.append((*sums[:5], "", *sums[6:]))  # the total has no log end
    widths = [max(len(line[column]) for line in cells) for column in range(len(_COLUMNS))]
    return ["  ".join(map(_aligned, _COLUMNS, line, widths)).rstrip() for line in cells]


def _cells(name: str, log_start: str, statistics: LogStatistics) -> tuple[str, ...]:
    return (
        name,
        _size_text(statistics.size_bytes),
        str(statistics.segments),
        str(statistics.records),
        log_start,
        str(statistics.end_offset),
        _time_text(statistics.oldest_ms),
        _time_text(statistics.newest_ms),
        ",".join(codec for codec, _ in statistics.codecs.most_common()),
    )


def _aligned(column: str, text: str, width: int) -> str:
    return text.ljust(width) if column in _LEFT_ALIGNED else text.rjust(width)


def _size_text(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _time_text(timestamp: int | None) -> str:
    if timestamp is None:
        return "-"
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        return str(timestamp)


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json_lines(rows: Sequence[_Row], total: LogStatistics) -> list[str]:
    return [
        *(json.dumps({**_names(row), **_facts(row)}, separators=(",", ":"), ensure_ascii=False) for row in rows),
        json.dumps({"kind": "total", "partitions": len(rows), **_counts(total)}, separators=(",", ":")),
    ]


def _names(row: _Row) -> dict[str, Any]:
    names: dict[str, Any] = {"kind": "partition", "directory": row.name}
    if row.topic_partition is not None:
        names |= {"topic": row.topic_partition.topic, "partition": row.topic_partition.partition}
    return names


def _facts(row: _Row) -> dict[str, Any]:
    return {"logStartOffset": row.log_start, "logEndOffset": row.statistics.end_offset, **_counts(row.statistics)}


def _counts(statistics: LogStatistics) -> dict[str, Any]:
    return {
        "sizeBytes": statistics.size_bytes,
        "segments": statistics.segments,
        "batches": statistics.batches,
        "records": statistics.records,
        "oldestMs": statistics.oldest_ms,
        "newestMs": statistics.newest_ms,
        "codecs": dict(statistics.codecs.most_common()),
        "magics": {str(magic): count for magic, count in sorted(statistics.magics.items())},
        "trailingBytes": statistics.trailing_bytes,
    }
