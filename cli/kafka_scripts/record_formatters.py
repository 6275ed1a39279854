"""Formatters of ``kafka-console-consumer`` by the names of Kafka's classes."""

import json
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...protocol.codec import DecodeError, Message, decode_prefix
from ...protocol.codec.json_form import to_json
from ...protocol.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ...protocol.messages.transaction_state import TransactionLogKey, TransactionLogValue
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record
from .record_lines import RecordLines
from .script_parser import UsageError

__all__ = ["DEFAULT_FORMATTER", "RecordFormatter", "formatter_of"]

_PACKAGE = "org.apache.kafka.tools.consumer."
DEFAULT_FORMATTER = f"{_PACKAGE}DefaultMessageFormatter"
_OLD_NAMES = {
    **{f"kafka.tools.{name}": name for name in ("DefaultMessageFormatter", "NoOpMessageFormatter")},
    "kafka.tools.LoggingMessageFormatter": "LoggingMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": "OffsetsMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": "GroupMetadataMessageFormatter",
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": "TransactionLogMessageFormatter",
}
_VERSION = struct.Struct(">h")
_Kinds = Mapping[int, tuple[type[Message], type[Message]]]
"""The messages of keys and values, by the version of the key."""


class RecordFormatter(Protocol):
    """Turns records into bytes to print."""

    def line(self, partition: int, batch: RecordBatch, record: Record) -> bytes: ...


def formatter_of(name: str, properties: Mapping[str, str]) -> RecordFormatter:
    """The formatter of a class; an old name gives a warning. Raises UsageError, PropertyError."""
    if name in _OLD_NAMES:
        sys.stderr.write(
            f"WARNING: {name} is deprecated and will be removed in the next major release. Please use "
            f"{_PACKAGE}{_OLD_NAMES[name]} instead\n"
        )
    make = _FORMATTERS.get(_OLD_NAMES.get(name, name.removeprefix(_PACKAGE)))
    if make is None:
        raise UsageError(f"--formatter {name} is not available without a JVM")
    return make(properties)


class _Silent:
    """Prints nothing."""

    def line(self, partition: int, batch: RecordBatch, record: Record) -> bytes:
        return b""


class _JsonLines:
    """Records of an internal topic as JSON objects, which Kafka 3.9 prints without ends of lines."""

    def __init__(self, kinds: _Kinds) -> None:
        self._kinds = kinds

    def line(self, partition: int, batch: RecordBatch, record: Record) -> bytes:
        version = _version_of(record.key)
        if record.key is not None and version not in self._kinds:
            return b""  # another kind of record
        key_type, value_type = self._kinds[min(self._kinds) if version is None else version]
        document = {"key": _document(key_type, record.key), "value": _document(value_type, record.value)}
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogateescape")


def _version_of(data: bytes | None) -> int | None:
    if data is None or len(data) < _VERSION.size:
        return None
    version: int = _VERSION.unpack_from(data)[0]
    return version


def _document(form: type[Message], data: bytes | None) -> Any:
    """The version and the fields; unknown ones of a version that this code does not know."""
    version = _version_of(data)
    if data is None or version is None:
        return None
    if version not in form.MESSAGE.versions:
        return {"version": version, "data": "unknown"}
    try:
        return {"version": version, "data": to_json(decode_prefix(form, data, version, _VERSION.size)[0], version)}
    except DecodeError:
        return {"version": version, "data": "unknown"}


_FORMATTERS: Mapping[str, Callable[[Mapping[str, str]], RecordFormatter]] = {
    "DefaultMessageFormatter": RecordLines,
    "LoggingMessageFormatter": RecordLines,
    "NoOpMessageFormatter": lambda _: _Silent(),
    "OffsetsMessageFormatter": lambda _: _JsonLines(
        {0: (OffsetCommitKey, OffsetCommitValue), 1: (OffsetCommitKey, OffsetCommitValue)}
    ),
    "GroupMetadataMessageFormatter": lambda _: _JsonLines({2: (GroupMetadataKey, GroupMetadataValue)}),
    "TransactionLogMessageFormatter": lambda _: _JsonLines({0: (TransactionLogKey, TransactionLogValue)}),
}
