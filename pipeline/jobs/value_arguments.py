"""The arguments of `archive` that say how values are decoded."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...client.given_options import OptionError
from ...client.settings_file import settings_in
from .arguments import JobParser
from .command import BAD_INPUT, JobError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from ..archive.table_values import WantedValues
    from ..values.registry import SchemaRegistry
    from ..values.value_schema import ValueSchema

__all__ = ["add_value_arguments", "check_values", "wanted_values"]

_FORMATS = _JSON, _AVRO, _PROTOBUF = ("json", "avro", "protobuf")
_OF_LETTERS = ("dead_letters", "dead_letters_option")
_NEED_FORMAT = ("value_schema", "value_message", "schema_registry", "registry_config", "schema_ids", *_OF_LETTERS)
_USER, _CA = "basic.auth.user.info", "ssl.ca.location"
_SOURCE, _OF_USER = "basic.auth.credentials.source", "USER_INFO"
_PREFIX = "schema.registry."
"""Confluent's clients have the settings of a registry with this prefix among their own."""
_OF_SAMPLES = ("kafka.", "subscribe", "assign")
"""Options of the source, or their beginnings, that also apply to reading a sample."""


def add_value_arguments(parser: JobParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "--value-format",
        choices=_FORMATS,
        help="decode values into a column 'decoded'; records whose values can't be decoded go to the table "
        "dead-letters, with the reason in the column 'error'",
    )
    parser.add_argument(
        "--value-schema",
        metavar="SCHEMA",
        help="json: columns like 'id bigint, name string', or a file with them or with Spark's JSON form of a schema "
        "(default: inferred from the first 1,000 values); avro: a file; protobuf: a .proto or compiled file (default: "
        "the newest schema of TOPIC-value in the registry)",
    )
    parser.add_argument("--value-message", metavar="NAME", help="Protobuf message (default: the first of the file)")
    parser.add_argument(
        "--schema-registry",
        metavar="URL",
        help="registry with the schemas that values were written with; values begin with a schema id",
    )
    parser.add_argument(
        "--registry-config",
        metavar="FILE",
        type=Path,
        help=f"connection settings of the registry: {_USER}=USER:PASSWORD, {_CA}=FILE",
    )
    parser.add_argument(
        "--schema-ids", action="store_true", help="skip the schema id before each value, without a registry"
    )
    parser.add_argument(
        "--dead-letters",
        metavar="TOPIC",
        help="also send records whose values can't be decoded to this topic of the same cluster, once each for readers "
        "of committed records, with headers dead-letter.topic, .partition, .offset and .error",
    )
    parser.add_settings(
        "--dead-letters-option", "an option of the producer of dead letters, such as kafka.compression.type=zstd"
    )


def check_values(options: argparse.Namespace) -> None:
    """Raises JobError for arguments that contradict each other, before Spark starts."""
    given = [name for name in _NEED_FORMAT if getattr(options, name)]
    names = [f"--{name.replace('_', '-')}" for name in given]
    if options.value_format is None:
        if names:
            raise JobError(f"{names[0]} needs --value-format", BAD_INPUT)
        return
    if options.json_schema is not None:
        raise JobError("--json-schema can't be used with --value-format", BAD_INPUT)
    if options.value_message is not None and options.value_format != _PROTOBUF:
        raise JobError("--value-message needs --value-format protobuf", BAD_INPUT)
    if options.registry_config is not None and options.schema_registry is None:
        raise JobError("--registry-config needs --schema-registry", BAD_INPUT)
    if options.dead_letters_option and options.dead_letters is None:
        raise JobError("--dead-letters-option needs --dead-letters", BAD_INPUT)
    if options.value_format != _JSON and options.value_schema is None:
        if options.schema_registry is None:
            raise JobError(f"{options.value_format} needs --value-schema or --schema-registry", BAD_INPUT)
        if options.topics is None or len(options.topics) > 1:
            raise JobError("--value-schema is required unless --topics names a single topic", BAD_INPUT)


