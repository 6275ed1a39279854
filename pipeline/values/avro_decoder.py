"""Decodes Avro values, with the schema that each was written with, into the fields of one fixed schema."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
import fastavro._read_py

from .avro_types import ParsedAvro, avro_type, parsed_avro
from .registry import SchemaRegistry
from .schema_text import SchemaError, SchemaText
from .wire_format import DecodeError, split_schema_id

__all__ = ["AvroDecoder"]

KIND = "AVRO"


class AvroDecoder:
    """Decodes values to dicts; Spark copies it to its workers.

    With a registry the value begins with the id of the schema that it was written with. Fields are matched by Avro's
    rules of schema resolution, so the schemas may differ.
    """

    def __init__(self, reader: SchemaText, registry: SchemaRegistry | None = None, *, framed: bool = False) -> None:
        """`framed` without a registry: the schema id before each value is skipped. Raises SchemaError."""
        self._reader = reader
        self._registry = registry
        self._framed = framed or registry is not None
        self._parsed: ParsedAvro | None = None
        self._writers: dict[int, ParsedAvro] = {}
        self.type = avro_type(parsed_avro(reader))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parsed": None, "_writers": {}}

    def decode(self, data: bytes) -> dict[str, Any]:
        """Returns the fields by name. Raises DecodeError, and RegistryError if the registry can't be asked."""
        if self._parsed is None:
            self._parsed = parsed_avro(self._reader)
        writer = self._parsed
        if self._framed:
            schema_id, data = split_schema_id(data)
            if self._registry is not None:
                writer = self._writer(self._registry, schema_id)
        stream = BytesIO(data)
        try:
            found = _reading(writer)(stream, writer.schema, self._parsed.schema)
        except Exception as error:  # fastavro has no common class of errors
            raise DecodeError(f"the value can't be decoded as Avro: {_said(error)}") from None
        if left := len(data) - stream.tell():
            raise DecodeError(f"the value has {left} bytes after its last field")
        if not isinstance(found, dict):
            raise DecodeError("the value is no record")
        return found

    def _writer(self, registry: SchemaRegistry, schema_id: int) -> ParsedAvro:
        if schema_id not in self._writers:
            try:
                self._writers[schema_id] = parsed_avro(registry.schema(schema_id, KIND))
            except SchemaError as error:
                raise DecodeError(f"schema {schema_id} can't be used: {error}") from None
        return self._writers[schema_id]


def _reading(writer: ParsedAvro) -> Any:
    """Returns the function that reads a value. fastavro's fast one overflows the stack of the process when a value is
    nested deeply, which only a recursive schema allows; its slow one raises RecursionError.
    """
    return fastavro._read_py.schemaless_reader if writer.is_recursive else fastavro.schemaless_reader


def _said(error: Exception) -> str:
    """Returns the kind of an error alone, because its text may contain the value."""
    kind = type(error).__name__
    known = {
        "EOFError": "it ends early",
        "SchemaResolutionError": "its schema does not fit the columns",
        "RecursionError": "it is nested too deeply",
    }
    return known.get(kind, f"it is damaged, or was written with another schema ({kind})")
