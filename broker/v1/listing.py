"""Filters, sorts and pages the rows of a list."""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from ...views.query import Query
from .slices import in_slices, mapped_in_slices, sorted_in_slices

__all__ = ["Page", "matching_names", "page_of"]

Row = TypeVar("Row")


class Page(NamedTuple, Generic[Row]):
    """The rows to show, and how many match the query."""

    matched: int
    rows: tuple[Row, ...]


async def matching_names(names: Iterable[str], query: Query) -> Iterator[str]:
    """Return the names that contain the text of ``filter``, in order."""
    wanted = (query.text("filter") or "").casefold()
    if not wanted:
        return await sorted_in_slices(list(names))
    found = [name async for name in in_slices(names) if wanted in name.casefold()]
    return await sorted_in_slices(found)


async def page_of(
    names: Iterable[str],
    query: Query,
    row_of: Callable[[str], Row | None],
    name_field: str,
    is_wanted: Callable[[Row], bool] | None = None,
) -> Page[Row]:
    """Return the page that the query asks for. ``name_field``: the field of a row that has its name.

    ``row_of`` makes the row of a name; None when there is no such thing any more. ``is_wanted``: a filter of rows.
    """
    sort = query.text("sort") or ""
    field, is_falling = sort.removeprefix("-"), sort.startswith("-")
    named = await matching_names(names, query)
    if sort == name_field and is_wanted is None:
        return await _page_by_name(named, query, row_of)
    rows = [
        row
        async for name in in_slices(named)
        if (row := row_of(name)) is not None and (is_wanted is None or is_wanted(row))
    ]
    ordered = await _sorted_by(rows, field, is_falling)
    start = query.number("offset")
    stop = start + query.number("limit")
    page = [row async for number, row in in_slices(enumerate(ordered)) if start <= number < stop]
    return Page(len(rows), tuple(page))


async def _page_by_name(names: Iterator[str], query: Query, row_of: Callable[[str], Row | None]) -> Page[Row]:
    """Return a page in the order of names, for which only the rows on the page need be made."""
    ordered = await mapped_in_slices(str, names)
    start = query.number("offset")
    made = await mapped_in_slices(row_of, ordered[start : start + query.number("limit")])
    return Page(len(ordered), tuple(row for row in made if row is not None))


async def _sorted_by(rows: list[Row], field: str, is_falling: bool) -> Iterable[Row]:
    """Rows without a value come last, whatever the direction."""
    value_of: Callable[[Row], Any] = attrgetter(field)
    known: list[Row] = []
    unknown: list[Row] = []
    async for row in in_slices(rows):
        (unknown if value_of(row) is None else known).append(row)
    ordered = await sorted_in_slices(known, value_of, reverse=is_falling)
    return _chained(ordered, unknown)


def _chained(first: Iterator[Row], second: list[Row]) -> Iterator[Row]:
    yield from first
    yield from second
