"""The lists of /v1: filter by name, sort by a field, a part of the rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...base.frozen import frozen
from ..http.replies import HttpProblem

_MOST = 100_000
_AT_ONCE = 100


@frozen
class Page:
    """A part of a list. `total`: rows of the list; `matched`: those that the query selects."""

    total: int
    matched: int
    rows: Iterable[dict[str, Any]]


@frozen
class Paging:
    """The part of a list that a request asks for."""

    filter: str
    sort: str
    limit: int
    offset: int
    chosen: Mapping[str, str]

    @classmethod
    def of(cls, query: Mapping[str, str], choices: tuple[str, ...] = ()) -> Paging:
        """Reads the query of a list; `choices` are further fields that select rows. Raises HttpProblem."""
        return cls(
            query.get("filter", "").lower(),
            query.get("sort", ""),
            _number(query, "limit", 10_000),
            _number(query, "offset", 0),
            {name: query[name] for name in choices if query.get(name)},
        )

    async def page(
        self,
        names: Iterable[str],
        name: str,
        row_of: Callable[[str], dict[str, Any]],
        is_wanted: Callable[[dict[str, Any]], bool] | None = None,
    ) -> Page:
        """Returns the rows of these names. `name`: the field with a row's name. `is_wanted`: a filter of rows.

        Rows in the order of names are made when they are read, so that a long list never exists as a whole.
        """
        names = list(names)
        matched = sorted(each for each in names if self.filter in each.lower())
        field = self.sort.removeprefix("-")
        if is_wanted is None and field in ("", name):
            if self.sort.startswith("-"):
                matched.reverse()
            return Page(len(names), len(matched), map(row_of, matched[self.offset : self.offset + self.limit]))
        rows = [row for row in await _made(matched, row_of) if is_wanted is None or is_wanted(row)]
        rows = self._sorted(rows, field, name)
        return Page(len(names), len(rows), rows[self.offset : self.offset + self.limit])

    def _sorted(self, rows: list[dict[str, Any]], field: str, name: str) -> list[dict[str, Any]]:
        """`rows` are in the order of their names."""
        if field and field != name:
            if rows and field not in rows[0]:
                raise HttpProblem(400, f"there is no field '{field}' to sort by")
            known = [row for row in rows if row[field] is not None]
            unknown = [row for row in rows if row[field] is None]
            known.sort(key=lambda row: _sortable(row[field]), reverse=self.sort.startswith("-"))
            return known + unknown
        return rows[::-1] if self.sort.startswith("-") else rows


async def _made(names: list[str], row_of: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of these names. Other tasks run between parts."""
    rows: list[dict[str, Any]] = []
    for start in range(0, len(names), _AT_ONCE):
        rows += map(row_of, names[start : start + _AT_ONCE])
        await asyncio.sleep(0)
    return rows


def _sortable(value: Any) -> Any:
    return (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) > _MOST:
        raise HttpProblem(400, f"{name} must be a whole number up to {_MOST}")
    return int(text)
