"""The fewest bytes that a value can take: what bounds the count of an array before anything is allocated."""

from .schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, StructSchema, Text, WireType

MAX_ELEMENTS = 10_000_000
"""Elements of all arrays (and unknown tagged fields) of a message together, where the caller says nothing else. A few
bytes on the wire are an object here, and a handler's time, so whoever decodes what strangers send says less."""


def minimal_struct_size(struct: StructSchema, version: int, message_is_flexible: bool) -> int:
    """Bytes of the struct with everything empty or null; a flexible one has at least its count of tagged fields."""
    plain = sum(_minimal_field_size(field, version, message_is_flexible) for field in struct.plain_fields(version))
    return plain + (1 if message_is_flexible else 0)


def minimal_size(wire_type: WireType, version: int, flexible: bool) -> int:
    """Bytes of an empty or null value of this type."""
    match wire_type:
        case Fixed():
            return wire_type.size_bytes
        case Text():
            return 1 if flexible else 2
        case Blob() | RecordSet() | Array():
            return 1 if flexible else 4
        case Nested():
            return minimal_struct_size(wire_type.struct.SCHEMA, version, flexible)


def _minimal_field_size(field: FieldSchema, version: int, message_is_flexible: bool) -> int:
    if isinstance(field.type, Nested) and version in field.nullable:
        return 1
    return minimal_size(field.type, version, field.is_flexible(message_is_flexible, version))
