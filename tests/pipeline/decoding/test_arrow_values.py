"""Tests of building Arrow arrays of decoded values."""

from decimal import Decimal

from pybroker.pipeline.values.arrow_values import TOO_LARGE, arrow_type, to_arrow, to_pairs
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)

INT, TEXT = IntegerType(), StringType()


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, of) for name, of in fields.items()])


def test_maps_at_any_depth_become_arrow_maps() -> None:
    of = struct(a=MapType(TEXT, MapType(INT, INT)), b=ArrayType(struct(m=MapType(TEXT, TEXT))), c=INT)
    rows = [
        {"a": {"x": {1: 2}, "y": None}, "b": [{"m": {"k": None}}, None], "c": 5},
        None,
        {"a": None, "b": None, "c": 6},
    ]
    convert = to_pairs(of)
    assert convert is not None
    errors: list[str | None] = [None] * 3
    found = to_arrow([convert(row) for row in rows], arrow_type(of), errors)
    assert errors == [None] * 3
    assert found.to_pylist() == [
        {"a": [("x", [(1, 2)]), ("y", None)], "b": [{"m": [("k", None)]}, None], "c": 5},
        None,
        {"a": None, "b": None, "c": 6},
    ]


def test_type_without_maps_needs_no_conversion() -> None:
    assert to_pairs(struct(a=INT, b=ArrayType(struct(c=TEXT)))) is None


def test_row_that_a_column_cannot_hold_becomes_null_with_an_error() -> None:
    of = struct(a=INT, d=DecimalType(3, 1))
    rows = [{"a": 1, "d": Decimal("9.5")}, {"a": 1 << 40, "d": None}, {"a": 2, "d": Decimal("1000.5")}, None]
    errors: list[str | None] = [None, None, None, "earlier"]
    assert to_arrow(rows, arrow_type(of), errors).to_pylist() == [rows[0], None, None, None]
    assert errors == [None, TOO_LARGE, TOO_LARGE, "earlier"]
