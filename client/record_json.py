"""Records as lines of JSON that lose nothing: ``pybroker consume`` writes them, ``pybroker produce`` reads them.

A key, value or header that is not UTF-8 stands in base64 under another name: ``key_base64``, ``value_base64``; in a
header ``name_base64``. ``null`` is a record without a key, or a tombstone.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from ..base.topic_partition import TopicPartition
from ..protocol.records.record import Record

__all__ = ["RecordJsonError", "record_from_json", "record_to_json"]

_MAX_TIME_MS = 1 << 62


class RecordJsonError(ValueError):
    """A line is not the JSON of a record; the message says why."""


def record_to_json(at: TopicPartition, record: Record) -> str:
    """One object in ASCII, without a line break."""
    time_ms = record.timestamp_ms if record.timestamp_ms >= 0 else "null"
    headers = ",".join([f"{{{_name(name)},{_field('value', value)}}}" for name, value in record.headers])
    return (
        f'{{"topic":{quoted(at.topic)},"partition":{at.partition},"offset":{record.offset},"timestamp_ms":{time_ms},'
        f'{_field("key", record.key)},{_field("value", record.value)},"headers":[{headers}]}}'
    )


def record_from_json(line: str | bytes, now_ms: int) -> Record:
    """The record of a line; ``now_ms`` is its time if the line has none. Topic, partition and offset are passed over.

    Raises RecordJsonError.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordJsonError(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise RecordJsonError("must be an object with key, value and headers")
    time_ms = fields.get("timestamp_ms")
    if time_ms is None:
        time_ms = now_ms
    if not isinstance(time_ms, int) or isinstance(time_ms, bool) or not 0 <= time_ms < _MAX_TIME_MS:
        raise RecordJsonError("timestamp_ms must be milliseconds since 1970")
    if "value" not in fields and "value_base64" not in fields:
        raise RecordJsonError("there is no value; null is a tombstone")
    headers = fields.get("headers") or []
    if not isinstance(headers, list):
        raise RecordJsonError("headers must be a list")
    return Record(0, time_ms, _bytes(fields, "key"), _bytes(fields, "value"), tuple(map(_header, headers)))


def _field(name: str, data: bytes | None) -> str:
    if data is None:
        return f'"{name}":null'
    try:
        return f'"{name}":{quoted(data.decode())}'
    except UnicodeDecodeError:
        return f'"{name}_base64":"{b64encode(data).decode()}"'


def _name(name: str) -> str:
    """A name with surrogates in place of bytes that are not UTF-8."""
    return _field("name", name.encode("utf-8", "surrogateescape"))


def _header(given: Any) -> tuple[str, bytes | None]:
    if not isinstance(given, dict):
        raise RecordJsonError("a header must be an object with a name and a value")
    name = _bytes(given, "name")
    if name is None:
        raise RecordJsonError("a header has no name")
    return name.decode("utf-8", "surrogateescape"), _bytes(given, "value")


def _bytes(fields: dict[str, Any], name: str) -> bytes | None:
    given = fields.get(f"{name}_base64")
    try:
        if isinstance(given, str):
            return b64decode(given, validate=True)
        given = fields.get(name) if given is None else given
        if given is None:
            return None
        if isinstance(given, str):
            return given.encode()
    except Base64Error:
        raise RecordJsonError(f"{name}_base64 is not base64") from None
    except UnicodeEncodeError:
        raise RecordJsonError(f"{name} is not valid Unicode") from None
    raise RecordJsonError(f"{name} must be a text or null; bytes that are no text stand in {name}_base64")
