"""Avro schemas: parsing by fastavro, and the Spark type of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import fastavro
from pyspark.sql import types as T  # noqa: N812 (as everybody calls it)

from .avro_shape import contains_itself
from .schema_text import SchemaError, SchemaText

__all__ = ["ParsedAvro", "avro_type", "parsed_avro"]

_MOST_DIGITS = 38
_PRIMITIVE: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "bytes": T.BinaryType(),
    "string": T.StringType(),
}
_LOGICAL: dict[tuple[str, str], T.DataType] = {
    ("int", "date"): T.DateType(),
    ("long", "timestamp-millis"): T.TimestampType(),
    ("long", "timestamp-micros"): T.TimestampType(),
    ("long", "local-timestamp-millis"): T.TimestampNTZType(),
    ("long", "local-timestamp-micros"): T.TimestampNTZType(),
}
"""Other logical types than these and decimals become the type below them: a time of day is a number, a UUID a text."""
_WIDER = {frozenset(("int", "long")): "long", frozenset(("float", "double")): "double"}
_NAMED = ("record", "error", "enum", "fixed")


class ParsedAvro(NamedTuple):
    """A schema as fastavro's readers take it. `is_recursive`: one of its records contains itself."""

    schema: Any
    is_recursive: bool


def parsed_avro(schema: SchemaText) -> ParsedAvro:
    """Parses a schema, without the logical types that Spark lacks. Raises SchemaError."""
    named: dict[str, Any] = {}
    try:
        for _, text in schema.references:
            fastavro.parse_schema(_plain(_loaded(text)), named_schemas=named)
        parsed = fastavro.parse_schema(_plain(_loaded(schema.text)), named_schemas=named)
        return ParsedAvro(parsed, contains_itself(parsed, named))
    except SchemaError:
        raise
    except Exception as error:  # fastavro has no common class of errors
        raise SchemaError(f"the Avro schema is invalid: {type(error).__name__}: {error}") from None


def avro_type(schema: ParsedAvro) -> T.StructType:
    """Returns the Spark type of a parsed schema, whose top must be a record. Raises SchemaError."""
    parsed = schema.schema
    if not isinstance(parsed, Mapping) or parsed.get("type") not in ("record", "error"):
        raise SchemaError("the Avro schema must be a record, so that its fields can become columns")
    found, _ = _type_of(parsed, {**parsed.get("__named_schemas", {})}, "the value", ())
    assert isinstance(found, T.StructType)
    return found


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaError(f"the Avro schema is not JSON: {error}") from None


def _plain(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: each for key, each in schema.items() if key != "logicalType" or _is_kept(schema)}
    for key in ("type", "items", "values"):
        if key in kept:
            kept[key] = _plain(kept[key])
    if isinstance(kept.get("fields"), list):
        kept["fields"] = [_plain(field) for field in kept["fields"]]
    return kept


def _is_kept(schema: dict[str, Any]) -> bool:
    of, logical = schema.get("type"), schema.get("logicalType")
    return (of, logical) in _LOGICAL or (logical == "decimal" and of in ("bytes", "fixed"))


def _type_of(schema: Any, named: dict[str, Any], at: str, inside: tuple[str, ...]) -> tuple[T.DataType, bool]:
    """Returns the type, and whether it can be null. `inside`: names of the records around it."""
    if isinstance(schema, list):
        return _union(schema, named, at, inside)
    if isinstance(schema, str):
        if schema in _PRIMITIVE:
            return _PRIMITIVE[schema], False
        if schema not in named:
            raise SchemaError(f"{at} has the Avro type {schema}, which has no Spark type")
        schema = named[schema]
    kind = schema["type"]
    if isinstance(kind, list | dict):
        return _type_of(kind, named, at, inside)
    if kind in _NAMED:
        named[schema["name"]] = schema
    if schema.get("logicalType") == "decimal":
        return _decimal(schema, at), False
    if (kind, schema.get("logicalType")) in _LOGICAL:
        return _LOGICAL[kind, schema["logicalType"]], False
    match kind:
        case "record" | "error":
            return _record(schema, named, at, inside), False
        case "array":
            element, nullable = _type_of(schema["items"], named, f"an element of {at}", inside)
            return T.ArrayType(element, nullable), False
        case "map":
            content, nullable = _type_of(schema["values"], named, f"an entry of {at}", inside)
            return T.MapType(T.StringType(), content, nullable), False
        case "enum":
            return T.StringType(), False
        case "fixed":
            return T.BinaryType(), False
    return _type_of(kind, named, at, inside)


def _record(schema: Any, named: dict[str, Any], at: str, inside: tuple[str, ...]) -> T.StructType:
    name = schema["name"]
    if name in inside:
        raise SchemaError(f"{at} has the Avro type {name}, which contains itself: Spark has no recursive types")
    if not schema["fields"]:
        raise SchemaError(f"{at} has the Avro type {name}, which has no fields")
    prefix = "" if at == "the value" else f"{at}."
    fields = []
    for field in schema["fields"]:
        of, nullable = _type_of(field["type"], named, f"{prefix}{field['name']}", (*inside, name))
        fields.append(T.StructField(field["name"], of, nullable))
    return T.StructType(fields)


def _union(branches: list[Any], named: dict[str, Any], at: str, inside: tuple[str, ...]) -> tuple[T.DataType, bool]:
    others = [each for each in branches if each != "null"]
    nullable = len(others) < len(branches)
    if len(others) == 1:
        return _type_of(others[0], named, at, inside)[0], nullable
    wider = _WIDER.get(frozenset(others)) if all(isinstance(each, str) for each in others) else None
    if wider is None:
        raise SchemaError(
            f"{at} is a union of several types; only null and one type, or two sizes of number, can be read"
        )
    return _PRIMITIVE[wider], nullable


def _decimal(schema: Any, at: str) -> T.DecimalType:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not 0 < precision <= _MOST_DIGITS or not 0 <= scale <= precision:
        raise SchemaError(
            f"{at} is a decimal of {precision} digits, {scale} of them decimals; Spark has up to 38 digits"
        )
    return T.DecimalType(precision, scale)
