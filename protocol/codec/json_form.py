"""Messages as JSON values, in the form of Kafka's own JSON converters.

Field names begin with a small letter. Only the fields of the version are there, and tagged ones only without their
default. Bytes and records are base64, uuids URL-safe base64 without padding. Unknown tagged fields are left out.
"""

import base64
from typing import Any, TypeVar

from ...base.uuid_text import uuid_from_text, uuid_text
from .schema import Array, Blob, Fixed, Nested, RecordSet, WireType
from .wire import UUID16, Message, Struct

MessageT = TypeVar("MessageT", bound=Message)
StructT = TypeVar("StructT", bound=Struct)
Json = Any


def to_json(message: Message, version: int) -> dict[str, Json]:
    """Return the JSON value of ``message`` in this version. Records must be in memory."""
    return _struct_to_json(message, version)


def from_json(message_type: type[MessageT], value: dict[str, Json], version: int) -> MessageT:
    """Return the message whose JSON value is ``value``. Raises KeyError or ValueError when there is none."""
    return _struct_from_json(message_type, value, version)


def _struct_to_json(struct: Struct, version: int) -> dict[str, Json]:
    result = {}
    for field in struct.SCHEMA.fields:
        value = getattr(struct, field.name)
        if version in field.versions and (field.tag is None or not field.is_default(value)):
            result[field.kafka_name] = _to_json(field.type, value, version)
    return result


def _to_json(wire_type: WireType, value: Any, version: int) -> Json:
    if value is None:
        return None
    match wire_type:
        case Blob() | RecordSet():
            return base64.b64encode(value).decode()
        case Nested():
            return _struct_to_json(value, version)
        case Array():
            return [_to_json(wire_type.element, element, version) for element in value]
        case _ if wire_type is UUID16:
            return uuid_text(value)
    return value


def _struct_from_json(struct_type: type[StructT], value: dict[str, Json], version: int) -> StructT:
    fields = {field.kafka_name: field for field in struct_type.SCHEMA.fields if version in field.versions}
    arguments = {fields[name].name: _from_json(fields[name].type, item, version) for name, item in value.items()}
    missing = [name for name, field in fields.items() if field.tag is None and name not in value]
    if missing:
        raise ValueError(f"{struct_type.__name__} v{version} needs {', '.join(missing)}")
    return struct_type(**arguments)


def _from_json(wire_type: WireType, value: Json, version: int) -> Any:
    if value is None:
        return None
    match wire_type:
        case Blob() | RecordSet():
            return base64.b64decode(value)
        case Nested():
            return _struct_from_json(wire_type.struct, value, version)
        case Array():
            return [_from_json(wire_type.element, element, version) for element in value]
        case _ if wire_type is UUID16:
            return uuid_from_text(value)
        case Fixed(name="float64"):
            return float(value)
    return value
