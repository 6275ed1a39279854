"""Functions on columns that decode Avro and Protobuf.

Each returns a struct of `value`, with a column for each field, and `error`, a sentence that says why the value can't be
decoded. Both are null for a null, which is a tombstone. So a bad record does not fail a query, unless `mode` is FAIL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import StringType, StructField, StructType

from .bad_values import KEEP, checked
from .nullable_types import nullable
from .registry import SchemaRegistry
from .schema_text import SchemaError, SchemaText
from .wire_format import DecodeError

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["decode_avro", "decode_protobuf", "decode_with"]


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


def decode_with(decoder: Decoder, column: Column | str, *, mode: str = KEEP) -> Column:
    """Decodes by a decoder of this package."""
    result = StructType([StructField("value", nullable(decoder.type)), StructField("error", StringType())])
    keeps = checked(mode) == KEEP
    try:
        from pyspark.sql.functions import arrow_udf
    except ImportError:  # before PySpark 4.1
        return F.udf(_row_function(decoder, keeps), result, useArrow=False)(column)
    return arrow_udf(_arrow_function(decoder, keeps), result)(column)


def _row_function(decoder: Decoder, keeps: bool) -> Callable[[Any], Any]:
    def decode(data: Any) -> tuple[dict[str, Any] | None, str | None]:
        # Arrow also checks the ranges of the columns here: without it Spark would cut numbers off.
        values, (found,), errors = _decoded(decoder, [None if data is None else bytes(data)], keeps)
        return (found if values[0].is_valid else None), errors[0]

    return decode


def _arrow_function(decoder: Decoder, keeps: bool) -> Callable[[Any], Any]:
    import pyarrow as pa

    def decode(data: Any) -> Any:
        values, _, errors = _decoded(decoder, data.to_pylist(), keeps)
        return pa.StructArray.from_arrays([values, pa.array(errors, pa.string())], ["value", "error"])

    decode.__annotations__ = {"data": pa.Array, "return": pa.Array}  # by these Spark knows a function of arrays
    return decode


def _decoded(decoder: Decoder, values: list[bytes | None], keeps: bool) -> tuple[Any, list[Any], list[str | None]]:
    """Returns the decoded values as an Arrow array and as a list, and the errors. Raises DecodeError if not `keeps`."""
    from .arrow_values import arrow_type, to_arrow, to_pairs

    found: list[Any] = []
    errors: list[str | None] = []
    for value in values:
        try:
            found.append(None if value is None else decoder.decode(value))
            errors.append(None)
        except DecodeError as error:
            found.append(None)
            errors.append(str(error))
    pairs = to_pairs(decoder.type) or (lambda value: value)
    rows = to_arrow([pairs(value) for value in found], arrow_type(decoder.type), errors)
    if not keeps and (first := next(filter(None, errors), None)) is not None:
        raise DecodeError(first)
    return rows, found, errors


def _newest(registry: SchemaRegistry | None, subject: str | None, kind: str) -> SchemaText:
    if registry is None or subject is None:
        raise SchemaError("there is no schema: give one, or a schema registry and a subject")
    return registry.newest(subject, kind)
