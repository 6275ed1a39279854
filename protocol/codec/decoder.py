"""Decoders, compiled from the declarations on first use: a plain and a counting one for each message version."""

# The generated function is straight-line code for exactly one version. For ProduceRequest 9 it begins like this:
#
#     def decode(buffer, position, limit, budget):
#         message_1 = new(ProduceRequest)
#         message_1.unknown_tags = None
#         length_2 = buffer[position]                     # most lengths are one byte; the rest is a call
#         position += 1
#         if length_2 > 127: length_2, position = read_uvarint_tail(buffer, position, length_2)
#         ...
#         message_1.acks, message_1.timeout_ms, count_5 = unpack_hiB(buffer, position)
#         position += 7
#         if (count_5 - 1) * 3 > limit - position: raise DecodeError(...)
#         budget -= count_5
#         if budget < 0: raise DecodeError(...)
#
# - Neighbouring fixed-width fields, the length in front of a string and the first byte of a varint are read by one
#   `struct` call, straight into the attributes (`_Run`).
# - Objects are made with `object.__new__`, since the generated code sets every slot itself.
# - Reads of fixed widths past the end raise errors of `struct` or IndexError, which `decode` turns into DecodeError.
#   Slices would silently shorten, so every length is compared with ``limit`` first. A count is refused when that many
#   elements of the smallest size cannot follow. So memory stays within a constant factor of the input.
# - That factor is large, and so is the time that handlers take per element. So the counting decoder also limits the
#   number of elements of all arrays together (``budget``). Each element takes at least one byte, so a message with no
#   more bytes than the limit, as nearly all, uses the plain decoder.

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast
from uuid import UUID

from .errors import DecodeError
from .schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, StructSchema, Text, WireType
from .sizes import MAX_ELEMENTS, minimal_size
from .source import SourceWriter
from .varint import read_uvarint, read_uvarint_tail
from .wire import UUID16, Message

MessageT = TypeVar("MessageT", bound=Message)
Decoder = Callable[[memoryview, int, int, int], tuple[Message, int]]
"""(buffer, position, limit, most elements) → (message, position after it); raises the errors in `_MALFORMED`."""

_MALFORMED = (DecodeError, struct.error, IndexError, UnicodeDecodeError)

_Decoders = dict[type[Message], dict[int, Decoder]]
_plain: _Decoders = {}
_counting: _Decoders = {}


def decode(
    message_type: type[MessageT], buffer: bytes | bytearray | memoryview, version: int, offset: int = 0
) -> MessageT:
    """Decode a message that fills ``buffer`` from ``offset`` to its end.

    ``records`` fields are memoryviews of ``buffer`` (writable if it is). Raises only DecodeError: when the bytes are
    not such a message, the version does not exist, or bytes are left over.
    """
    message, end = decode_prefix(message_type, buffer, version, offset)
    if end != len(buffer):
        raise DecodeError(f"{message_type.__name__} v{version}: {len(buffer) - end} bytes are left over")
    return message


def decode_prefix(
    message_type: type[MessageT],
    buffer: bytes | bytearray | memoryview,
    version: int,
    offset: int = 0,
    max_elements: int = MAX_ELEMENTS,
) -> tuple[MessageT, int]:
    """Decode a message at ``offset`` that may be followed by other bytes; return it and the offset after it.

    Raises DecodeError, also when its arrays have more than ``max_elements`` elements together.
    """
    counts = len(buffer) - offset > max_elements
    try:
        read = (_counting if counts else _plain)[message_type][version]
    except KeyError:
        read = decoder(message_type, version, counts=counts)
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    try:
        return cast("tuple[MessageT, int]", read(view, offset, len(view), max_elements))
    except _MALFORMED as error:
        raise DecodeError(f"{message_type.__name__} v{version}: {_reason(error)}") from error


def decoder(message_type: type[Message], version: int, *, counts: bool) -> Decoder:
    """Return the compiled decoder of one version. Raises DecodeError if the version does not exist.

    ``counts``: the decoder checks the element limit. The other kind is for buffers of no more bytes than the limit.
    """
    if version not in message_type.MESSAGE.versions:
        raise DecodeError(f"{message_type.__name__} has no version {version}")
    by_version = (_counting if counts else _plain).setdefault(message_type, {})
    if version not in by_version:
        by_version[version] = _Compiler(message_type, version, counts=counts).compile()
    return by_version[version]


