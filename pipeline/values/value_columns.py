"""Functions on columns that decode the values of records: JSON, Avro and Protobuf.

Each returns a struct of `value`, with a column for each field, and `error`, a sentence that says why the value can't be
decoded. Both are null for a null, which is a tombstone. So a bad record does not fail a query, unless `mode` is FAIL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from .registry import SchemaRegistry
from .schema_text import SchemaError, SchemaText
from .wire_format import DecodeError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = [
    "FAIL",
    "KEEP",
    "decode_avro",
    "decode_json",
    "decode_protobuf",
    "decode_with",
    "infer_json_schema",
    "nullable",
]

KEEP, FAIL = "keep", "fail"
_MODES = (KEEP, FAIL)
_BROKEN = "_broken"
_NO_JSON = "the value is not JSON with these columns"
_NO_SCHEMA_ID = "the value does not begin with 0 and a schema id"
_SAMPLE = 1000


class Decoder(Protocol):
    """Decodes one value. Spark copies it to its workers."""

    type: StructType

    def decode(self, data: bytes) -> dict[str, Any]:
        """Returns the fields by name. Raises DecodeError."""


def decode_avro(
    column: Column | str,
    schema: SchemaText | str | None = None,
    *,
    registry: SchemaRegistry | None = None,
    subject: str | None = None,
    framed: bool = False,
    mode: str = KEEP,
) -> Column:
    """Decodes Avro. `schema`: the fields to return, as the text of an Avro schema; by default the newest schema of
    `subject` in the registry. `registry`, `framed`: as for AvroDecoder.

    Raises SchemaError and RegistryError.
    """
    from .avro_decoder import KIND, AvroDecoder  # needs the extra `avro`

    reader = SchemaText(schema) if isinstance(schema, str) else schema
    if reader is None:
        reader = _newest(registry, subject, KIND)
    return decode_with(AvroDecoder(reader, registry, framed=framed), column, mode=mode)


def decode_protobuf(
    column: Column | str,
    schema: SchemaText | str | bytes | None = None,
    message: str | None = None,
    *,
    registry: SchemaRegistry | None = None,
    subject: str | None = None,
    framed: bool = False,
    mode: str = KEEP,
) -> Column:
    """Decodes Protobuf. `schema`: the text of a .proto file, or the content of a compiled one; by default the newest
    schema of `subject` in the registry. `message`: full name; by default the first message of the file. `registry`,
    `framed`: as for ProtobufDecoder.

    Raises SchemaError and RegistryError.
    """
    from .protobuf_compiler import compiled_source  # needs the extra `protobuf`
    from .protobuf_decoder import KIND, ProtobufDecoder

    if schema is None:
        schema = _newest(registry, subject, KIND)
    if isinstance(schema, str):
        schema = SchemaText(schema)
    descriptors = compiled_source(schema) if isinstance(schema, SchemaText) else schema
    return decode_with(ProtobufDecoder(descriptors, message, registry, framed=framed), column, mode=mode)


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
    parsed = F.from_json(text.cast("string"), with_broken, {"columnNameOfCorruptRecord": _BROKEN})
    fields = F.struct(*(parsed.getField(field.name).alias(field.name) for field in of.fields))
    is_broken = parsed.isNull() | parsed.getField(_BROKEN).isNotNull()
    error = F.when(data.isNotNull() & ~is_framed, _NO_SCHEMA_ID).when(data.isNotNull() & is_broken, _NO_JSON)
    found = F.struct(F.when(data.isNotNull() & error.isNull(), fields).alias("value"), error.alias("error"))
    if _checked(mode) == KEEP:
        return found
    return F.when(error.isNotNull(), F.raise_error(error)).otherwise(found)


def infer_json_schema(spark: SparkSession, values: DataFrame, records: int = _SAMPLE) -> StructType:
    """Returns the columns that fit a sample: the first `records` rows of a frame with one column of JSON, as binary or
    string. Raises SchemaError if no row of the sample is a JSON object.
    """
    name = values.columns[0]
    rows = values.where(F.col(name).isNotNull()).select(F.col(name).cast("string")).limit(records).collect()
    sample = spark.sparkContext.parallelize([row[0] for row in rows], 1)
    found = spark.read.option("columnNameOfCorruptRecord", _BROKEN).json(sample).schema
    fields = [field for field in found.fields if field.name != _BROKEN]
    if not fields:
        raise SchemaError(f"no JSON object is among the first {len(rows)} values, so their columns are unknown")
    return StructType(fields)


def decode_with(decoder: Decoder, column: Column | str, *, mode: str = KEEP) -> Column:
    """Decodes by a decoder of this package."""
    result = StructType([StructField("value", nullable(decoder.type)), StructField("error", StringType())])
    keeps = _checked(mode) == KEEP
    try:
        from pyspark.sql.functions import arrow_udf
    except ImportError:  # before PySpark 4.1
        return F.udf(_row_function(decoder, keeps), result, useArrow=False)(column)
    return arrow_udf(_arrow_function(decoder, keeps), result)(column)


def _row_function(decoder: Decoder, keeps: bool) -> Callable[[Any], Any]:
    def decode(data: Any) -> tuple[dict[str, Any] | None, str | None]:
        return _decoded(decoder, None if data is None else bytes(data), keeps)

    return decode


def _arrow_function(decoder: Decoder, keeps: bool) -> Callable[[Any], Any]:
    import pyarrow as pa

    from .arrow_values import arrow_type, to_arrow, to_pairs

    def decode(data: Any) -> Any:
        found = [_decoded(decoder, value, keeps) for value in data.to_pylist()]
        errors = [error for _, error in found]
        pairs = to_pairs(decoder.type) or (lambda value: value)
        values = to_arrow([pairs(value) for value, _ in found], arrow_type(decoder.type), errors)
        if not keeps and (first := next(filter(None, errors), None)) is not None:
            raise DecodeError(first)
        return pa.StructArray.from_arrays([values, pa.array(errors, pa.string())], ["value", "error"])

    decode.__annotations__ = {"data": pa.Array, "return": pa.Array}  # by these Spark knows a function of arrays
    return decode


def _decoded(decoder: Decoder, data: bytes | None, keeps: bool) -> tuple[dict[str, Any] | None, str | None]:
    if data is None:
        return None, None
    try:
        return decoder.decode(data), None
    except DecodeError as error:
        if not keeps:
            raise
        return None, str(error)


def nullable(of: Any) -> Any:
    """Returns a Spark type all of whose parts may be null, so that a later schema can leave a field out."""
    match of:
        case StructType():
            return StructType([StructField(each.name, nullable(each.dataType), True) for each in of.fields])
        case ArrayType():
            return ArrayType(nullable(of.elementType), True)
        case MapType():
            return MapType(of.keyType, nullable(of.valueType), True)
    return of


def _newest(registry: SchemaRegistry | None, subject: str | None, kind: str) -> SchemaText:
    if registry is None or subject is None:
        raise SchemaError("there is no schema: give one, or a schema registry and a subject")
    return registry.newest(subject, kind)


def _checked(mode: str) -> str:
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode}")
    return mode
