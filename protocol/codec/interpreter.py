"""A slow and simple codec that walks a declaration field by field, byte by byte. Used by tests and tools only.

Why: tests compare the compiled codec with it. For any bytes both must give the same message or DecodeError, and for any
message the same bytes or EncodeError.
"""

import struct
from typing import Any, TypeVar
from uuid import UUID

from .encoder import records_size
from .errors import DecodeError, EncodeError, FieldNotInVersionError
from .schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, Text, WireType
from .sizes import MAX_ELEMENTS, minimal_size
from .varint import MAX_UVARINT
from .wire import UUID16, Message, Struct

MessageT = TypeVar("MessageT", bound=Message)
StructT = TypeVar("StructT", bound=Struct)

MAX_STRING_BYTES = 0x7FFF


def decode(
    message_type: type[MessageT],
    buffer: bytes | bytearray | memoryview,
    version: int,
    offset: int = 0,
    max_elements: int = MAX_ELEMENTS,
) -> MessageT:
    """Do what `codec.decode` does."""
    if version not in message_type.MESSAGE.versions:
        raise DecodeError(f"{message_type.__name__} has no version {version}")
    budget = _Budget(max_elements)
    reader = _Reader(memoryview(buffer)[offset:], version, version in message_type.MESSAGE.flexible, budget)
    message = reader.struct(message_type)
    if reader.left:
        raise DecodeError(f"{reader.left} bytes are left over")
    return message


def encode(message: Message, version: int) -> bytes:
    """Do what `codec.encode` does."""
    declared = type(message).MESSAGE
    if version not in declared.versions:
        raise EncodeError(f"{declared.name} has no version {version}")
    writer = _Writer(version, version in declared.flexible)
    writer.struct(message)
    return bytes(writer.out)


class _Budget:
    """The number of elements that a message may still have, nested ones included."""

    def __init__(self, max_elements: int) -> None:
        self._left = max_elements

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise DecodeError("the message has more elements than are taken")


class _Reader:
    def __init__(self, view: memoryview, version: int, flexible: bool, budget: _Budget) -> None:
        self._budget = budget
        self._view = view
        self._position = 0
        self._version = version
        self._flexible = flexible

    @property
    def left(self) -> int:
        return len(self._view) - self._position

    def take(self, length: int) -> memoryview:
        if length > self.left:
            raise DecodeError(f"{length} bytes are needed and {self.left} are left")
        piece = self._view[self._position : self._position + length]
        self._position += length
        return piece

    def number(self, code: str, size: int) -> Any:
        return struct.unpack(">" + code, self.take(size))[0]

    def uvarint(self) -> int:
        value = 0
        for index in range(5):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                if value > MAX_UVARINT:
                    raise DecodeError("varint is too large")
                return value
        raise DecodeError("varint has more than five bytes")

    def length(self, code: str, size: int, flexible: bool) -> int | None:
        """A length or count; None for null."""
        length = self.uvarint() - 1 if flexible else self.number(code, size)
        return None if length < 0 else length

    def struct(self, struct_type: type[StructT]) -> StructT:
        schema = struct_type.SCHEMA
        result = struct_type()
        for field in schema.plain_fields(self._version):
            flexible = field.is_flexible(self._flexible, self._version)
            setattr(result, field.name, self.field(field, flexible, in_tag=False))
        if self._flexible:
            self.tags(result)
        return result

    def tags(self, result: Struct) -> None:
        known = {field.tag: field for field in result.SCHEMA.fields if field.tag is not None}
        unknown = {}
        tag_count = self.uvarint()
        self._budget.spend(tag_count)
        for _ in range(tag_count):
            tag, size = self.uvarint(), self.uvarint()
            field = known.get(tag)
            if field is None:
                unknown[tag] = bytes(self.take(size))
                continue
            if self._version not in field.versions:
                raise DecodeError(f"tag {tag} does not exist in version {self._version}")
            inner = _Reader(self.take(size), self._version, self._flexible, self._budget)
            setattr(result, field.name, inner.field(field, flexible=True, in_tag=True))
            if inner.left:
                raise DecodeError(f"tag {tag} is longer than its field")
        result.unknown_tags = unknown or None

    def field(self, field: FieldSchema, flexible: bool, *, in_tag: bool) -> Any:
        nullable = self._version in field.nullable
        if isinstance(field.type, Nested) and nullable:
            present = self.uvarint() > 0 if in_tag else self.number("b", 1) >= 0
            return self.struct(field.type.struct) if present else None
        value = self.value(field.type, flexible)
        if value is None and not nullable:
            raise DecodeError(f"{field.name} must not be null")
        return value

    def value(self, wire_type: WireType, flexible: bool) -> Any:
        match wire_type:
            case Fixed():
                value = self.number(wire_type.code, wire_type.size_bytes)
                return UUID(bytes=value) if wire_type is UUID16 else value
            case Text():
                return self.text(flexible)
            case Blob():
                length = self.length("i", 4, flexible)
                return None if length is None else bytes(self.take(length))
            case RecordSet():
                length = self.length("i", 4, flexible)
                return None if length is None else self.take(length)
            case Nested():
                return self.struct(wire_type.struct)
            case Array():
                return self.array(wire_type.element, flexible)

    def text(self, flexible: bool) -> str | None:
        length = self.length("h", 2, flexible)
        if length is None:
            return None
        if length > MAX_STRING_BYTES:
            raise DecodeError("string is too long")
        try:
            return str(self.take(length), "utf-8")
        except UnicodeDecodeError as error:
            raise DecodeError("text is not UTF-8") from error

    def array(self, element: WireType, flexible: bool) -> list[Any] | None:
        count = self.length("i", 4, flexible)
        if count is None:
            return None
        if count * max(1, minimal_size(element, self._version, flexible)) > self.left:
            raise DecodeError(f"{count} elements cannot be in {self.left} bytes")
        self._budget.spend(count)
        values = [self.value(element, flexible) for _ in range(count)]
        if None in values:
            raise DecodeError("an element must not be null")
        return values


