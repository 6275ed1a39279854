"""Reads the JSON files that scripts take. Errors have the words of Kafka's scripts."""

import json
from collections.abc import Mapping
from typing import Any

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["array_in", "field_of", "number_in", "object_in", "parsed_json", "read_text", "text_in"]

_MAX_FILE_BYTES = 64 << 20
_INT32 = 1 << 31
_INT64 = 1 << 63


def read_text(path: str) -> str:
    """The text of a file. Raises CommandError."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_MAX_FILE_BYTES)
    except (OSError, UnicodeDecodeError):
        raise CommandError(f"Unable to read file {path}", BAD_INPUT) from None


def parsed_json(text: str) -> Any:
    """The value of a JSON text. Raises CommandError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CommandError("The input string is not a valid JSON", BAD_INPUT) from None


def object_in(value: Any) -> Mapping[str, Any]:
    """The object that a value must be. Raises CommandError."""
    if not isinstance(value, dict):
        raise CommandError(f"Expected JSON object, received {_text(value)}", BAD_INPUT)
    return value


def array_in(value: Any) -> list[Any]:
    """The array that a value must be. Raises CommandError."""
    if not isinstance(value, list):
        raise CommandError(f"Expected JSON array, received {_text(value)}", BAD_INPUT)
    return value


def field_of(value: Mapping[str, Any], name: str) -> Any:
    """A field that must be there. Raises CommandError."""
    if name not in value:
        raise CommandError(f"No such field exists: `{name}`", BAD_INPUT)
    return value[name]


def number_in(value: Any, *, is_long: bool = False) -> int:
    """The whole number that a value must be, of 32 or 64 bits. Raises CommandError."""
    limit = _INT64 if is_long else _INT32
    if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
        raise CommandError(f"Expected `{'Long' if is_long else 'Integer'}` value, received {_text(value)}", BAD_INPUT)
    return value


def text_in(value: Any) -> str:
    """The text that a value must be. Raises CommandError."""
    if not isinstance(value, str):
        raise CommandError(f"Expected `String` value, received {_text(value)}", BAD_INPUT)
    return value


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