def wanted_values(spark: SparkSession, options: argparse.Namespace, source: Mapping[str, str]) -> WantedValues | None:
    """Returns how the job decodes values; None if it does not. Raises SchemaError and OptionError."""
    if options.value_format is None:
        return None
    from ..archive.table_values import WantedValues
    from ..values.json_spellings import is_case_sensitive

    registry = _registry(options)

    def schema() -> ValueSchema:
        return _schema(spark, options, registry, source)

    # Decoders of JSON need no schema of the registry.
    asked = None if options.value_format == _JSON else registry
    given, exact = options.value_schema is not None, is_case_sensitive(spark)
    letters = None if options.dead_letters is None else (options.dead_letters, dict(options.dead_letters_option))
    return WantedValues(options.value_format, given, schema, asked, letters, exact)


def _registry(options: argparse.Namespace) -> SchemaRegistry | None:
    from ..values.registry import SchemaRegistry

    if options.schema_registry is None:
        return None
    file = options.registry_config
    settings = {name.removeprefix(_PREFIX): text for name, text in ({} if file is None else settings_in(file)).items()}
    if settings.pop(_SOURCE, _OF_USER) != _OF_USER:
        raise OptionError(f"{file}: {_SOURCE} must be {_OF_USER}, with {_USER}=USER:PASSWORD")
    if unknown := sorted(settings.keys() - {_USER, _CA}):
        raise OptionError(f"{file}: unknown setting {unknown[0]}; known are {_USER} and {_CA}")
    return SchemaRegistry(options.schema_registry, settings.get(_USER), settings.get(_CA))


def _schema(
    spark: SparkSession, options: argparse.Namespace, registry: SchemaRegistry | None, source: Mapping[str, str]
) -> ValueSchema:
    from ..values.schema_text import SchemaText
    from ..values.value_schema import avro_schema

    framed = options.schema_ids or registry is not None
    if options.value_format == _JSON:
        return _json_schema(spark, options.value_schema, source, framed=framed)
    if options.value_schema is not None:
        content = _content(options.value_schema)
        if options.value_format == _AVRO:
            return avro_schema(SchemaText(content.decode(errors="replace")), framed=framed)
        if not options.value_schema.endswith(".proto"):
            return _protobuf_schema(content, options.value_message, framed=framed)
        text = SchemaText(content.decode(errors="replace"))
    else:
        assert registry is not None  # by check_values
        text = registry.newest(f"{options.topics[0]}-value", options.value_format.upper())
        if options.value_format == _AVRO:
            return avro_schema(text, framed=framed)
    from ..values.protobuf_compiler import compiled_source

    return _protobuf_schema(compiled_source(text), options.value_message, framed=framed)


def _protobuf_schema(descriptors: bytes, message: str | None, *, framed: bool) -> ValueSchema:
    from ..values.value_schema import protobuf_schema

    return protobuf_schema(descriptors, message, framed=framed)


def _json_schema(spark: SparkSession, given: str | None, source: Mapping[str, str], *, framed: bool) -> ValueSchema:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    from ..values.json_columns import infer_json_schema
    from ..values.schema_text import SchemaError
    from ..values.value_schema import json_schema

    if given is None:
        sampled = {name: text for name, text in source.items() if name.startswith(_OF_SAMPLES)}
        rows = spark.read.format("pybroker").options(**sampled).load()
        value = "substring(value, 6)" if framed else "value"
        return json_schema(infer_json_schema(spark, rows.selectExpr(value)), framed=framed)
    text = Path(given).read_text(encoding="utf-8") if Path(given).is_file() else given
    try:
        columns = _stored_columns(text) if text.lstrip().startswith("{") else StructType.fromDDL(text)
    except (PySparkException, ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"--value-schema: {str(error).strip().splitlines()[0]}") from None
    if not columns.fields:
        raise SchemaError("--value-schema: it names no columns")
    return json_schema(columns, framed=framed)


def _stored_columns(text: str) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(text))


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise OptionError(f"--value-schema: {file} can't be read: {error.strerror}") from None
