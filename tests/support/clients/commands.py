"""Commands of ``pybroker`` that run in this process, and the shapes of what they print."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
from pybroker.views.schema import Schemas

__all__ = ["Pybroker", "Ran", "rows_of"]


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Pybroker = Callable[..., Ran]
"""Runs a command with these arguments."""


def rows_of(text: str, shape: type) -> list[dict[str, Any]]:
    """The rows of a JSON array that a command printed. Each must have the given shape, and there must be one."""
    schemas = Schemas()
    schema = {
        "type": "array",
        "minItems": 1,
        "items": schemas.reference(shape),
        "components": {"schemas": schemas.named},
    }
    rows: list[dict[str, Any]] = json.loads(text)
    jsonschema_rs.validator_for(schema).validate(rows)
    return rows