def _reason(error: Exception) -> str:
    if isinstance(error, DecodeError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"text is not UTF-8 ({error.reason})"
    return "the bytes end too early"


def shortage(path: str, length: int, left: int) -> DecodeError:
    """The error for a length or count that the rest of the buffer cannot hold."""
    return DecodeError(f"{path} claims length {length}, but only {left} bytes are left")


def too_many(path: str, count: int) -> DecodeError:
    return DecodeError(f"{path} has {count} elements, which exceeds the element limit of the message")


def forbidden_null(path: str) -> DecodeError:
    return DecodeError(f"{path} must not be null")


def too_long(path: str, length: int) -> DecodeError:
    return DecodeError(f"{path} has {length} bytes, and a string must not have more than 32767")


def wrong_tag_size(path: str, size: int, read: int) -> DecodeError:
    return DecodeError(f"{path} claims {size} bytes as a tagged field, but has {read}")


def tag_too_early(path: str) -> DecodeError:
    return DecodeError(f"{path} does not exist in this version")


@lru_cache(maxsize=256)
def repeated(code: str, count: int) -> Callable[[memoryview, int], tuple[Any, ...]]:
    """Return a function that reads ``count`` numbers of one width."""
    return struct.Struct(f">{count}{code}").unpack_from


@lru_cache(maxsize=4096)
def uuid_of(data: bytes) -> UUID:
    """Return the UUID of 16 bytes. Cached, because creating one is slow and topic ids repeat."""
    return UUID(bytes=data)


def read_unknown_tags(buffer: memoryview, position: int, count: int, limit: int) -> tuple[dict[int, bytes], int]:
    """Read ``count`` tagged fields of a struct that declares none; return them and the position after them."""
    tags: dict[int, bytes] = {}
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        end = position + size
        if end > limit:
            raise shortage(f"tagged field {tag}", size, limit - position)
        tags[tag] = bytes(buffer[position:end])
        position = end
    return tags, position


class _Run:
    """Neighbouring fixed-width values that one `struct` call reads."""

    def __init__(self, writer: SourceWriter) -> None:
        self._writer = writer
        self._codes: list[str] = []
        self._targets: list[str] = []
        self._conversions: list[str] = []

    def read(self, code: str, target: str) -> None:
        self._codes.append(code)
        self._targets.append(target)

    def convert(self, statement: str) -> None:
        """Add a statement to run after the values are read."""
        self._conversions.append(statement)

    def flush(self) -> None:
        if not self._codes:
            return
        writer = self._writer
        codes, targets, conversions = "".join(self._codes), ", ".join(self._targets), self._conversions
        self._codes, self._targets, self._conversions = [], [], []
        if codes == "B":
            writer.line(f"{targets} = buffer[position]")
            writer.line("position += 1")
        else:
            layout = struct.Struct(">" + codes)
            unpack = writer.constant("unpack_" + codes.replace("?", "t"), layout.unpack_from)
            comma = "," if "," not in targets else ""
            writer.line(f"{targets}{comma} = {unpack}(buffer, position)")
            writer.line(f"position += {layout.size}")
        for statement in conversions:
            writer.line(statement)


class _Compiler:
    """Writes the decoder of one version of one message."""

    def __init__(self, message_type: type[Message], version: int, *, counts: bool) -> None:
        self._message_type = message_type
        self._counts = counts
        self._version = version
        self._flexible = version in message_type.MESSAGE.flexible
        self._writer = SourceWriter()
        self._run = _Run(self._writer)
        for function in (
            DecodeError,
            shortage,
            too_many,
            forbidden_null,
            too_long,
            wrong_tag_size,
            tag_too_early,
            repeated,
            uuid_of,
            read_uvarint,
            read_uvarint_tail,
            read_unknown_tags,
        ):
            self._writer.constant(function.__name__, function)
        self._writer.constant("new", object.__new__)

    def compile(self) -> Decoder:
        name = self._message_type.__name__
        with self._writer.block("def decode(buffer, position, limit, budget):"):
            message = self._struct(self._message_type, "")
            self._run.flush()
            self._writer.line(f"return {message}, position")
        kind = "counting decoder" if self._counts else "decoder"
        return cast("Decoder", self._writer.compile("decode", f"<{kind} of {name} v{self._version}>"))

    def _struct(self, struct_type: type[Any], path: str) -> str:
        """Write code that reads a struct into a new variable; return its name.

        Reads may still be pending in the run.
        """
        schema: StructSchema = struct_type.SCHEMA
        variable = self._writer.fresh("message" if not path else "struct")
        type_name = self._writer.constant(schema.name, struct_type)
        # No pending read uses this object, so it may be created before those bytes are read.
        self._writer.line(f"{variable} = new({type_name})")
        for field in schema.fields:
            if field.tag is not None or self._version not in field.versions:
                self._default(field, f"{variable}.{field.name}", schema)
        for field in schema.plain_fields(self._version):
            flexible = field.is_flexible(self._flexible, self._version)
            self._field(field, f"{variable}.{field.name}", path + field.name, flexible)
        if self._flexible:
            self._tags(schema, variable, path)
        else:
            self._writer.line(f"{variable}.unknown_tags = None")
        return variable

    def _default(self, field: FieldSchema, target: str, schema: StructSchema) -> None:
        default = field.default_factory()
        if isinstance(default, list):
            self._writer.line(f"{target} = []")
        elif default is None or isinstance(default, (bool, int, str, bytes)):
            self._writer.line(f"{target} = {default!r}")
        elif isinstance(field.type, Nested):
            self._default_struct(field.type, target)
        else:
            self._writer.line(f"{target} = {self._writer.constant(f'default_{schema.name}_{field.name}', default)}")

    def _default_struct(self, nested: Nested, target: str) -> None:
        """Write code for a default struct without a call, because structs in tagged fields are nearly always absent."""
        schema: StructSchema = nested.struct.SCHEMA
        variable = self._writer.fresh("struct")
        self._writer.line(f"{variable} = new({self._writer.constant(schema.name, nested.struct)})")
        for field in schema.fields:
            self._default(field, f"{variable}.{field.name}", schema)
        self._writer.line(f"{variable}.unknown_tags = None")
        self._writer.line(f"{target} = {variable}")

    def _field(self, field: FieldSchema, target: str, path: str, flexible: bool, *, in_tag: bool = False) -> None:
        """Write code that reads one value into ``target``."""
        nullable = self._version in field.nullable
        match field.type:
            case Fixed():
                self._fixed(field.type, target)
            case Text():
                self._text(target, path, flexible, nullable)
            case Blob() | RecordSet():
                self._bytes(field.type, target, path, flexible, nullable)
            case Array():
                self._array(field.type, target, path, flexible, nullable)
            case Nested() if nullable:
                self._nullable_struct(field.type, target, path, in_tag=in_tag)
            case Nested():
                variable = self._struct(field.type.struct, path + ".")
                # Pending reads go into the nested object itself, which exists already.
                self._writer.line(f"{target} = {variable}")

    def _fixed(self, fixed: Fixed[Any], target: str) -> None:
        self._run.read(fixed.code, target)
        if fixed is UUID16:
            self._run.convert(f"{target} = uuid_of({target})")

    def _length(self, stem: str, code: str, flexible: bool) -> str:
        """Write code that reads a length into a new variable. In flexible versions it is length + 1, and 0 for null."""
        length = self._writer.fresh(stem)
        self._run.read("B" if flexible else code, length)
        self._run.flush()
        if flexible:
            with self._writer.block(f"if {length} > 127:"):
                self._writer.line(f"{length}, position = read_uvarint_tail(buffer, position, {length})")
        return length

    def _null_branch(self, length: str, target: str, path: str, flexible: bool, nullable: bool) -> None:
        """Write the branch for null; the caller writes the ``else``."""
        with self._writer.block(f"if {length} == 0:" if flexible else f"if {length} < 0:"):
            self._writer.line(f"{target} = None" if nullable else f"raise forbidden_null({path!r})")

    def _end(self, length: str, path: str, flexible: bool) -> str:
        """Write code that computes the end of a value of this length, and refuses an end beyond the buffer."""
        end = self._writer.fresh("end")
        self._writer.line(f"{end} = position + {length}" + (" - 1" if flexible else ""))
        with self._writer.block(f"if {end} > limit:"):
            self._writer.line(f"raise shortage({path!r}, {end} - position, limit - position)")
        return end

    def _text(self, target: str, path: str, flexible: bool, nullable: bool) -> None:
        length = self._length("length", "h", flexible)
        self._null_branch(length, target, path, flexible, nullable)
        with self._writer.block("else:"):
            end = self._end(length, path, flexible)
            if flexible:
                with self._writer.block(f"if {length} > 32768:"):
                    self._writer.line(f"raise too_long({path!r}, {length} - 1)")
            self._writer.line(f"{target} = str(buffer[position:{end}], 'utf-8')")
            self._writer.line(f"position = {end}")

    def _bytes(self, wire_type: Blob[Any] | RecordSet, target: str, path: str, flexible: bool, nullable: bool) -> None:
        length = self._length("length", "i", flexible)
        self._null_branch(length, target, path, flexible, nullable)
        with self._writer.block("else:"):
            end = self._end(length, path, flexible)
            piece = f"buffer[position:{end}]"
            self._writer.line(f"{target} = " + (piece if isinstance(wire_type, RecordSet) else f"bytes({piece})"))
            self._writer.line(f"position = {end}")

    def _array(self, array: Array, target: str, path: str, flexible: bool, nullable: bool) -> None:
        count = self._length("count", "i", flexible)
        self._null_branch(count, target, path, flexible, nullable)
        with self._writer.block("else:"):
            if flexible:
                self._writer.line(f"{count} -= 1")
            # An element without bytes would leave the count unbounded, so as in Kafka it counts as one byte.
            bytes_each = minimal_size(array.element, self._version, flexible)
            smallest = max(1, bytes_each)
            needed = count if smallest == 1 else f"{count} * {smallest}"
            with self._writer.block(f"if {needed} > limit - position:"):
                self._writer.line(f"raise shortage({path!r}, {count}, limit - position)")
            if self._counts or not bytes_each:
                self._spend(count, path)
            if isinstance(array.element, Fixed):
                self._fixed_elements(array.element, target, count)
            else:
                self._elements(array.element, target, count, path, flexible)

    def _spend(self, count: str, path: str) -> None:
        self._writer.line(f"budget -= {count}")
        with self._writer.block("if budget < 0:"):
            self._writer.line(f"raise too_many({path!r}, {count})")

    def _fixed_elements(self, element: Fixed[Any], target: str, count: str) -> None:
        end = self._writer.fresh("end")
        self._writer.line(f"{end} = position + {count} * {element.size_bytes}")
        if element is UUID16:
            self._writer.line(f"{target} = [uuid_of(bytes(buffer[at:at+16])) for at in range(position, {end}, 16)]")
        else:
            self._writer.line(f"{target} = list(repeated({element.code!r}, {count})(buffer, position))")
        self._writer.line(f"position = {end}")

    def _elements(self, element: WireType, target: str, count: str, path: str, flexible: bool) -> None:
        values = self._writer.fresh("values")
        self._writer.line(f"{target} = {values} = []")
        with self._writer.block(f"for _ in range({count}):"):
            if isinstance(element, Nested):
                value = self._struct(element.struct, path + ".")
            else:
                value = self._writer.fresh("value")
                self._element(element, value, path, flexible)
            self._run.flush()
            self._writer.line(f"{values}.append({value})")

    def _element(self, element: WireType, value: str, path: str, flexible: bool) -> None:
        if isinstance(element, Text):
            self._text(value, path, flexible, nullable=False)
        elif isinstance(element, Blob):
            self._bytes(element, value, path, flexible, nullable=False)

    def _nullable_struct(self, nested: Nested, target: str, path: str, *, in_tag: bool) -> None:
        """Write code for a nullable struct: a byte, in a tagged field a varint, says whether it is there."""
        present = self._writer.fresh("present")
        if in_tag:
            self._run.flush()
            self._writer.line(f"{present}, position = read_uvarint(buffer, position)")
        else:
            self._run.read("b", present)
            self._run.flush()
        with self._writer.block(f"if {present} <= 0:" if in_tag else f"if {present} < 0:"):
            self._writer.line(f"{target} = None")
        with self._writer.block("else:"):
            variable = self._struct(nested.struct, path + ".")
            self._run.flush()
            self._writer.line(f"{target} = {variable}")

    def _tags(self, schema: StructSchema, variable: str, path: str) -> None:
        """Write code for the tagged fields at the end of a struct. There are nearly always none."""
        writer = self._writer
        count = self._length("tags", "", flexible=True)
        with writer.block(f"if {count} == 0:"):
            writer.line(f"{variable}.unknown_tags = None")
        known = [field for field in schema.fields if field.tag is not None]
        with writer.block("else:"):
            if self._counts:
                self._spend(count, f"{path}tagged fields")
            if not known:
                unknown = f"{variable}.unknown_tags"
                writer.line(f"{unknown}, position = read_unknown_tags(buffer, position, {count}, limit)")
                return
            unknown, tag, size, end = (writer.fresh(stem) for stem in ("unknown", "tag", "size", "end"))
            writer.line(f"{unknown} = {{}}")
            with writer.block(f"for _ in range({count}):"):
                writer.line(f"{tag}, position = read_uvarint(buffer, position)")
                writer.line(f"{size}, position = read_uvarint(buffer, position)")
                writer.line(f"{end} = position + {size}")
                with writer.block(f"if {end} > limit:"):
                    writer.line(f"raise shortage(f'{path}tagged field {{{tag}}}', {size}, limit - position)")
                keyword = "if"
                for field in known:
                    with writer.block(f"{keyword} {tag} == {field.tag}:"):
                        self._tagged_field(field, variable, path + field.name, size, end)
                    keyword = "elif"
                with writer.block("else:"):
                    writer.line(f"{unknown}[{tag}] = bytes(buffer[position:{end}])")
                    writer.line(f"position = {end}")
            writer.line(f"{variable}.unknown_tags = {unknown} or None")

    def _tagged_field(self, field: FieldSchema, variable: str, path: str, size: str, end: str) -> None:
        if self._version not in field.versions:
            self._writer.line(f"raise tag_too_early({path!r})")
            return
        self._field(field, f"{variable}.{field.name}", path, flexible=True, in_tag=True)
        self._run.flush()
        with self._writer.block(f"if position != {end}:"):
            self._writer.line(f"raise wrong_tag_size({path!r}, {size}, {size} + position - {end})")
