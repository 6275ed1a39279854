"""The figures of topics, gathered: as JSON for programs, as one page without any other file for people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..page import bars, counted, number, page, section, size, table, text
from . import measures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Figures = dict[str, Any]
"""The report as JSON: lists of objects by the names of the measures."""


def topic_figures(frame: DataFrame, *, now_ms: int, late_ms: int, file_bytes: dict[str, int] | None = None) -> Figures:
    """All figures of a frame of rows, which is read once. `file_bytes`: of each topic, where its files are known."""
    rows = measures.slim_rows(frame).persist()
    try:
        volumes = _listed(measures.volumes(rows), "topic", "partition")
        first = min((each["first_ms"] for each in volumes), default=0)
        last = max((each["last_ms"] for each in volumes), default=0)
        step_ms = measures.bucket_ms(first, last)
        return {
            "volumes": volumes,
            "stepMs": step_ms,
            "rates": _listed(measures.rates(rows, step_ms), "topic", "ms"),
            "sizes": _listed(measures.value_sizes(rows), "topic"),
            "keys": _listed(measures.key_counts(rows), "topic"),
            "busiestKeys": _listed(measures.busiest_keys(rows), "topic", "rank"),
            "disorder": _listed(measures.disorder(rows, now_ms, late_ms), "topic", "partition"),
            "lateMs": late_ms,
            "compression": [
                {"topic": topic, "record_bytes": raw, "file_bytes": stored, "gain": raw / stored}
                for topic, stored in sorted((file_bytes or {}).items())
                if stored and (raw := sum(_bytes_of(each) for each in volumes if each["topic"] == topic))
            ],
        }
    finally:
        rows.unpersist()


def figures_page(figures: Figures) -> str:
    """A page of HTML that loads nothing."""
    volumes = figures["volumes"]
    rows = sum(each["rows"] for each in volumes)
    topics = sorted({each["topic"] for each in volumes})
    summary = f"{counted(len(topics), 'topic')}, {counted(rows, 'record')}, {size(sum(map(_bytes_of, volumes)))}"
    return page(
        "Report of topics",
        f"<p>{summary}</p>\n",
        section("Partitions", _volumes(volumes)),
        *(section(f"{topic} over time", _rates(figures, topic)) for topic in topics),
        section("Size of values", _table(figures["sizes"], ["topic"], ["median", "p90", "p99", "largest"])),
        section("Keys", _table(figures["keys"], ["topic"], ["keys", "repeated_keys", "repeats"])),
        section("Keys with the most records", _keys(figures["busiestKeys"])),
        section(
            f"Records {figures['lateMs'] / 1000:,g} s or more behind one before them, or of the future",
            _table(figures["disorder"], ["topic", "partition"], ["late", "most_behind_ms", "future"]),
        ),
        section("Bytes of records for a byte of file", _gain(figures["compression"])) if figures["compression"] else "",
    )


def _listed(frame: DataFrame, *order: str) -> list[dict[str, Any]]:
    """The rows of a small frame, keys as text."""
    found = [row.asDict() for row in frame.collect()]
    for each in found:
        if "key" in each:
            each["key"] = bytes(each["key"]).decode("utf-8", "backslashreplace")
    return sorted(found, key=lambda each: tuple(each[name] for name in order))


def _bytes_of(volume: dict[str, Any]) -> int:
    return int(volume["key_bytes"] + volume["value_bytes"])


def _volumes(volumes: Iterable[dict[str, Any]]) -> str:
    rows = [
        [
            text(f"{each['topic']}-{each['partition']}"),
            number(each["rows"]),
            number(size(_bytes_of(each))),
            number(each["keyless"]),
            number(each["tombstones"]),
            text(_time(each["first_ms"])),
            text(_time(each["last_ms"])),
        ]
        for each in volumes
    ]
    return table(["Partition", "#Records", "#Size", "#Without key", "#Tombstones", "First", "Last"], rows)


def _rates(figures: Figures, topic: str) -> str:
    seconds = figures["stepMs"] / 1000
    return bars(
        [
            (_time(each["ms"]), each["rows"], f"{each['rows'] / seconds:,.1f} records/s, {size(each['bytes'])}")
            for each in figures["rates"]
            if each["topic"] == topic
        ]
    )


def _keys(busiest: Iterable[dict[str, Any]]) -> str:
    rows = [
        [text(each["topic"]), text(each["key"]), number(each["rows"]), number(f"{each['share']:.1%}")]
        for each in busiest
    ]
    return table(["Topic", "Key", "#Records", "#Share"], rows)


def _gain(compression: Iterable[dict[str, Any]]) -> str:
    return bars([(each["topic"], round(each["gain"] * 1000), f"{each['gain']:.2f}") for each in compression])


def _table(rows: Iterable[dict[str, Any]], names: list[str], numbers: list[str]) -> str:
    cells = [
        [*(text(each[name]) for name in names), *(number("" if each[name] is None else each[name]) for name in numbers)]
        for each in rows
    ]
    heads = [name.capitalize() for name in names] + [f"#{name.capitalize().replace('_', ' ')}" for name in numbers]
    return table(heads, cells)


def _time(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # beyond the calendar
        return f"{ms:,} ms"
