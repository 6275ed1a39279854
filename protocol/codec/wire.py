"""How a message is declared: a class decorator (makes a plain slotted dataclass), and a function for each wire type.

@wire.message(api_key=0, versions="0-11", flexible="9+")
class ProduceRequest(wire.Message):
    transactional_id: str | None = wire.string("3+", nullable="3+", default=None)
    acks: int = wire.int16("0+", default=0)
    topic_data: list[TopicProduceData] = wire.array(TopicProduceData, "0+", default_factory=list)
"""

# The version ranges are kept in ``SCHEMA``. The first argument of a field is the range of versions that have it.
# ``nullable`` is the range in which null is allowed, ``tag`` makes it a tagged field (KIP-482), and ``ignorable`` lets
# the encoder drop a value that the version cannot carry instead of refusing the message. Python names are Kafka's in
# snake_case; ``kafka_name`` is given where the snake_case name does not lead back to it.

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Protocol, TypeVar, cast, dataclass_transform, overload, runtime_checkable
from uuid import UUID

from ...base.frozen import InitAtFirstUse
from .schema import (
    Array,
    Blob,
    FieldSchema,
    Fixed,
    Message,
    MessageSchema,
    Nested,
    RecordSet,
    Struct,
    StructSchema,
    Text,
    VersionRange,
    WireType,
)

NULL_UUID = UUID(int=0)
"""Kafka's ``Uuid.ZERO_UUID``: no id."""

BOOL: Fixed[bool] = Fixed("bool", "?", 1)
INT8: Fixed[int] = Fixed("int8", "b", 1)
INT16: Fixed[int] = Fixed("int16", "h", 2)
UINT16: Fixed[int] = Fixed("uint16", "H", 2)
INT32: Fixed[int] = Fixed("int32", "i", 4)
INT64: Fixed[int] = Fixed("int64", "q", 8)
FLOAT64: Fixed[float] = Fixed("float64", "d", 8)
UUID16: Fixed[UUID] = Fixed("uuid", "16s", 16)
STRING: Text[str] = Text()
BYTES: Blob[bytes] = Blob()
RECORDS = RecordSet()


@runtime_checkable
class RecordsSource(Protocol):
    """Records that are not in memory, such as a region of a log file."""

    @property
    def size_bytes(self) -> int: ...


Records = bytes | bytearray | memoryview | RecordsSource


T = TypeVar("T")
StructT = TypeVar("StructT", bound=Struct)
MessageT = TypeVar("MessageT", bound=Message)

_METADATA_KEY = "pybroker.wire"


def _field(
    wire_type: WireType,
    versions: str,
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    nullable: str = "none",
    tag: int | None = None,
    ignorable: bool = False,
    kafka_name: str | None = None,
    flexible: str | None = None,
) -> Any:
    def named(name: str) -> FieldSchema:
        return FieldSchema(
            name=name,
            kafka_name=kafka_name or _camel_case(name),
            type=wire_type,
            versions=VersionRange.parse(versions),
            nullable=VersionRange.parse(nullable),
            tag=tag,
            ignorable=ignorable,
            flexible=None if flexible is None else VersionRange.parse(flexible),
            default_factory=(lambda: default) if default_factory is dataclasses.MISSING else default_factory,
        )

    metadata = {_METADATA_KEY: named}
    if default_factory is dataclasses.MISSING:
        return dataclasses.field(default=default, metadata=metadata)
    return dataclasses.field(default_factory=default_factory, metadata=metadata)


def boolean(
    versions: str, *, default: bool, tag: int | None = None, ignorable: bool = False, kafka_name: str | None = None
) -> bool:
    """One byte; any value but zero is true."""
    return cast("bool", _field(BOOL, versions, default=default, tag=tag, ignorable=ignorable, kafka_name=kafka_name))


