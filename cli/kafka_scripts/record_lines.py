"""Records as lines of ``kafka-console-consumer`` (Kafka: DefaultMessageFormatter)."""

import struct
from collections.abc import Callable, Iterator, Mapping

from ...protocol.records.batch import RecordBatch, TimestampType
from ...protocol.records.record import Record

__all__ = ["PropertyError", "RecordLines"]

_COLUMNS = {
    "print.timestamp": "false",
    "print.partition": "false",
    "print.offset": "false",
    "print.headers": "false",
    "print.key": "false",
    "print.value": "true",
}
_TEXTS = {"key.separator": "\t", "line.separator": "\n", "headers.separator": ",", "null.literal": "null"}
_DESERIALIZERS = ("key.deserializer", "value.deserializer", "headers.deserializer")
_PACKAGE = "org.apache.kafka.common.serialization."
_NUMBERS = {"ShortDeserializer": ">h", "IntegerDeserializer": ">i", "LongDeserializer": ">q"}

_Shown = Callable[[bytes], bytes]


class PropertyError(Exception):
    """Why a property or a record is refused."""


class RecordLines:
    """Passes over unknown properties, as Kafka does. Raises PropertyError for those that need a JVM."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        given = {**_COLUMNS, **_TEXTS, **properties}
        self._columns = [name for name in _COLUMNS if given[name].strip().lower() == "true"]
        self._between, self._end, self._between_headers, self._null = (_bytes(given[name]) for name in _TEXTS)
        self._key, self._value, self._header = (_shown(given.get(name)) for name in _DESERIALIZERS)

    def line(self, partition: int, batch: RecordBatch, record: Record) -> bytes:
        """The line of a record, with its end; empty without columns. Raises PropertyError."""
        columns = list(self._cells(partition, batch, record))
        return self._between.join(columns) + self._end if columns else b""

    def _cells(self, partition: int, batch: RecordBatch, record: Record) -> Iterator[bytes]:
        for name in self._columns:
            if name == "print.timestamp":
                yield _timestamp(batch, record)
            elif name == "print.partition":
                yield b"Partition:%d" % partition
            elif name == "print.offset":
                yield b"Offset:%d" % record.offset
            elif name == "print.headers":
                yield self._headers(record)
            elif name == "print.key":
                yield self._cell(record.key, self._key)
            else:
                yield self._cell(record.value, self._value)

    def _headers(self, record: Record) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._between_headers.join(
            _bytes(name) + b":" + self._cell(value, self._header) for name, value in record.headers
        )

    def _cell(self, data: bytes | None, shown: _Shown) -> bytes:
        return self._null if data is None else shown(data)


def _timestamp(batch: RecordBatch, record: Record) -> bytes:
    if record.timestamp_ms < 0:
        return b"NO_TIMESTAMP"
    kind = b"LogAppendTime" if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else b"CreateTime"
    return b"%s:%d" % (kind, record.timestamp_ms)


def _shown(deserializer: str | None) -> _Shown:
    name = "StringDeserializer" if deserializer is None else deserializer.removeprefix(_PACKAGE)
    if name == "StringDeserializer":
        return bytes
    if name not in _NUMBERS:
        raise PropertyError(f"the deserializer {deserializer} is not available without a JVM")
    form = _NUMBERS[name]

    def shown(data: bytes) -> bytes:
        if len(data) != struct.calcsize(form):
            raise PropertyError(f"Size of data received by {name} is not {struct.calcsize(form)}")
        (number,) = struct.unpack(form, data)
        return b"%d" % number

    return shown


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
