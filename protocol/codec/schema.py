"""The schema of a declared message as plain data (version ranges, wire types, fields), and the base of its class.

The compiler (`decoder.py`, `encoder.py`), the interpreter and the JSON form read these objects and nothing else.
*nullable*, *tagged*, *ignorable* and *flexible* have the meaning of Kafka's message definitions (KIP-482).
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from ...base.frozen import frozen

T = TypeVar("T")

MAX_VERSION = 0x7FFF


@frozen
class VersionRange:
    """Versions ``first`` to ``last``, both inside; empty when ``last < first``."""

    first: int
    last: int

    @classmethod
    @cache
    def parse(cls, text: str) -> "VersionRange":
        """Read Kafka's notation: ``"3+"``, ``"0-2"``, ``"1"`` or ``"none"``."""
        if text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return cls(int(text[:-1]), MAX_VERSION)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    def __str__(self) -> str:
        if self.last < self.first:
            return "none"
        if self.last == MAX_VERSION:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS = VersionRange(0, -1)


@frozen
class Fixed(Generic[T]):
    """A type of constant width: ``code`` is its `struct` format (big-endian)."""

    name: str
    code: str
    size_bytes: int


@frozen
class Text(Generic[T]):
    """A string: int16 length, or unsigned varint of length + 1 in flexible versions; at most 32,767 bytes of UTF-8."""

    name: str = "string"


@frozen
class Blob(Generic[T]):
    """Bytes: int32 length, or unsigned varint of length + 1 in flexible versions."""

    name: str = "bytes"


@frozen
class RecordSet:
    """Record batches, framed like bytes; neither copied nor parsed here."""

    name: str = "records"


@frozen
class Nested:
    """A struct inside another."""

    struct: "type[Struct]"

    @property
    def name(self) -> str:
        return self.struct.__name__


@frozen
class Array:
    """Elements one after the other: int32 count, or unsigned varint of count + 1 in flexible versions."""

    element: "Fixed[Any] | Text[Any] | Blob[Any] | Nested"

    @property
    def name(self) -> str:
        return f"[]{self.element.name}"


WireType = Fixed[Any] | Text[Any] | Blob[Any] | RecordSet | Nested | Array


@frozen
class FieldSchema:
    """One field. ``tag`` is None for a plain field; a tagged one is tagged in all of its versions.

    ``kafka_name`` is Kafka's name with a small first letter, as its JSON form prints it.
    """

    name: str
    kafka_name: str
    type: WireType
    versions: VersionRange
    nullable: VersionRange
    tag: int | None
    ignorable: bool
    flexible: VersionRange | None
    default_factory: Callable[[], Any]

    def is_default(self, value: Any) -> bool:
        """Whether Kafka would call this value the default, and so leave it out where it may."""
        default = self.default_factory()
        return bool(value is None if default is None else value == default)

    def is_flexible(self, message_is_flexible: bool, version: int) -> bool:
        """Whether lengths are varints: as in the message, unless the field overrides it."""
        return message_is_flexible if self.flexible is None else version in self.flexible


@frozen
class StructSchema:
    """The fields of a struct as declared: those without a tag are in wire order, tagged ones may stand among them."""

    name: str
    fields: tuple[FieldSchema, ...]

    def plain_fields(self, version: int) -> list[FieldSchema]:
        return [field for field in self.fields if field.tag is None and version in field.versions]

    def tagged_fields(self, version: int) -> list[FieldSchema]:
        """By ascending tag, as they are written."""
        tagged = [(field.tag, field) for field in self.fields if field.tag is not None and version in field.versions]
        return [field for _, field in sorted(tagged, key=lambda item: item[0])]

    def absent_fields(self, version: int) -> list[FieldSchema]:
        return [field for field in self.fields if version not in field.versions]


@frozen
class MessageSchema:
    """The properties of a whole message. ``api_key`` is None when it is neither a request nor a response."""

    name: str
    api_key: int | None
    versions: VersionRange
    flexible: VersionRange


@dataclasses.dataclass(slots=True, kw_only=True, init=False, repr=False, eq=False)
class Struct:
    """The base of every declared struct.

    A broker imports a few hundred of these classes when it starts. So `__init__` is compiled when the first object of a
    class is made, and `__eq__` and `__repr__` are shared by all classes.

    ``unknown_tags`` holds the tagged fields that the declaration does not know, so that a message can be passed on
    unchanged; None when there are none.
    """

    SCHEMA: ClassVar[StructSchema]
    VALUES: ClassVar[Callable[["Struct"], Any]]
    """All of an object's values at once, for comparisons: encoders compare tagged fields with their defaults."""

    unknown_tags: dict[int, bytes] | None = None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        values = type(self).VALUES
        return bool(values(self) == values(other))

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        values = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self))
        return f"{type(self).__name__}({', '.join(values)})"


@dataclasses.dataclass(slots=True, kw_only=True, init=False, repr=False, eq=False)
class Message(Struct):
    """The base of every declared message: a struct that can be encoded and decoded by itself."""

    MESSAGE: ClassVar[MessageSchema]
