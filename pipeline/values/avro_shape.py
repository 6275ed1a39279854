"""Tells what values of an Avro schema can cost: whether they may nest without end, and whether few bytes may claim many
items.

The schema that a value was written with comes from a registry, so neither it nor the value can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .schema_text import SchemaError

__all__ = ["contains_itself"]

_NAMED = ("record", "error", "enum", "fixed")


def contains_itself(parsed: Any, named: Mapping[str, Any]) -> bool:
    """Returns whether a record of the parsed schema contains itself. `named`: parsed types by name.

    Raises SchemaError for an array whose items take no bytes, because a value of a few bytes could claim billions.
    """
    shape = _Shape(named)
    shape.is_empty(parsed)
    return shape.contains_itself


class _Shape:
    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._known: dict[str, bool | None] = {}
        self.contains_itself = False

    def is_empty(self, schema: Any) -> bool:
        """Returns whether each value of a schema takes no bytes, after a look at all schemas inside it."""
        if isinstance(schema, list):
            for branch in schema:
                self.is_empty(branch)
            return False
        if isinstance(schema, str):
            return schema == "null" or (schema in self._named and self.is_empty(self._named[schema]))
        kind = schema["type"]
        if kind in _NAMED:
            return self._is_empty_named(kind, schema)
        if kind == "array":
            if self.is_empty(schema["items"]):
                raise SchemaError("the Avro schema has an array whose items take no bytes")
            return False
        if kind == "map":
            self.is_empty(schema["values"])
            return False
        return self.is_empty(kind)

    def _is_empty_named(self, kind: str, schema: Mapping[str, Any]) -> bool:
        name = schema["name"]
        if name in self._known:
            known = self._known[name]
            self.contains_itself |= known is None
            return bool(known)
        self._known[name] = None
        empty = kind == "fixed" and schema["size"] == 0
        if kind in ("record", "error"):
            fields = [self.is_empty(field["type"]) for field in schema["fields"]]
            empty = all(fields)
        self._known[name] = empty
        return empty
