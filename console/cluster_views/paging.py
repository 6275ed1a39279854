"""The lists of /v1: filter by name, sort by a field, a part of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..http.replies import HttpProblem

_MOST = 100_000


@dataclass(frozen=True, slots=True)
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

    def page(self, rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
        """Returns `{"total", "matched", "items"}` of rows whose name is in the field `name`."""
        matched = [row for row in rows if self.filter in str(row[name]).lower()] if self.filter else list(rows)
        matched.sort(key=lambda row: str(row[name]))
        field = self.sort.removeprefix("-")
        if field and field != name:
            if rows and field not in rows[0]:
                raise HttpProblem(400, f"there is no field '{field}' to sort by")
            known = [row for row in matched if row[field] is not None]
            unknown = [row for row in matched if row[field] is None]
            known.sort(key=lambda row: _sortable(row[field]), reverse=self.sort.startswith("-"))
            matched = known + unknown
        elif self.sort.startswith("-"):
            matched.reverse()
        return {
            "total": len(rows),
            "matched": len(matched),
            "items": matched[self.offset : self.offset + self.limit],
        }


def _sortable(value: Any) -> Any:
    return (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) > _MOST:
        raise HttpProblem(400, f"{name} must be a whole number up to {_MOST}")
    return int(text)