def int8(versions: str, *, default: int, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed byte."""
    return cast("int", _field(INT8, versions, default=default, tag=tag, ignorable=ignorable))


def int16(
    versions: str, *, default: int, tag: int | None = None, ignorable: bool = False, kafka_name: str | None = None
) -> int:
    """A signed 16-bit number."""
    return cast("int", _field(INT16, versions, default=default, tag=tag, ignorable=ignorable, kafka_name=kafka_name))


def uint16(versions: str, *, default: int, tag: int | None = None, ignorable: bool = False) -> int:
    """An unsigned 16-bit number."""
    return cast("int", _field(UINT16, versions, default=default, tag=tag, ignorable=ignorable))


def int32(versions: str, *, default: int, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed 32-bit number."""
    return cast("int", _field(INT32, versions, default=default, tag=tag, ignorable=ignorable))


def int64(versions: str, *, default: int, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed 64-bit number."""
    return cast("int", _field(INT64, versions, default=default, tag=tag, ignorable=ignorable))


def float64(versions: str, *, default: float, tag: int | None = None, ignorable: bool = False) -> float:
    """An IEEE 754 double."""
    return cast("float", _field(FLOAT64, versions, default=default, tag=tag, ignorable=ignorable))


def uuid(versions: str, *, default: UUID, tag: int | None = None, ignorable: bool = False) -> UUID:
    """Sixteen bytes; `NULL_UUID` for none."""
    return cast("UUID", _field(UUID16, versions, default=default, tag=tag, ignorable=ignorable))


@overload
def string(
    versions: str, *, default: str, tag: int | None = None, ignorable: bool = False, flexible: str | None = None
) -> str: ...
@overload
def string(
    versions: str,
    *,
    nullable: str,
    default: str | None,
    tag: int | None = None,
    ignorable: bool = False,
    flexible: str | None = None,
) -> str | None: ...
def string(
    versions: str,
    *,
    default: str | None,
    nullable: str = "none",
    tag: int | None = None,
    ignorable: bool = False,
    flexible: str | None = None,
) -> str | None:
    """UTF-8 text of at most 32,767 bytes."""
    declared = _field(
        STRING, versions, default=default, nullable=nullable, tag=tag, ignorable=ignorable, flexible=flexible
    )
    return cast("str | None", declared)


@overload
def blob(versions: str, *, default: bytes, tag: int | None = None, ignorable: bool = False) -> bytes: ...
@overload
def blob(
    versions: str, *, nullable: str, default: bytes | None, tag: int | None = None, ignorable: bool = False
) -> bytes | None: ...
def blob(
    versions: str,
    *,
    default: bytes | None,
    nullable: str = "none",
    tag: int | None = None,
    ignorable: bool = False,
) -> bytes | None:
    """Opaque bytes, copied out of the buffer; any bytes-like object may be encoded."""
    return cast(
        "bytes | None", _field(BYTES, versions, default=default, nullable=nullable, tag=tag, ignorable=ignorable)
    )


def records(versions: str, *, default: None, nullable: str = "none", ignorable: bool = False) -> Records | None:
    """Record batches: decoded as a view of the buffer, encoded by passing the object on."""
    return cast("Records | None", _field(RECORDS, versions, default=default, nullable=nullable, ignorable=ignorable))


@overload
def struct_field(
    struct_type: type[StructT],
    versions: str,
    *,
    default_factory: Callable[[], StructT],
    tag: int | None = None,
    ignorable: bool = False,
    kafka_name: str | None = None,
) -> StructT: ...
@overload
def struct_field(
    struct_type: type[StructT],
    versions: str,
    *,
    nullable: str,
    default: None,
    tag: int | None = None,
    ignorable: bool = False,
    kafka_name: str | None = None,
) -> StructT | None: ...
@overload
def struct_field(
    struct_type: type[StructT],
    versions: str,
    *,
    nullable: str,
    default_factory: Callable[[], StructT],
    tag: int | None = None,
    ignorable: bool = False,
    kafka_name: str | None = None,
) -> StructT | None: ...
def struct_field(
    struct_type: type[StructT],
    versions: str,
    *,
    nullable: str = "none",
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    tag: int | None = None,
    ignorable: bool = False,
    kafka_name: str | None = None,
) -> StructT | None:
    """A single nested struct."""
    declared = _field(
        Nested(struct_type),
        versions,
        nullable=nullable,
        default=default,
        default_factory=default_factory,
        tag=tag,
        ignorable=ignorable,
        kafka_name=kafka_name,
    )
    return cast("StructT | None", declared)


@overload
def array(
    element: Fixed[T] | Text[T] | Blob[T] | type[T],
    versions: str,
    *,
    default_factory: type[list[Any]],
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T]: ...
@overload
def array(
    element: Fixed[T] | Text[T] | Blob[T] | type[T],
    versions: str,
    *,
    nullable: str,
    default: None,
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T] | None: ...
@overload
def array(
    element: Fixed[T] | Text[T] | Blob[T] | type[T],
    versions: str,
    *,
    nullable: str,
    default_factory: type[list[Any]],
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T] | None: ...
def array(
    element: Any,
    versions: str,
    *,
    nullable: str = "none",
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """A list of one of the types above, or of a struct class. Kafka has no nested arrays and no null elements."""
    return _field(
        Array(Nested(element) if isinstance(element, type) else element),
        versions,
        nullable=nullable,
        default=default,
        default_factory=default_factory,
        tag=tag,
        ignorable=ignorable,
    )


@dataclass_transform(  # type checkers need the tuple written out, here and below
    kw_only_default=True,
    field_specifiers=(
        boolean,
        int8,
        int16,
        uint16,
        int32,
        int64,
        float64,
        uuid,
        string,
        blob,
        records,
        struct_field,
        array,
    ),
)
def struct(declaration: type[StructT]) -> type[StructT]:
    """Turn a declaration into a slotted dataclass with a ``SCHEMA``."""
    # Without a docstring `dataclasses` builds one from the signature, which takes longer than everything else here.
    declaration.__doc__ = declaration.__doc__ or declaration.__name__
    made: Any = dataclasses.dataclass(slots=True, kw_only=True, init=False, repr=False, eq=False)(declaration)
    made.__init__ = InitAtFirstUse(made, is_frozen=False)
    fields = [
        named(field.name)
        for field in dataclasses.fields(made)
        if (named := field.metadata.get(_METADATA_KEY)) is not None
    ]
    made.SCHEMA = StructSchema(made.__name__, tuple(fields))
    made.VALUES = attrgetter("unknown_tags", *(field.name for field in fields))
    return cast("type[StructT]", made)


@dataclass_transform(
    kw_only_default=True,
    field_specifiers=(
        boolean,
        int8,
        int16,
        uint16,
        int32,
        int64,
        float64,
        uuid,
        string,
        blob,
        records,
        struct_field,
        array,
    ),
)
def message(*, versions: str, flexible: str, api_key: int | None = None) -> Callable[[type[MessageT]], type[MessageT]]:
    """Like `struct`, for a whole message. ``flexible`` versions have compact lengths and tagged fields."""

    def declare(declaration: type[MessageT]) -> type[MessageT]:
        made = struct(declaration)
        made.MESSAGE = MessageSchema(made.__name__, api_key, VersionRange.parse(versions), VersionRange.parse(flexible))
        return made

    return declare


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


__all__ = [
    "BOOL",
    "BYTES",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "NULL_UUID",
    "STRING",
    "UINT16",
    "UUID16",
    "Message",
    "Records",
    "RecordsSource",
    "Struct",
    "array",
    "blob",
    "boolean",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "message",
    "records",
    "string",
    "struct",
    "struct_field",
    "uint16",
    "uuid",
]
