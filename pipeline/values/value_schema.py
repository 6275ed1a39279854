"""The schema by which all values of a table are decoded. It can be stored, and replaced by one with more columns."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T  # noqa: N812 (as everybody calls it)

from .json_columns import decode_json
from .json_spellings import CASE_SENSITIVE, folded
from .nullable_types import nullable
from .registry import SchemaRegistry
from .schema_text import SchemaError, SchemaText
from .value_columns import decode_with

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = [
    "AVRO",
    "JSON",
    "PROTOBUF",
    "ValueSchema",
    "avro_schema",
    "check_names",
    "json_schema",
    "protobuf_schema",
]

JSON, AVRO, PROTOBUF = "json", "avro", "protobuf"


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """A format, its columns and what its decoder needs. `framed`: a schema id stands before each value."""

    format: str
    columns: T.StructType
    framed: bool
    content: dict[str, Any]

    def decode(self, column: str, registry: SchemaRegistry | None) -> Column:
        """Returns the struct of `value` and `error`. Raises SchemaError."""
        if self.format == JSON:
            return decode_json(column, self.columns, framed=self.framed)
        return decode_with(self._decoder(registry), column)

    def _decoder(self, registry: SchemaRegistry | None) -> Any:
        if self.format == AVRO:
            from .avro_decoder import AvroDecoder

            return AvroDecoder(SchemaText.from_json(self.content), registry, framed=self.framed)
        from .protobuf_decoder import ProtobufDecoder

        descriptors = b64decode(self.content["descriptors"])
        return ProtobufDecoder(descriptors, self.content["message"], registry, framed=self.framed)

    def to_json(self) -> dict[str, Any]:
        """Returns what `from_json` takes."""
        columns = self.columns.jsonValue()
        return {"format": self.format, "framed": self.framed, "columns": columns, "schema": self.content}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ValueSchema:
        """The inverse of `to_json`."""
        columns = T.StructType.fromJson(content["columns"])
        return cls(content["format"], columns, content["framed"], content["schema"])

    def check_that_it_follows(self, older: ValueSchema) -> None:
        """Raises SchemaError unless the columns are those of `older`, and perhaps more."""
        if self.format != older.format:
            raise SchemaError(f"the values of the table are {older.format}, not {self.format}")
        _check_that_it_holds(self.columns, older.columns, "")


def json_schema(columns: T.StructType, *, framed: bool) -> ValueSchema:
    """Returns the schema of JSON values with these columns."""
    return ValueSchema(JSON, nullable(columns), framed, {})


def avro_schema(text: SchemaText, *, framed: bool) -> ValueSchema:
    """Returns the schema of Avro values. Raises SchemaError."""
    from .avro_types import avro_type, parsed_avro

    return ValueSchema(AVRO, nullable(avro_type(parsed_avro(text))), framed, text.to_json())


def protobuf_schema(descriptors: bytes, message: str | None, *, framed: bool) -> ValueSchema:
    """Returns the schema of Protobuf values; arguments as for ProtobufDecoder. Raises SchemaError."""
    from .protobuf_decoder import ProtobufDecoder

    decoder = ProtobufDecoder(descriptors, message, framed=framed)
    content = {"descriptors": b64encode(descriptors).decode(), "message": decoder.message}
    return ValueSchema(PROTOBUF, nullable(decoder.type), framed, content)


def check_names(columns: T.StructType, *, case_sensitive: bool) -> None:
    """Raises SchemaError for columns that a session can't tell apart by their names: it would write no table."""
    _check_names(columns, str if case_sensitive else folded, "")


def _check_names(of: T.DataType, same: Callable[[str], str], at: str) -> None:
    match of:
        case T.StructType():
            names: dict[str, str] = {}
            for field in of.fields:
                if (other := names.get(same(field.name))) is not None:
                    raise SchemaError(
                        f"the names of the columns {at}{other} and {at}{field.name} differ at most by case: leave one "
                        f"out, or set {CASE_SENSITIVE} to true if they differ"
                    )
                names[same(field.name)] = field.name
                _check_names(field.dataType, same, f"{at}{field.name}.")
        case T.ArrayType():
            _check_names(of.elementType, same, at)
        case T.MapType():
            _check_names(of.valueType, same, at)


def _check_that_it_holds(new: T.DataType, old: T.DataType, at: str) -> None:
    match new, old:
        case T.StructType(), T.StructType():
            types = {field.name: field.dataType for field in new.fields}
            for field in old.fields:
                name = f"{at}{field.name}"
                if field.name not in types:
                    raise SchemaError(f"the table has the column {name}, which the new schema lacks")
                _check_that_it_holds(types[field.name], field.dataType, f"{name}.")
        case T.ArrayType(), T.ArrayType():
            _check_that_it_holds(new.elementType, old.elementType, at)
        case T.MapType(), T.MapType():
            _check_that_it_holds(new.keyType, old.keyType, at)
            _check_that_it_holds(new.valueType, old.valueType, at)
        case _ if new != old:
            column = at.rstrip(".")
            raise SchemaError(
                f"the column {column} is {old.simpleString()} in the table, but {new.simpleString()} in the new schema"
            )
