"""Writes views as JSON: fields in their order, all characters in ASCII.

A document with many rows is written in pieces, so that no piece holds the event loop for long.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any

__all__ = ["has_many_rows", "in_pieces", "to_json"]

_ROWS_IN_A_PIECE = 16
_FEW_ROWS = 64


def to_json(view: Any) -> bytes:
    """Return a view, or a part of one, as JSON. Raises ValueError for a number that JSON cannot express."""
    return _ENCODER.encode(view).encode("ascii")


def has_many_rows(document: Any) -> bool:
    """Whether the document should be written in pieces."""
    _, values_of = _reader_of(type(document))
    return any(isinstance(value, tuple) and len(value) > _FEW_ROWS for value in values_of(document))


def in_pieces(document: Any) -> Iterator[bytes]:
    """Return the text of `to_json` in pieces, each of which takes about as long as `_ROWS_IN_A_PIECE` rows."""
    names, values_of = _reader_of(type(document))
    separator = b"{"
    for name, value in zip(names, values_of(document), strict=True):
        yield separator + to_json(name) + b":"
        separator = b","
        if isinstance(value, tuple) and len(value) > _ROWS_IN_A_PIECE:
            yield from _rows(value)
        else:
            yield to_json(value)
    yield b"}"


def _rows(rows: tuple[Any, ...]) -> Iterator[bytes]:
    yield b"["
    for start in range(0, len(rows), _ROWS_IN_A_PIECE):
        piece = to_json(rows[start : start + _ROWS_IN_A_PIECE])[1:-1]
        yield b"," + piece if start else piece
    yield b"]"


_READERS: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}
"""By the type of a view, the names of its fields and a function that reads their values."""


def _as_dict(view: Any) -> dict[str, Any]:
    reader = _READERS.get(type(view))
    if reader is None:
        reader = _READERS[type(view)] = _reader_of(type(view))
    names, values_of = reader
    return dict(zip(names, values_of(view), strict=True))


def _reader_of(view_type: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(each.name for each in fields(view_type))
    read: Callable[[Any], Any] = attrgetter(*names)
    return names, read if len(names) > 1 else lambda view: (read(view),)


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False, default=_as_dict)
