"""The smallest encoded sizes of values. They bound the count of an array before anything is allocated."""

from .schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, StructSchema, Text, WireType

MAX_ELEMENTS = 10_000_000
"""Default limit on the elements of all arrays and unknown tagged fields of a message together. A few bytes on the wire
become an object and a handler's time, so decoders of clients' requests use a lower limit."""


def minimal_struct_size(struct: StructSchema, version: int, message_is_flexible: bool) -> int:
    """Return the bytes of a struct with all fields empty or null; a flexible one has a count of tagged fields."""
    plain = sum(_minimal_field_size(field, version, message_is_flexible) for field in struct.plain_fields(version))
    return plain + (1 if message_is_flexible else 0)


def minimal_size(wire_type: WireType, version: int, flexible: bool) -> int:
    """Return the bytes of an empty or null value of this type."""
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
