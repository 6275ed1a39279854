"""Reads the input of ``produce`` in pieces, and turns lines into records.

A piece has the lines that are there; when the input pauses, an empty piece says that what was read should be sent.
"""

import csv
import os
import re
import select
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext

from ...base.command_parser import FAILED, CommandError
from ...client.record_json import RecordJsonError, record_from_json
from ...protocol.records.record import Headers, Record
from ..gentle_interrupt import Waiting

__all__ = ["LineReader", "csv_records", "json_reader", "line_reader", "lines_of", "whole_input"]

LineReader = Callable[[list[bytes]], list[Record]]

_READ_BYTES = 512 << 10
_MAX_LINE_BYTES = 100_000_000
"""A request with it is smaller than brokers accept by default (socket.request.max.bytes)."""
_PAUSE_S = 0.005
_OPEN_ROW = re.compile(rb'(?:(?:"(?:[^"]|"")*+"[^,]*+|[^",][^,]*+)?,)*+"(?:[^"]|"")*+', re.DOTALL)
"""The lines of a row whose last field has a quote at its begin, and none at its end."""


def lines_of(descriptor: int, waiting: Waiting = nullcontext) -> Iterator[list[bytes]]:
    """Yields lines without their line ends, and an empty list at a pause. Raises CommandError for an endless line.

    ``waiting``: a context in which the input is waited for.
    """
    rest: list[bytes] = []
    size = 0
    while True:
        with waiting():
            is_there = select.select([descriptor], [], [], _PAUSE_S)[0]
        if not is_there:
            yield []
        with waiting():
            read = os.read(descriptor, _READ_BYTES)
        if not read:
            break
        rest.append(read)
        size += len(read)
        if b"\n" in read:
            lines = b"".join(rest).split(b"\n")
            rest = [lines.pop()]
            size = len(rest[0])
            yield lines
        elif size > _MAX_LINE_BYTES:
            raise CommandError(f"a line of the input is longer than {_MAX_LINE_BYTES:,} bytes", FAILED)
    if size:
        yield [b"".join(rest)]


def whole_input(descriptor: int, waiting: Waiting) -> bytes:
    """All of the input. Raises CommandError when it is too long for a record."""
    pieces: list[bytes] = []
    size = 0
    while True:
        with waiting():
            read = os.read(descriptor, _READ_BYTES)
        if not read:
            return b"".join(pieces)
        pieces.append(read)
        size += len(read)
        if size > _MAX_LINE_BYTES:
            raise CommandError(f"the input is longer than {_MAX_LINE_BYTES:,} bytes", FAILED)


def line_reader(key: bytes | None, delimiter: bytes | None, headers: Headers, *, is_tombstone: bool) -> LineReader:
    """A line is a value; with a delimiter, key and value; for tombstones, a key."""

    def read(lines: list[bytes]) -> list[Record]:
        now_ms = time.time_ns() // 1_000_000
        if is_tombstone:
            return [Record(0, now_ms, line, None, headers) for line in lines]
        if delimiter is None:
            return [Record(0, now_ms, key, line, headers) for line in lines]
        records = []
        for line in lines:
            before, found, behind = line.partition(delimiter)
            records.append(Record(0, now_ms, *((before, behind) if found else (key, line)), headers))
        return records

    return read


def json_reader(headers: Headers) -> LineReader:
    """A line is what ``consume --format jsonl`` prints. Empty lines are passed over."""
    number = 0

    def read(lines: list[bytes]) -> list[Record]:
        nonlocal number
        now_ms = time.time_ns() // 1_000_000
        records = []
        for line in lines:
            number += 1
            if not line.strip():
                continue
            try:
                record = record_from_json(line, now_ms)
            except RecordJsonError as error:
                raise CommandError(f"line {number}: {error}", FAILED) from None
            record.headers += headers
            records.append(record)
        return records

    return read


def csv_records(pieces: Iterable[list[bytes]], key: bytes | None, headers: Headers) -> Iterator[list[Record]]:
    """A row is a value, or key and value. Raises CommandError for a row that is no such, or has no end."""
    for rows in _whole_rows(pieces):
        now_ms = time.time_ns() // 1_000_000
        records = []
        for number, row in rows:
            fields = _fields(number, row)
            if len(fields) not in (1, 2):
                raise CommandError(f"line {number}: {len(fields)} columns; must be VALUE or KEY,VALUE", FAILED)
            records.append(Record(0, now_ms, fields[0] if len(fields) == 2 else key, fields[-1], headers))
        yield records


def _whole_rows(pieces: Iterable[list[bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Yields rows and the numbers of their first lines. A quoted field may have line breaks."""
    count = size = 0
    begun: list[bytes] = []
    for lines in pieces:
        rows = []
        for line in lines:
            count += 1
            begun.append(line)
            size += len(line) + 1
            if not _OPEN_ROW.fullmatch(b'"x' + line if len(begun) > 1 else line):
                rows.append((count - len(begun) + 1, b"\n".join(begun)))
                begun, size = [], 0
            elif size > _MAX_LINE_BYTES:
                raise CommandError(f"a row of the input is longer than {_MAX_LINE_BYTES:,} bytes", FAILED)
        yield rows
    if begun:
        raise CommandError(f"line {count - len(begun) + 1}: a quoted field that begins here does not end", FAILED)


def _fields(number: int, row: bytes) -> list[bytes]:
    try:
        (fields,) = list(csv.reader([row.rstrip(b"\r").decode("utf-8", "surrogateescape")], strict=True)) or [[]]
    except csv.Error as error:
        raise CommandError(f"line {number}: {error}", FAILED) from None
    return [field.encode("utf-8", "surrogateescape") for field in fields]
