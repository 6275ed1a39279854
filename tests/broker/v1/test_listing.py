"""Lists: filters, order and pages are those of Python's own functions."""

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.v1.listing import page_of
from pybroker.broker.v1.slices import mapped_in_slices, sorted_in_slices
from pybroker.views.query import Query
from support.examples import examples


@dataclass(frozen=True)
class Row:
    name: str
    size: float | None


@settings(max_examples=examples(50), deadline=None)
@given(
    st.dictionaries(st.text("abAB", min_size=1, max_size=4), st.none() | st.integers(0, 5), max_size=30),
    st.sampled_from(["name", "-name", "size", "-size"]),
    st.integers(1, 40),
    st.integers(0, 40),
    st.sampled_from([None, "a", "Ab"]),
)
async def test_page_is_the_slice_of_the_filtered_and_sorted_rows(
    sizes: dict[str, float | None], sort: str, limit: int, offset: int, text: str | None
) -> None:
    query = Query({"filter": text, "sort": sort, "limit": limit, "offset": offset})
    page = await page_of(sizes, query, lambda name: Row(name, sizes[name]), "name")
    rows = [Row(name, sizes[name]) for name in sorted(sizes) if text is None or text.lower() in name.lower()]
    field = sort.lstrip("-")
    known = [row for row in rows if getattr(row, field) is not None]
    known.sort(key=lambda row: getattr(row, field), reverse=sort.startswith("-"))
    expected = [*known, *(row for row in rows if getattr(row, field) is None)]
    assert page.matched == len(rows)
    assert list(page.rows) == expected[offset : offset + limit]


async def test_things_that_are_gone_or_unwanted_are_not_counted() -> None:
    query = Query({"filter": None, "sort": "name", "limit": 10, "offset": 0})
    rows = {"a": Row("a", 1), "b": None, "c": Row("c", 2)}
    page = await page_of(rows, query, rows.get, "name", lambda row: row.size != 2)
    assert (page.matched, page.rows) == (1, (Row("a", 1),))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=2_000), st.booleans())
@settings(max_examples=20, deadline=None)
async def test_sorting_in_slices_is_stable_sorting(items: list[tuple[int, int]], is_falling: bool) -> None:
    found = await sorted_in_slices(items, lambda item: item[0], reverse=is_falling)
    assert list(found) == sorted(items, key=lambda item: item[0], reverse=is_falling)


async def test_other_tasks_run_between_items_when_a_slice_is_over() -> None:
    done: list[int] = []

    async def other() -> None:
        done.append(-1)

    task = asyncio.create_task(other())

    def make(item: int) -> int:
        done.append(item)
        return 2 * item

    hours = iter(range(100))
    assert await mapped_in_slices(make, [1, 2, 3], lambda: float(next(hours))) == [2, 4, 6]
    assert done == [1, -1, 2, 3]
    await task
