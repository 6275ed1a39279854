"""The tables of ``pybroker top``: their columns, and how their rows are sorted and filtered."""

from collections.abc import Callable, Sequence
from typing import Any

from ...base.frozen import frozen
from ..output.columns import Column, bytes_text, duration_text
from .shapes import TopView

__all__ = ["SECTIONS", "Section"]


@frozen
class Section:
    """One table.

    Attributes:
        key: the key that shows it alone.
        name: the text of a row that a filter is compared with.
        columns: the first is the name. `Column.value` gives the text.
        values: what each column is sorted by.
        first_sort: the column that it is sorted by until a key says otherwise.
        widths: characters of each column but the first, which gets the rest of the line.
    """

    title: str
    key: str
    rows: Callable[[TopView], Sequence[Any]]
    name: Callable[[Any], str]
    columns: tuple[Column, ...]
    values: tuple[Callable[[Any], Any], ...]
    first_sort: int
    widths: tuple[int, ...]

    def chosen(self, view: TopView, text: str, sort: int, *, is_reversed: bool) -> list[Any]:
        """The rows whose name has the text. Numbers are sorted from the largest down, names from A.

        Rows whose value is unknown come last.
        """
        wanted = text.casefold()
        rows = [row for row in self.rows(view) if wanted in self.name(row).casefold()]
        value = self.values[sort]
        known = [row for row in rows if value(row) is not None]
        unknown = [row for row in rows if value(row) is None]
        falls = bool(known) and not isinstance(value(known[0]), str)
        known.sort(key=value, reverse=falls != is_reversed)
        return known + unknown


def rate_text(rate: float | None) -> str | None:
    """A number a second, in at most eight characters."""
    if rate is None:
        return None
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if rate >= size:
            return f"{rate / size:.2f} {unit}"
    return f"{rate:,.0f}" if rate >= 10 or rate == 0 else f"{rate:.1f}"


def _bytes_rate(rate: float | None) -> str | None:
    return None if rate is None else bytes_text(round(rate))


SECTIONS = (
    Section(
        title="BROKERS",
        key="b",
        rows=lambda view: view.brokers,
        name=lambda row: f"{row.broker} {row.address or ''}",
        columns=(
            Column("BROKER", lambda row: f"{row.broker}{'*' if row.is_controller else ''} {row.address or ''}"),
            Column("LEADS", lambda row: row.leaders),
            Column("RECORDS/S", lambda row: rate_text(row.records_per_s)),
            Column("IN/S", lambda row: _bytes_rate(row.bytes_in_per_s)),
            Column("OUT/S", lambda row: _bytes_rate(row.bytes_out_per_s)),
            Column("REQUESTS/S", lambda row: rate_text(row.requests_per_s)),
        ),
        values=(
            lambda row: row.broker,
            lambda row: row.leaders,
            lambda row: row.records_per_s,
            lambda row: row.bytes_in_per_s,
            lambda row: row.bytes_out_per_s,
            lambda row: row.requests_per_s,
        ),
        first_sort=2,
        widths=(7, 10, 10, 10, 11),
    ),
    Section(
        title="TOPICS",
        key="t",
        rows=lambda view: view.topics,
        name=lambda row: row.topic,
        columns=(
            Column("TOPIC", lambda row: row.topic),
            Column("PARTS", lambda row: row.partitions),
            Column("RECORDS/S", lambda row: rate_text(row.records_per_s)),
            Column("IN/S", lambda row: _bytes_rate(row.bytes_in_per_s)),
            Column("OUT/S", lambda row: _bytes_rate(row.bytes_out_per_s)),
            Column("SIZE", lambda row: bytes_text(row.size_bytes)),
        ),
        values=(
            lambda row: row.topic,
            lambda row: row.partitions,
            lambda row: row.records_per_s,
            lambda row: row.bytes_in_per_s,
            lambda row: row.bytes_out_per_s,
            lambda row: row.size_bytes,
        ),
        first_sort=2,
        widths=(7, 10, 10, 10, 11),
    ),
    Section(
        title="GROUPS",
        key="g",
        rows=lambda view: view.groups,
        name=lambda row: row.group,
        columns=(
            Column("GROUP", lambda row: row.group),
            Column("STATE", lambda row: row.state),
            Column("MEMBERS", lambda row: row.members),
            Column("LAG", lambda row: row.lag),
            Column("OLDEST", lambda row: duration_text(row.lag_seconds)),
            Column("READ/S", lambda row: rate_text(row.read_per_s)),
        ),
        values=(
            lambda row: row.group,
            lambda row: row.state,
            lambda row: row.members,
            lambda row: row.lag,
            lambda row: row.lag_seconds,
            lambda row: row.read_per_s,
        ),
        first_sort=3,
        widths=(10, 8, 13, 9, 8),
    ),
)
