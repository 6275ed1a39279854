"""Hypothesis strategies for messages of any declared type, and strategies for hostile bytes."""

from typing import Any, TypeVar

from hypothesis import strategies as st
from pybroker.protocol.codec import Message, Struct
from pybroker.protocol.codec.schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, Text, WireType
from pybroker.protocol.codec.wire import UUID16

StructT = TypeVar("StructT", bound=Struct)

_INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_TEXT = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["x" * 126, "é" * 64, "x" * 200])
_BLOB = st.binary(max_size=6) | st.sampled_from([b"x" * 126, b"y" * 127, b"z" * 300])


def messages(message_type: type[Message], version: int) -> st.SearchStrategy[Message]:
    """Messages that this version can carry: fields it lacks keep their default."""
    return structs(message_type, version, version in message_type.MESSAGE.flexible)


def structs(struct_type: type[StructT], version: int, flexible: bool) -> st.SearchStrategy[StructT]:
    arguments: dict[str, Any] = {
        field.name: _field(field, version, flexible) for field in struct_type.SCHEMA.fields if version in field.versions
    }
    if flexible:
        declared = {field.tag for field in struct_type.SCHEMA.fields}
        tags = st.integers(0, 0x7FFFFFFF).filter(lambda tag: tag not in declared)
        arguments["unknown_tags"] = st.none() | st.dictionaries(tags, _BLOB, min_size=1, max_size=2)
    return st.builds(struct_type, **arguments)


def _field(field: FieldSchema, version: int, flexible: bool) -> st.SearchStrategy[Any]:
    values = _values(field.type, version, flexible)
    return st.none() | values if version in field.nullable else values


def _values(wire_type: WireType, version: int, flexible: bool) -> st.SearchStrategy[Any]:
    match wire_type:
        case Fixed():
            return _fixed(wire_type)
        case Text():
            return _TEXT
        case Blob() | RecordSet():
            return _BLOB
        case Nested():
            return structs(wire_type.struct, version, flexible)
        case Array():
            return st.lists(_values(wire_type.element, version, flexible), max_size=3)


def _fixed(fixed: Fixed[Any]) -> st.SearchStrategy[Any]:
    if fixed is UUID16:
        return st.uuids()
    if fixed.name == "bool":
        return st.booleans()
    if fixed.name == "float64":
        return st.floats(allow_nan=False)
    if fixed.name == "uint16":
        return st.integers(0, 0xFFFF)
    half = 1 << (_INTEGER_BITS[fixed.name] - 1)
    return st.integers(-half, half - 1)
