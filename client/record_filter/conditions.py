"""Compiles a query to a function that tells whether a record matches. The exact meaning of each operator is here.

- Bytes (key, value, header): `=`, `:` and `^` compare bytes with the literal in UTF-8.
- JSON: a text is compared as text, a number as a number, true, false and null by their names. `:` looks into a list.
- `<`, `<=`, `>` and `>=` compare numbers when both sides are numbers, and texts when the literal is no number.
- `!=` is the opposite of `=`, so it also holds when there is nothing to compare.
"""

from __future__ import annotations

import json
import operator as operators
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ...protocol.records.record import Headers, Record
from .syntax import And, BytesTerm, ErrorTerm, Not, NumberTerm, Or, PathTerm, Query, Word

Condition: TypeAlias = "Callable[[Candidate], bool]"

_MISSING = object()
_DEEP = "its JSON is nested too deeply"
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}


class Candidate:
    """A record of a partition. The value is decoded as JSON when a condition asks for it first."""

    __slots__ = ("_json", "partition", "record")

    def __init__(self, partition: int, record: Record) -> None:
        self.partition = partition
        self.record = record
        self._json: _Decoded | None = None

    def json(self) -> _Decoded:
        """The value as JSON, or why it is none."""
        if self._json is None:
            self._json = _decoded(self.record.value)
        return self._json

    def size(self) -> int:
        """Bytes of key, value and headers."""
        record = self.record
        size = len(record.key or b"") + len(record.value or b"")
        for name, value in record.headers:
            size += len(name.encode("utf-8", "surrogateescape")) + len(value or b"")
        return size


class _Decoded(NamedTuple):
    """A JSON value, or `_MISSING` and why there is none; `error` is None for a record without a value."""

    value: Any
    error: str | None


def compile_query(query: Query) -> Condition:
    """The condition of a query."""
    if isinstance(query, Not):
        negated = compile_query(query.part)
        return lambda candidate: not negated(candidate)
    if isinstance(query, And):
        all_parts = [compile_query(part) for part in query.parts]
        return lambda candidate: all(part(candidate) for part in all_parts)
    if isinstance(query, Or):
        any_parts = [compile_query(part) for part in query.parts]
        return lambda candidate: any(part(candidate) for part in any_parts)
    if isinstance(query, Word):
        return _word(query.text.encode())
    if isinstance(query, NumberTerm):
        return _number_term(query)
    if isinstance(query, BytesTerm):
        return _bytes_term(query)
    if isinstance(query, ErrorTerm):
        return _error_term(query)
    return _path_term(query)


def _word(needle: bytes) -> Condition:
    def matches(candidate: Candidate) -> bool:
        record = candidate.record
        if record.value is not None and needle in record.value:
            return True
        if record.key is not None and needle in record.key:
            return True
        return any(value is not None and needle in value for _, value in record.headers)

    return matches


_NUMBER_FIELDS: dict[str, Callable[[Candidate], int]] = {
    "partition": lambda candidate: candidate.partition,
    "offset": lambda candidate: candidate.record.offset,
    "time": lambda candidate: candidate.record.timestamp_ms,
    "size": Candidate.size,
}


def _number_term(term: NumberTerm) -> Condition:
    read, number = _NUMBER_FIELDS[term.field], term.number
    compare = {"=": operators.eq, "!=": operators.ne, **_ORDERS}[term.operator]
    return lambda candidate: bool(compare(read(candidate), number))


def _bytes_term(term: BytesTerm) -> Condition:
    compare = _bytes_comparison(term.operator, term.literal)
    if term.field == "key":
        return lambda candidate: compare(candidate.record.key)
    if term.field == "value":
        return lambda candidate: compare(candidate.record.value)
    name, is_opposite = term.name, term.operator == "!="
    if term.operator == "?":
        return lambda candidate: any(each == name for each, _ in candidate.record.headers)
    if is_opposite:
        return lambda candidate: all(compare(value) for value in _values(candidate.record.headers, name))
    return lambda candidate: any(compare(value) for value in _values(candidate.record.headers, name))


