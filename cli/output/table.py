"""Aligns rows in columns. Columns of numbers stand on the right."""

from collections.abc import Iterable, Sequence
from typing import Any

from .columns import Column, as_text
from .width import width_of

__all__ = ["table"]

_GAP = "  "


def table(rows: Iterable[Any], columns: Sequence[Column]) -> list[str]:
    """The lines of a table with a line of titles."""
    cells = [[column.value(row) for column in columns] for row in rows]
    texts = [[column.title for column in columns], *([as_text(value) for value in line] for line in cells)]
    widths = [max(map(width_of, column)) for column in zip(*texts, strict=True)]
    right = [_is_number(column) for column in zip(*cells, strict=True)] or [False] * len(columns)
    return [
        _GAP.join(
            _padded(text, width, is_right=is_right) for text, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in texts
    ]


def _padded(text: str, width: int, *, is_right: bool) -> str:
    padding = " " * (width - width_of(text))
    return padding + text if is_right else text + padding


def _is_number(values: Sequence[Any]) -> bool:
    """Whether all values of a column are numbers or missing, and one is a number."""
    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float}
