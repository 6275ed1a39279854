"""Builds Arrow arrays of decoded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 (as everybody calls it)

__all__ = ["arrow_type", "to_arrow", "to_pairs"]

_TYPES: dict[type[T.DataType], Any] = {
    T.BooleanType: pa.bool_(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", tz="UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
}
_Convert = Callable[[Any], Any]

TOO_LARGE = "a field has a value that its column can't hold"


def arrow_type(of: T.DataType) -> Any:
    """Returns the Arrow type of a Spark type that a decoder produces."""
    match of:
        case T.StructType():
            return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in of.fields])
        case T.ArrayType():
            return pa.list_(arrow_type(of.elementType))
        case T.MapType():
            return pa.map_(arrow_type(of.keyType), arrow_type(of.valueType))
        case T.DecimalType():
            return pa.decimal128(of.precision, of.scale)
    return _TYPES[type(of)]


def to_pairs(of: T.DataType) -> _Convert | None:
    """Returns a function that turns the dicts of maps inside a value into lists of pairs, as Arrow takes them; None if
    the type has no maps.
    """
    match of:
        case T.StructType():
            return _struct({field.name: to_pairs(field.dataType) for field in of.fields})
        case T.ArrayType():
            each = to_pairs(of.elementType)
            return each and (lambda found: found if found is None else [each(value) for value in found])
        case T.MapType():
            content = to_pairs(of.valueType) or (lambda found: found)
            return lambda found: found if found is None else [(key, content(value)) for key, value in found.items()]
    return None


def to_arrow(rows: Sequence[Any], of: Any, errors: list[str | None]) -> Any:
    """Returns the rows as an Arrow array. A row that the type can't hold becomes null, with its error in `errors`."""
    try:
        return pa.array(rows, of)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    kept: list[Any] = []
    for number, row in enumerate(rows):
        try:
            pa.array([row], of)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            errors[number] = TOO_LARGE
            row = None
        kept.append(row)
    return pa.array(kept, of)


def _struct(fields: dict[str, _Convert | None]) -> _Convert | None:
    converted = {name: convert for name, convert in fields.items() if convert is not None}
    if not converted:
        return None

    def convert(found: Any) -> Any:
        return found if found is None else found | {name: each(found[name]) for name, each in converted.items()}

    return convert
