"""Encoders, compiled from the declarations on first use, one for each message type and version."""

# A generated encoder appends pieces of bytes to a list, which are joined at the end:
#
#     def encode(message, pieces, parts):
#         add = pieces.append
#         ...
#         add(pack_hii(message.acks, message.timeout_ms, count_3))
#
# Neighbouring fixed-width fields and the lengths before strings and arrays are one `struct` call (`_Run`). At a
# ``records`` field the pieces so far are joined into ``parts``, and the records object becomes a part of its own. It
# may be a region of a file, and is never read.
#
# A field that the version lacks is dropped if it is ignorable. Otherwise it must have its default (Kafka's rule).
# `struct` checks that numbers fit.

import struct
import traceback
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from .errors import EncodeError, FieldNotInVersionError
from .schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, StructSchema, Text
from .source import SourceWriter
from .varint import ONE_BYTE, uvarint
from .wire import UUID16, Message, Records, Struct

Part = bytes | bytearray | memoryview | Records
Encoder = Callable[[Any, list[bytes], list[Part]], None]
"""(message, pieces, parts): appends to both lists; raises the errors in `_UNFIT`."""

_UNFIT = (EncodeError, struct.error, TypeError, AttributeError, ValueError, OverflowError)

_SCALARS = (bool, int, str, float)

_encoders: dict[type[Message], dict[int, Encoder]] = {}


def encode(message: Message, version: int) -> bytes:
    """Return the message as bytes. Its records must be in memory. Raises EncodeError."""
    parts = encode_parts(message, version)
    if len(parts) == 1 and type(parts[0]) is bytes:
        return parts[0]
    try:
        return b"".join(cast("list[bytes]", parts))
    except TypeError as error:
        raise EncodeError(f"{type(message).__name__} v{version}: records are not in memory") from error


def encode_parts(message: Message, version: int) -> list[Part]:
    """Return the message as parts to send in order: joined bytes, and the records objects themselves.

    Raises EncodeError.
    """
    message_type = type(message)
    try:
        write = _encoders[message_type][version]
    except KeyError:
        write = encoder(message_type, version)
    pieces: list[bytes] = []
    parts: list[Part] = []
    try:
        write(message, pieces, parts)
        if pieces:
            parts.append(b"".join(pieces))
    except FieldNotInVersionError:
        raise
    except _UNFIT as error:
        raise EncodeError(f"{message_type.__name__} v{version}: {error}{_place(error)}") from error
    return parts


def _place(error: Exception) -> str:
    """Return the failed line of generated code, which names the field. `struct` does not."""
    if isinstance(error, EncodeError):
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<encoder of"):
            return f" in {frame.line}"
    return ""


def encoder(message_type: type[Message], version: int) -> Encoder:
    """Return the compiled encoder of one version. Raises EncodeError if the version does not exist."""
    if version not in message_type.MESSAGE.versions:
        raise EncodeError(f"{message_type.__name__} has no version {version}")
    by_version = _encoders.setdefault(message_type, {})
    if version not in by_version:
        by_version[version] = _Compiler(message_type, version).compile()
    return by_version[version]


def not_in_version(path: str, version: int) -> FieldNotInVersionError:
    return FieldNotInVersionError(f"{path} is set, but version {version} has no such field")


def tags_not_in_version(path: str, version: int) -> FieldNotInVersionError:
    return FieldNotInVersionError(f"{path} has tagged fields, but version {version} has none")


def forbidden_null(path: str) -> EncodeError:
    return EncodeError(f"{path} must not be null")


def too_long(path: str, length: int) -> EncodeError:
    return EncodeError(f"{path} has {length} bytes, and a string must not have more than 32767")


def known_tag(path: str, tag: int) -> EncodeError:
    return EncodeError(f"{path}: tag {tag} is a declared field and must not be among the unknown tags")


