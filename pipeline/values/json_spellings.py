"""Fields of JSON whose names differ only by case become one column of an inferred schema.

**Why**: by default Spark ignores the case of column names, but `from_json` finds only names that match exactly. So a
schema with both names is ambiguous, and one with a single name loses the values of the other.

**How**: the column has the first name and lists all of them in its metadata. A decoder parses a field for each and
takes the one that is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = [
    "CASE_SENSITIVE",
    "folded",
    "gathered",
    "has_two_spellings",
    "is_case_sensitive",
    "merged",
    "numbered",
    "repeats_names",
    "spelled_out",
]

CASE_SENSITIVE = "spark.sql.caseSensitive"
_SPELLINGS = "spellings"
_DIGITS_OF_LONG = 20
_NUMBERS = (LongType, DecimalType, DoubleType)


def is_case_sensitive(spark: SparkSession) -> bool:
    """Tells whether the session distinguishes names that differ only by case; by default it does not."""
    return str(spark.conf.get(CASE_SENSITIVE)).lower() == "true"


def folded(name: str) -> str:
    """Returns the same text for all names that Spark takes for equal when it ignores case."""
    return name.upper().lower()


def merged(fields: Iterable[StructField], *, case_sensitive: bool) -> StructType:
    """Returns a schema in which no two fields have the same name. A field stands for all that had its name, in a type
    that has room for them.
    """
    groups: dict[str, list[StructField]] = {}
    for field in fields:
        groups.setdefault(field.name if case_sensitive else folded(field.name), []).append(field)
    return StructType([_one(group, case_sensitive) for group in groups.values()])


def _one(group: list[StructField], case_sensitive: bool) -> StructField:
    names = sorted({field.name for field in group})
    of = reduce(lambda one, other: _wider(one, other, case_sensitive), (field.dataType for field in group))
    return StructField(names[0], _inside(of, case_sensitive), True, {_SPELLINGS: names} if len(names) > 1 else None)


def _inside(of: DataType, case_sensitive: bool) -> DataType:
    match of:
        case StructType():
            return merged(of.fields, case_sensitive=case_sensitive)
        case ArrayType():
            return ArrayType(_inside(of.elementType, case_sensitive))
    return of


def _wider(one: DataType, other: DataType, case_sensitive: bool) -> DataType:
    """Returns a type for the values of both, by the rules with which Spark infers a schema."""
    match one, other:
        case _ if one == other:
            return one
        case StructType(), StructType():
            return StructType([*one.fields, *other.fields])
        case ArrayType(), ArrayType():
            return ArrayType(_wider(one.elementType, other.elementType, case_sensitive))
        case _ if not (isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS)):
            return StringType()
        case (DoubleType(), _) | (_, DoubleType()):
            return DoubleType()
    return DecimalType(
        max(each.precision if isinstance(each, DecimalType) else _DIGITS_OF_LONG for each in (one, other))
    )


def repeats_names(of: DataType) -> bool:
    """Tells whether Spark could not address each field by its name, or a field has several spellings."""
    match of:
        case StructType():
            names = {folded(field.name) for field in of.fields}
            spelled = any(len(_spellings(field)) > 1 or repeats_names(field.dataType) for field in of.fields)
            return spelled or len(names) < len(of.fields)
        case ArrayType():
            return repeats_names(of.elementType)
    return False


def spelled_out(of: DataType) -> DataType:
    """Returns the type with a field for each spelling: what `from_json` parses."""
    match of:
        case StructType():
            each = [(name, spelled_out(field.dataType)) for field in of.fields for name in _spellings(field)]
            return StructType([StructField(name, inner) for name, inner in each])
        case ArrayType():
            return ArrayType(spelled_out(of.elementType))
    return of


def numbered(of: DataType) -> DataType:
    """Returns the type with numbers for names: Spark casts to it by position, whatever the names were."""
    match of:
        case StructType():
            return StructType([StructField(str(at), numbered(field.dataType)) for at, field in enumerate(of.fields)])
        case ArrayType():
            return ArrayType(numbered(of.elementType))
    return of


def gathered(column: Column, of: DataType) -> Column:
    """Returns values of the type `of`. `column` has the type `numbered(spelled_out(of))`."""
    match of:
        case StructType():
            groups = _groups(column, of)
            fields = [
                F.coalesce(*(gathered(each, field.dataType) for each in group)).alias(field.name)
                for field, group in groups
            ]
            return F.when(column.isNotNull(), F.struct(*fields))
        case ArrayType() if repeats_names(of):
            return F.transform(column, lambda element: gathered(element, of.elementType))
    return column


def has_two_spellings(column: Column, of: DataType) -> Column:
    """Returns whether an object has values for two spellings of a field. Arguments as for `gathered`."""
    found = F.lit(False)
    match of:
        case StructType():
            for field, group in _groups(column, of):
                if len(group) > 1:
                    there = reduce(lambda one, other: one + other, (each.isNotNull().cast("int") for each in group))
                    found = found | (there > F.lit(1))
                for each in group:
                    found = found | has_two_spellings(each, field.dataType)
        case ArrayType() if repeats_names(of):
            return F.coalesce(F.exists(column, lambda element: has_two_spellings(element, of.elementType)), found)
    return found


def _groups(column: Column, of: StructType) -> list[tuple[StructField, list[Column]]]:
    """Returns each field with the parts of `column` that hold its spellings."""
    at = count()
    return [(field, [column.getField(str(next(at))) for _ in _spellings(field)]) for field in of.fields]


def _spellings(field: StructField) -> list[str]:
    return list((field.metadata or {}).get(_SPELLINGS, [field.name]))
