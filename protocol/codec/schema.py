"""What a message declaration says, as plain data: version ranges, wire types, fields, structs.

The compiler (`decoder.py`, `encoder.py`), the interpreter and the JSON form all read these objects and nothing else.
Names follow Kafka's message definitions: *nullable*, *tagged*, *ignorable* and *flexible* mean what they mean there
(KIP-482 for the last three).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from .wire import Struct

T = TypeVar("T")

MAX_VERSION = 0x7FFF


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions ``first`` to ``last``, both inside; empty when ``last < first``."""

    first: int
    last: int

    @classmethod
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


@dataclass(frozen=True, slots=True)
class Fixed(Generic[T]):
    """A type of constant width: ``code`` is its `struct` format (big-endian)."""

    name: str
    code: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Text(Generic[T]):
    """A string: int16 length, or unsigned varint of length + 1 in flexible versions; at most 32,767 bytes of UTF-8."""

    name: str = "string"


@dataclass(frozen=True, slots=True)
class Blob(Generic[T]):
    """Bytes: int32 length, or unsigned varint of length + 1 in flexible versions."""

    name: str = "bytes"


@dataclass(frozen=True, slots=True)
class RecordSet:
    """Record batches, framed like bytes; neither copied nor parsed here."""

    name: str = "records"


@dataclass(frozen=True, slots=True)
class Nested:
    """A struct inside another."""

    struct: "type[Struct]"

    @property
    def name(self) -> str:
        return self.struct.__name__


@dataclass(frozen=True, slots=True)
class Array:
    """Elements one after the other: int32 count, or unsigned varint of count + 1 in flexible versions."""

    element: "Fixed[Any] | Text[Any] | Blob[Any] | Nested"

    @property
    def name(self) -> str:
        return f"[]{self.element.name}"


WireType = Fixed[Any] | Text[Any] | Blob[Any] | RecordSet | Nested | Array


@dataclass(frozen=True, slots=True)
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
        """Whether lengths are varints: the message's answer unless the field overrides it."""
        return message_is_flexible if self.flexible is None else version in self.flexible


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """What a whole message has beside its fields; ``api_key`` is None for what is no request or response."""

    name: str
    api_key: int | None
    versions: VersionRange
    flexible: VersionRange