def records_size(records: Records) -> int:
    """Return the size in bytes of a records object, in memory or not."""
    if isinstance(records, memoryview):
        return records.nbytes
    return len(records) if isinstance(records, (bytes, bytearray)) else records.size_bytes


@lru_cache(maxsize=256)
def repeated(code: str, count: int) -> Callable[..., bytes]:
    """Return a function that encodes ``count`` numbers of one width."""
    return struct.Struct(f">{count}{code}").pack


def write_unknown_tags(
    path: str, unknown: dict[int, bytes], known: list[tuple[int, bytes]], declared: frozenset[int]
) -> bytes:
    """Return the section of tagged fields, by ascending tag. ``known`` are the declared ones, already encoded."""
    for tag in unknown:
        if tag in declared:
            raise known_tag(path, tag)
    out = [uvarint(len(unknown) + len(known))]
    for tag, data in sorted([*known, *unknown.items()], key=lambda item: item[0]):
        out += (uvarint(tag), uvarint(len(data)), data)
    return b"".join(out)


class _Run:
    """Neighbouring fixed-width values that one `struct` call writes."""

    def __init__(self, writer: SourceWriter) -> None:
        self._writer = writer
        self._codes: list[str] = []
        self._values: list[str] = []

    def write(self, code: str, value: str) -> None:
        self._codes.append(code)
        self._values.append(value)

    def flush(self) -> None:
        if not self._codes:
            return
        codes, values = "".join(self._codes), ", ".join(self._values)
        self._codes, self._values = [], []
        pack = self._writer.constant("pack_" + codes.replace("?", "t"), struct.Struct(">" + codes).pack)
        self._writer.line(f"add({pack}({values}))")


