"""Decodes the values of records in DataFrames: JSON, and Avro and Protobuf in the wire format of schema registries.

    from pybroker.pipeline.values import SchemaRegistry, decode_avro
    registry = SchemaRegistry("http://localhost:8081")
    rows.select(decode_avro("value", registry=registry, subject="events-value").alias("decoded"))

Needs `pip install pybroker[spark,avro,protobuf]`; Spark needs no jar.
"""

from .bad_values import FAIL, KEEP
from .json_columns import decode_json, infer_json_schema
from .registry import RegistryError, SchemaRegistry, UnknownSchemaError
from .schema_text import SchemaError, SchemaText
from .value_columns import decode_avro, decode_protobuf
from .wire_format import DecodeError

__all__ = [
    "FAIL",
    "KEEP",
    "DecodeError",
    "RegistryError",
    "SchemaError",
    "SchemaRegistry",
    "SchemaText",
    "UnknownSchemaError",
    "decode_avro",
    "decode_json",
    "decode_protobuf",
    "infer_json_schema",
]
