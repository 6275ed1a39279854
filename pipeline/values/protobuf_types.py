"""Spark types of Protobuf messages, and how their fields become values of these types."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from decimal import Decimal
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor as F
from pyspark.sql import types as T  # noqa: N812 (as everybody calls it)

from .schema_text import SchemaError
from .wire_format import DecodeError

__all__ = ["MessageReader", "message_reader"]

_TYPES: dict[int, T.DataType] = {
    F.TYPE_DOUBLE: T.DoubleType(),
    F.TYPE_FLOAT: T.FloatType(),
    F.TYPE_INT32: T.IntegerType(),
    F.TYPE_SINT32: T.IntegerType(),
    F.TYPE_SFIXED32: T.IntegerType(),
    F.TYPE_UINT32: T.LongType(),
    F.TYPE_FIXED32: T.LongType(),
    F.TYPE_INT64: T.LongType(),
    F.TYPE_SINT64: T.LongType(),
    F.TYPE_SFIXED64: T.LongType(),
    F.TYPE_UINT64: T.DecimalType(20, 0),
    F.TYPE_FIXED64: T.DecimalType(20, 0),
    F.TYPE_BOOL: T.BooleanType(),
    F.TYPE_STRING: T.StringType(),
    F.TYPE_BYTES: T.BinaryType(),
    F.TYPE_ENUM: T.StringType(),
}
_UNSIGNED_64 = (F.TYPE_UINT64, F.TYPE_FIXED64)
_TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_Read = Callable[[Any], Any]


class MessageReader(NamedTuple):
    """The Spark type of a message, and the function that returns its fields by name."""

    type: T.StructType
    read: _Read


class _Value(NamedTuple):
    """The Spark type of one value, and the function that converts it."""

    type: T.DataType
    read: _Read


def message_reader(message: Any, at: str = "", inside: tuple[str, ...] = ()) -> MessageReader:
    """Returns how a message is read. `at`: the field that has it, with a dot behind. `inside`: the messages around it.

    A field that can be absent is null then: one of a oneof, an optional one, or a message. Raises SchemaError.
    """
    name = message.full_name
    if name in inside:
        raise SchemaError(
            f"{at.rstrip('.')} has the message {name}, which contains itself: Spark has no recursive types"
        )
    if not message.fields:
        raise SchemaError(f"{at.rstrip('.') or 'the value'} has the message {name}, which has no fields")
    fields, reads = [], []
    for field in message.fields:
        value, read = _field(field, f"{at}{field.name}", (*inside, name))
        fields.append(T.StructField(field.name, value, field.has_presence))
        reads.append((field.name, read))
    return MessageReader(T.StructType(fields), lambda found: {name: read(found) for name, read in reads})


def _field(field: Any, at: str, inside: tuple[str, ...]) -> _Value:
    name = field.name
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name
        key, content = _single(entry["key"], at, inside), _single(entry["value"], at, inside)
        of = T.MapType(key.type, content.type, False)
        return _Value(
            of, lambda found: {key.read(each): content.read(value) for each, value in getattr(found, name).items()}
        )
    value = _single(field, at, inside)
    if field.is_repeated:
        return _Value(T.ArrayType(value.type, False), lambda found: [value.read(each) for each in getattr(found, name)])
    if field.has_presence:
        return _Value(value.type, lambda found: value.read(getattr(found, name)) if found.HasField(name) else None)
    return _Value(value.type, lambda found: value.read(getattr(found, name)))


def _single(field: Any, at: str, inside: tuple[str, ...]) -> _Value:
    """One value of a field, however many the field has."""
    if field.message_type is not None:
        return _message(field.message_type, at, inside)
    of = _TYPES[field.type]
    if field.enum_type is not None:
        names = {number: each.name for number, each in field.enum_type.values_by_number.items()}
        return _Value(of, lambda number: names.get(number) or str(number))
    if field.type in _UNSIGNED_64:
        return _Value(of, Decimal)
    return _Value(of, _same)


def _message(message: Any, at: str, inside: tuple[str, ...]) -> _Value:
    if message.full_name == _TIMESTAMP:
        return _Value(T.TimestampType(), _time)
    if message.full_name in _WRAPPERS:
        wrapped = _single(message.fields_by_name["value"], at, inside)
        return _Value(wrapped.type, lambda found: wrapped.read(found.value))
    reader = message_reader(message, f"{at}.", inside)
    return _Value(reader.type, reader.read)


def _same(value: Any) -> Any:
    return value


def _time(found: Any) -> Any:
    """Spark's timestamps have microseconds; nanoseconds are cut off."""
    try:
        return found.ToDatetime(UTC)
    except (ValueError, OverflowError):
        raise DecodeError("a timestamp is not between the years 1 and 9999") from None