def _values(headers: Headers, name: str) -> list[bytes | None]:
    return [value for each, value in headers if each == name]


def _bytes_comparison(operator: str, literal: str) -> Callable[[bytes | None], bool]:
    wanted = literal.encode()
    if operator == "?":
        return lambda data: data is not None
    if operator == "=":
        return lambda data: data == wanted
    if operator == "!=":
        return lambda data: data != wanted
    if operator == ":":
        return lambda data: data is not None and wanted in data
    if operator == "^":
        return lambda data: data is not None and data.startswith(wanted)
    ordered = _text_order(operator, literal)
    return lambda data: data is not None and ordered(data.decode("utf-8", "replace"))


def _text_order(operator: str, literal: str) -> Callable[[str], bool]:
    compare, number = _ORDERS[operator], number_of(literal)
    if number is None:
        return lambda text: bool(compare(text, literal))

    def as_numbers(text: str) -> bool:
        found = number_of(text)
        return found is not None and bool(compare(found, number))

    return as_numbers


def _error_term(term: ErrorTerm) -> Condition:
    compare = _scalar_comparison(term.operator, term.literal)

    def matches(candidate: Candidate) -> bool:
        error = candidate.json().error
        return compare(_MISSING if error is None else error)

    return matches


def _path_term(term: PathTerm) -> Condition:
    path, compare = term.path, _scalar_comparison(term.operator, term.literal)
    return lambda candidate: compare(_at_path(candidate.json().value, path))


def _at_path(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return _MISSING
        elif not isinstance(value, list) or step >= len(value):
            return _MISSING
        value = value[step]
    return value


def _scalar_comparison(operator: str, literal: str) -> Callable[[Any], bool]:
    number = number_of(literal)
    if operator == "?":
        return lambda value: value is not _MISSING
    if operator == "=":
        return lambda value: _equals(value, literal, number)
    if operator == "!=":
        return lambda value: not _equals(value, literal, number)
    if operator == ":":
        return lambda value: _contains(value, literal)
    if operator == "^":
        return lambda value: (text := _text_of(value)) is not None and text.startswith(literal)
    ordered = _text_order(operator, literal)

    def in_order(value: Any) -> bool:
        if isinstance(value, str):
            return ordered(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and number is not None and bool(_ORDERS[operator](value, number))

    return in_order


def _equals(value: Any, literal: str, number: int | float | None) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number is not None and value == number
    return _text_of(value) == literal


def _contains(value: Any, literal: str) -> bool:
    if isinstance(value, list):
        return any((text := _text_of(each)) is not None and literal in text for each in value)
    text = _text_of(value)
    return text is not None and literal in text


def _text_of(value: Any) -> str | None:
    """A text, number, true, false or null as text; None for everything else."""
    if isinstance(value, str):
        return value
    if value is _MISSING or isinstance(value, dict | list):
        return None
    return json.dumps(value)


def number_of(text: str) -> int | float | None:
    """The number that a text is in JSON's form; None for every other text."""
    if len(text) > 40 or (not text[:1].lstrip("-").isdigit() and not text[1:2].isdigit()):
        return None
    try:
        number = json.loads(text)
    except ValueError:
        return None
    return number if isinstance(number, int | float) and not isinstance(number, bool) else None


def _decoded(value: bytes | None) -> _Decoded:
    if value is None:
        return _Decoded(_MISSING, None)
    try:
        return _Decoded(json.loads(value.decode()), None)
    except UnicodeDecodeError:
        return _Decoded(_MISSING, "the value is not UTF-8")
    except RecursionError:
        return _Decoded(_MISSING, _DEEP)
    except ValueError:
        return _Decoded(_MISSING, "the value is not JSON")