class _Writer:
    def __init__(self, version: int, flexible: bool) -> None:
        self.out = bytearray()
        self._version = version
        self._flexible = flexible

    def number(self, code: str, value: Any) -> None:
        try:
            self.out += struct.pack(">" + code, value)
        except struct.error as error:
            raise EncodeError(str(error)) from error

    def uvarint(self, value: int) -> None:
        while value > 0x7F:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def length(self, code: str, length: int, flexible: bool) -> None:
        """A length or count; -1 for null."""
        if flexible:
            self.uvarint(length + 1)
        else:
            self.number(code, length)

    def struct(self, value: Struct) -> None:
        for field in value.SCHEMA.absent_fields(self._version):
            if not field.ignorable and not field.is_default(getattr(value, field.name)):
                raise FieldNotInVersionError(f"{field.name} cannot be in version {self._version}")
        for field in value.SCHEMA.plain_fields(self._version):
            flexible = field.is_flexible(self._flexible, self._version)
            self.field(field, getattr(value, field.name), flexible, in_tag=False)
        if self._flexible:
            self.tags(value)
        elif value.unknown_tags:
            raise FieldNotInVersionError(f"version {self._version} cannot carry tagged fields")

    def tags(self, value: Struct) -> None:
        tags = dict(value.unknown_tags or {})
        if any(field.tag in tags for field in value.SCHEMA.fields):
            raise EncodeError("a declared tag is among the unknown ones")
        for field in value.SCHEMA.tagged_fields(self._version):
            field_value = getattr(value, field.name)
            if not field.is_default(field_value):
                inner = _Writer(self._version, self._flexible)
                inner.field(field, field_value, flexible=True, in_tag=True)
                tags[field.tag or 0] = bytes(inner.out)
        self.uvarint(len(tags))
        for tag, data in sorted(tags.items()):
            self.uvarint(tag)
            self.uvarint(len(data))
            self.out += data

    def field(self, field: FieldSchema, value: Any, flexible: bool, *, in_tag: bool) -> None:
        nullable = self._version in field.nullable
        if value is None and not nullable:
            raise EncodeError(f"{field.name} must not be null")
        if isinstance(field.type, Nested) and nullable:
            absent = 0 if in_tag else -1
            self.number("b", absent if value is None else 1)
            if value is not None:
                self.struct(value)
        else:
            self.value(field.type, value, flexible)

    def value(self, wire_type: WireType, value: Any, flexible: bool) -> None:
        match wire_type:
            case Fixed():
                self.number(wire_type.code, value.bytes if wire_type is UUID16 else value)
            case Text():
                self.text(value, flexible)
            case Blob() | RecordSet():
                self.length("i", -1 if value is None else records_size(value), flexible)
                self.out += b"" if value is None else value
            case Nested():
                self.struct(value)
            case Array():
                self.length("i", -1 if value is None else len(value), flexible)
                for element in value or ():
                    self.value(wire_type.element, element, flexible)

    def text(self, value: str | None, flexible: bool) -> None:
        try:
            data = b"" if value is None else value.encode()
        except UnicodeEncodeError as error:
            raise EncodeError("text is not Unicode") from error
        if len(data) > MAX_STRING_BYTES:
            raise EncodeError("string is too long")
        self.length("h", -1 if value is None else len(data), flexible)
        self.out += data
