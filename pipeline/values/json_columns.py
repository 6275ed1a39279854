"""Functions on columns that decode JSON, by Spark's own `from_json`."""

from __future__ import annotations

import uuid
from itertools import accumulate, repeat
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from .bad_values import KEEP, checked
from .json_spellings import (
    CASE_SENSITIVE,
    folded,
    gathered,
    has_two_spellings,
    is_case_sensitive,
    merged,
    numbered,
    repeats_names,
    spelled_out,
)
from .schema_text import SchemaError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["decode_json", "infer_json_schema"]

_BROKEN = "_broken"
_NO_JSON = "the value is not JSON with these columns"
_NO_SCHEMA_ID = "the value does not begin with 0 and a schema id"
_TWO_SPELLINGS = "the value has two fields for one column, whose names differ only by case"
_SAMPLE = 1000
_END = str(uuid.uuid4())
"""No value contains it, so that none can end the array of `_is_one_value` before its end."""
_STRICT = {"allowSingleQuotes": "false"}


def decode_json(column: Column | str, schema: StructType | str, *, framed: bool = False, mode: str = KEEP) -> Column:
    """Decodes JSON by Spark's `from_json`. `schema`: the fields to return, also as DDL. `framed`: a schema id stands
    before the JSON and is skipped.
    """
    of = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    data = F.col(column) if isinstance(column, str) else column
    text, is_framed = data, F.lit(True)
    if framed:
        text, is_framed = F.substring(data, 6, 1 << 30), F.substring(data, 1, 1) == F.lit(bytearray(1))
    fields, is_parsed, is_ambiguous = _parsed(text.cast("string"), of)
    error = F.when(data.isNotNull() & ~is_framed, _NO_SCHEMA_ID)
    error = error.when(data.isNotNull() & ~(is_parsed & _is_one_value(text)), _NO_JSON)
    if is_ambiguous is not None:
        error = error.when(is_ambiguous, _TWO_SPELLINGS)
    found = F.struct(F.when(data.isNotNull() & error.isNull(), fields).alias("value"), error.alias("error"))
    if checked(mode) == KEEP:
        return found
    return F.when(error.isNotNull(), F.raise_error(error)).otherwise(found)


def _parsed(text: Column, of: StructType) -> tuple[Column, Column, Column | None]:
    """Returns the fields, whether the text has them, and whether it has two for one column; None if it can't."""
    wide = spelled_out(of)
    broken = _free_name(wide.names)
    with_broken = StructType([*wide.fields, StructField(broken, StringType())])
    parsed = F.from_json(text, with_broken, {"columnNameOfCorruptRecord": broken, **_STRICT})
    is_parsed = parsed.isNotNull() & parsed.getField(broken).isNull()
    if not repeats_names(of):
        return F.struct(*(parsed.getField(name).alias(name) for name in of.names)), is_parsed, None
    parsed = parsed.cast(numbered(with_broken))
    return gathered(parsed, of), is_parsed, has_two_spellings(parsed, of)


def _free_name(names: list[str]) -> str:
    """Returns a name for the column of broken values that is not among these."""
    taken = set(map(folded, names))
    return next(name for name in accumulate(repeat("_"), initial=_BROKEN) if name not in taken)


def _is_one_value(text: Column) -> Column:
    """Whether nothing stands behind the JSON value, where `from_json` stops, and all bytes are UTF-8.

    As the first of two elements of an array, a value with something behind it breaks the array.
    """
    array = F.concat(F.lit("["), text.cast("string"), F.lit(f',"{_END}"]'))
    elements = F.from_json(array, ArrayType(StringType()), _STRICT)
    is_whole = (F.size(elements) == F.lit(2)) & (F.get(elements, F.lit(1)) == F.lit(_END))
    return F.is_valid_utf8(text.cast("string")) & F.coalesce(is_whole, F.lit(False))


def infer_json_schema(spark: SparkSession, values: DataFrame, records: int = _SAMPLE) -> StructType:
    """Returns the columns that fit a sample: the first `records` rows of a frame with one column of JSON, as binary or
    string. Raises SchemaError if no row of the sample is a JSON object.
    """
    name = values.columns[0]
    rows = values.where(F.col(name).isNotNull()).select(F.col(name).cast("string")).limit(records).collect()
    exact = spark.newSession()  # else Spark keeps one of the names that differ only by case
    exact.conf.set(CASE_SENSITIVE, "true")
    broken = f"{_BROKEN}_{uuid.uuid4()}"  # no field of a value has this name
    context = getattr(exact, "sparkContext", None)  # a client of Spark Connect has none
    texts = [row[0] for row in rows]
    sample = exact.createDataFrame(rows, "value string") if context is None else context.parallelize(texts, 1)
    found = exact.read.options(columnNameOfCorruptRecord=broken, **_STRICT).json(sample).schema
    fields = [field for field in found.fields if field.name != broken]
    if not fields:
        raise SchemaError(f"no JSON object is among the first {len(rows)} values, so their columns are unknown")
    return merged(fields, case_sensitive=is_case_sensitive(spark))
