"""The decoded values of a table: one schema for all of its rows, which its first commit fixes.

values/schema-<number>.json     format, columns, and the schema that they come from; the highest number is in force
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..values.registry import SchemaRegistry
from ..values.schema_text import SchemaError
from ..values.value_schema import ValueSchema, check_names
from .commit_reader import CommitReader, TableFiles
from .manifest import ManifestError, to_text

__all__ = ["WantedValues", "fixed_schema", "stored_schema"]

_DIRECTORY = "values"
_FILE = re.compile(rf"{_DIRECTORY}/schema-(\d{{5}})\.json")


@dataclass(frozen=True, slots=True)
class WantedValues:
    """How a job decodes values.

    Attributes:
        format: JSON, AVRO or PROTOBUF.
        given: whether the user named a schema; otherwise the stored one is used, if there is one.
        schema: finds the schema: reads files, asks the registry, or looks at a sample of the topic.
        dead_letters: topic for records whose values can't be decoded, and options of its producer; None: they are only
            in the table.
        case_sensitive: whether the session tells names apart that differ only by case.
    """

    format: str
    given: bool
    schema: Callable[[], ValueSchema]
    registry: SchemaRegistry | None = None
    dead_letters: tuple[str, Mapping[str, str]] | None = field(default=None, repr=False)
    case_sensitive: bool = False


def stored_schema(files: TableFiles) -> ValueSchema | None:
    """Returns the schema of a table's values; None if they are not decoded. Raises ManifestError."""
    number = _newest(files)
    if number is None:
        return None
    path = _path(number)
    try:
        return ValueSchema.from_json(json.loads(files.read_text(path)))
    except (ValueError, KeyError, TypeError) as error:
        raise ManifestError(f"{path} can't be read: {error}") from None


def fixed_schema(files: TableFiles, wanted: WantedValues | None) -> ValueSchema | None:
    """Returns the schema of the rows that a job adds, and stores it. Raises SchemaError if the table's rows have other
    columns, or if Spark could not tell the columns apart by their names.
    """
    found = _schema_to_store(files, wanted)
    if found is not None and wanted is not None:
        check_names(found.columns, case_sensitive=wanted.case_sensitive)
        if found != stored_schema(files):
            number = _newest(files)
            files.write_text(_path(0 if number is None else number + 1), to_text(found.to_json()))
    return found


def _schema_to_store(files: TableFiles, wanted: WantedValues | None) -> ValueSchema | None:
    stored = stored_schema(files)
    has_rows = bool(CommitReader(files).written())
    if wanted is None:
        if stored is not None and has_rows:
            raise SchemaError(f"the values of this table are decoded: give --value-format {stored.format}")
        return None
    if stored is None and has_rows:
        raise SchemaError("the values of this table's rows are not decoded, so a job can't begin to: use another table")
    if stored is not None and has_rows and stored.format == wanted.format and not wanted.given:
        return stored
    found = wanted.schema()
    if stored is not None and has_rows:
        found.check_that_it_follows(stored)
    return found


def _newest(files: TableFiles) -> int | None:
    found = [int(match[1]) for each in files.list(_DIRECTORY) if (match := _FILE.fullmatch(each.path))]
    return max(found, default=None)


def _path(number: int) -> str:
    return f"{_DIRECTORY}/schema-{number:05}.json"