class _Compiler:
    """Writes the encoder of one version of one message."""

    def __init__(self, message_type: type[Message], version: int) -> None:
        self._message_type = message_type
        self._version = version
        self._flexible = version in message_type.MESSAGE.flexible
        self._writer = SourceWriter()
        self._run = _Run(self._writer)
        for function in (
            not_in_version,
            tags_not_in_version,
            forbidden_null,
            too_long,
            records_size,
            repeated,
            uvarint,
            write_unknown_tags,
        ):
            self._writer.constant(function.__name__, function)
        self._writer.constant("ONE_BYTE", ONE_BYTE)

    def compile(self) -> Encoder:
        name = self._message_type.__name__
        with self._writer.block("def encode(message, pieces, parts):"):
            self._writer.line("add = pieces.append")
            self._struct(self._message_type.SCHEMA, "message", "")
            self._run.flush()
        return cast("Encoder", self._writer.compile("encode", f"<encoder of {name} v{self._version}>"))

    def _struct(self, schema: StructSchema, variable: str, path: str) -> None:
        for field in schema.absent_fields(self._version):
            if not field.ignorable:
                with self._writer.block(f"if {self._differs(field, schema, f'{variable}.{field.name}')}:"):
                    self._writer.line(f"raise not_in_version({path + field.name!r}, {self._version})")
        for field in schema.plain_fields(self._version):
            flexible = field.is_flexible(self._flexible, self._version)
            self._field(field, f"{variable}.{field.name}", path + field.name, flexible)
        if self._flexible:
            self._tags(schema, variable, path)
        else:
            with self._writer.block(f"if {variable}.unknown_tags:"):
                self._writer.line(f"raise tags_not_in_version({path or 'message'!r}, {self._version})")

    def _differs(self, field: FieldSchema, schema: StructSchema, value: str) -> str:
        """Return an expression that is true when the value differs from the default."""
        default = field.default_factory()
        if default is None:
            return f"{value} is not None"
        if isinstance(default, (list, bytes)):
            return f"{value} is None or len({value})"
        if isinstance(default, _SCALARS):
            return f"{value} != {default!r}"
        if isinstance(default, Struct) and self._version not in field.nullable:
            values = {inner.name: getattr(default, inner.name) for inner in type(default).SCHEMA.fields}
            # compared field by field, without a call for each object
            if all(isinstance(inner, _SCALARS) for inner in values.values()):
                differences = [f"{value}.{name} != {inner!r}" for name, inner in values.items()]
                return " or ".join([*differences, f"{value}.unknown_tags is not None"])
        return f"{value} != {self._writer.constant(f'default_{schema.name}_{field.name}', default)}"

    def _field(self, field: FieldSchema, value: str, path: str, flexible: bool, *, in_tag: bool = False) -> None:
        nullable = self._version in field.nullable
        match field.type:
            case Fixed():
                self._run.write(field.type.code, f"{value}.bytes" if field.type is UUID16 else value)
            case Text():
                self._text(value, path, flexible, nullable)
            case Blob():
                self._bytes(value, path, flexible, nullable)
            case RecordSet():
                self._records(value, path, flexible, nullable)
            case Array():
                self._array(field.type, value, path, flexible, nullable)
            case Nested():
                self._nested(field.type, value, path, nullable, in_tag=in_tag)

    def _length(self, length: str, code: str, flexible: bool) -> None:
        """Write code for a length that is not null."""
        if not flexible:
            self._run.write(code, length)
            self._run.flush()
            return
        self._run.flush()
        self._writer.line(f"add(ONE_BYTE[{length} + 1] if {length} < 127 else uvarint({length} + 1))")

    def _null_branch(self, value: str, path: str, code: str, flexible: bool, nullable: bool) -> None:
        """Write the branch for null; the caller writes the ``else``. Pending values are written before."""
        self._run.flush()
        with self._writer.block(f"if {value} is None:"):
            if not nullable:
                self._writer.line(f"raise forbidden_null({path!r})")
            elif flexible:
                self._writer.line("add(ONE_BYTE[0])")
            else:
                self._run.write(code, "-1")
                self._run.flush()

    def _text(self, value: str, path: str, flexible: bool, nullable: bool) -> None:
        data, length = self._writer.fresh("data"), self._writer.fresh("length")
        if not flexible:
            self._int16_text(value, data, length, nullable)
            return
        if nullable:
            self._null_branch(value, path, "h", flexible, nullable)
            with self._writer.block("else:"):
                self._compact_text(value, path, data, length)
        else:
            self._compact_text(value, path, data, length)

    def _int16_text(self, value: str, data: str, length: str, nullable: bool) -> None:
        # The length is packed with the fields before it, so null has no branch: it is a length of -1 without bytes.
        if nullable:
            with self._writer.block(f"if {value} is None:"):
                self._writer.line(f"{data} = b''; {length} = -1")
            with self._writer.block("else:"):
                self._writer.line(f"{data} = {value}.encode(); {length} = len({data})")
        else:
            self._writer.line(f"{data} = {value}.encode()")
            length = f"len({data})"
        self._length(length, "h", flexible=False)
        self._writer.line(f"add({data})")

    def _compact_text(self, value: str, path: str, data: str, length: str) -> None:
        self._run.flush()
        self._writer.line(f"{data} = {value}.encode(); {length} = len({data})")
        with self._writer.block(f"if {length} > 32767:"):
            self._writer.line(f"raise too_long({path!r}, {length})")
        self._length(length, "h", flexible=True)
        self._writer.line(f"add({data})")

    def _bytes(self, value: str, path: str, flexible: bool, nullable: bool) -> None:
        data, length = self._writer.fresh("data"), self._writer.fresh("length")
        self._writer.line(f"{data} = {value}")
        self._null_branch(data, path, "i", flexible, nullable)
        with self._writer.block("else:"):
            self._writer.line(f"{length} = len({data})")
            self._length(length, "i", flexible)
            self._writer.line(f"add({data})")

    def _records(self, value: str, path: str, flexible: bool, nullable: bool) -> None:
        records, length = self._writer.fresh("records"), self._writer.fresh("length")
        self._writer.line(f"{records} = {value}")
        self._null_branch(records, path, "i", flexible, nullable)
        with self._writer.block("else:"):
            self._writer.line(f"{length} = records_size({records})")
            self._length(length, "i", flexible)
            with self._writer.block(f"if {length}:"):
                self._writer.line("parts.append(b''.join(pieces)); pieces.clear()")
                self._writer.line(f"parts.append({records})")

    def _array(self, array: Array, value: str, path: str, flexible: bool, nullable: bool) -> None:
        values, length = self._writer.fresh("values"), self._writer.fresh("count")
        if nullable:
            self._writer.line(f"{values} = {value}")
            self._null_branch(values, path, "i", flexible, nullable)
            with self._writer.block("else:"):
                self._writer.line(f"{length} = len({values})")
                self._elements(array, values, length, path, flexible)
        else:
            self._writer.line(f"{values} = {value}; {length} = len({values})")
            self._elements(array, values, length, path, flexible)

    def _elements(self, array: Array, values: str, length: str, path: str, flexible: bool) -> None:
        self._length(length, "i", flexible)
        element = array.element
        if isinstance(element, Fixed) and element is not UUID16:
            self._writer.line(f"add(repeated({element.code!r}, {length})(*{values}))")
            return
        item = self._writer.fresh("item")
        with self._writer.block(f"for {item} in {values}:"):
            match element:
                case Fixed():
                    self._run.write(element.code, f"{item}.bytes")
                case Text():
                    self._text(item, path, flexible, nullable=False)
                case Blob():
                    self._bytes(item, path, flexible, nullable=False)
                case Nested():
                    self._struct(element.struct.SCHEMA, item, path + ".")
            self._run.flush()

    def _nested(self, nested: Nested, value: str, path: str, nullable: bool, *, in_tag: bool) -> None:
        variable = self._writer.fresh("struct")
        self._writer.line(f"{variable} = {value}")
        if not nullable:
            self._struct(nested.struct.SCHEMA, variable, path + ".")
            return
        self._run.flush()
        with self._writer.block(f"if {variable} is None:"):
            self._run.write("b", "0" if in_tag else "-1")
            self._run.flush()
        with self._writer.block("else:"):
            self._run.write("b", "1")
            self._struct(nested.struct.SCHEMA, variable, path + ".")
            self._run.flush()

    def _tags(self, schema: StructSchema, variable: str, path: str) -> None:
        """Write code for the tagged fields of a struct: those without their default, and the unknown ones."""
        writer = self._writer
        self._run.flush()
        tagged = schema.tagged_fields(self._version)
        if not tagged:
            with writer.block(f"if not {variable}.unknown_tags:"):
                writer.line("add(ONE_BYTE[0])")
            known = "[]"
        else:
            known = writer.fresh("known")
            writer.line(f"{known} = []")
            for field in tagged:
                self._tagged_field(field, schema, variable, path, known)
            with writer.block(f"if not {known} and not {variable}.unknown_tags:"):
                writer.line("add(ONE_BYTE[0])")
        declared = frozenset(field.tag for field in schema.fields if field.tag is not None)
        constant = writer.constant(f"declared_tags_{schema.name}", declared)
        with writer.block("else:"):
            where = path or "message"
            writer.line(f"add(write_unknown_tags({where!r}, {variable}.unknown_tags or {{}}, {known}, {constant}))")

    def _tagged_field(self, field: FieldSchema, schema: StructSchema, variable: str, path: str, known: str) -> None:
        value = f"{variable}.{field.name}"
        with self._writer.block(f"if {self._differs(field, schema, value)}:"):
            # The size comes first, so the field is encoded into a list of its own.
            outer, inner = self._writer.fresh("outer"), self._writer.fresh("inner")
            self._writer.line(f"{outer} = add; {inner} = []; add = {inner}.append")
            self._field(field, value, path + field.name, flexible=True, in_tag=True)
            self._run.flush()
            self._writer.line(f"{known}.append(({field.tag}, b''.join({inner}))); add = {outer}")
