"""Functions on columns that decode JSON, by Spark's own `from_json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from .bad_values import KEEP, checked
from .schema_text import SchemaError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["decode_json", "infer_json_schema"]

_BROKEN = "_broken"
_NO_JSON = "the value is not JSON with these columns"
_NO_SCHEMA_ID = "the value does not begin with 0 and a schema id"
_SAMPLE = 1000
_END = "the end of the value"
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
    with_broken = StructType([*of.fields, StructField(_BROKEN, StringType())])
    parsed = F.from_json(text.cast("string"), with_broken, {"columnNameOfCorruptRecord": _BROKEN, **_STRICT})
    fields = F.struct(*(parsed.getField(field.name).alias(field.name) for field in of.fields))
    is_broken = parsed.isNull() | parsed.getField(_BROKEN).isNotNull() | ~_is_one_value(text)
    error = F.when(data.isNotNull() & ~is_framed, _NO_SCHEMA_ID).when(data.isNotNull() & is_broken, _NO_JSON)
    found = F.struct(F.when(data.isNotNull() & error.isNull(), fields).alias("value"), error.alias("error"))
    if checked(mode) == KEEP:
        return found
    return F.when(error.isNotNull(), F.raise_error(error)).otherwise(found)


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
    sample = spark.sparkContext.parallelize([row[0] for row in rows], 1)
    found = spark.read.options(columnNameOfCorruptRecord=_BROKEN, **_STRICT).json(sample).schema
    fields = [field for field in found.fields if field.name != _BROKEN]
    if not fields:
        raise SchemaError(f"no JSON object is among the first {len(rows)} values, so their columns are unknown")
    return StructType(fields)
