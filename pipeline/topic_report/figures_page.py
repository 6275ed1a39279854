"""The figures of topics as charts and as one self-contained HTML page. Needs no Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ..charts.charts import MOST_BARS, Bar, Chart, Step, TimeChart, bar_chart, duration
from ..charts.page import chart, counted, folded, moment, number, page, section, size, table, text

_OPEN_TOPICS = 5
"""Topics whose charts are open when the page is."""

Figures = dict[str, Any]
"""A report as JSON: lists of objects by the names of the measures."""


def figures_page(figures: Figures) -> str:
    """Returns an HTML page that loads no other file."""
    volumes = figures["volumes"]
    rows = sum(each["rows"] for each in volumes)
    topics = sorted({each["topic"] for each in volumes})
    summary = f"{counted(len(topics), 'topic')}, {counted(rows, 'record')}, {size(sum(map(bytes_of, volumes)))}"
    return page(
        "Report of topics",
        f"<p>{summary}</p>\n",
        *_charts(figures),
        section("Partitions", _volumes(volumes)),
        section("Bytes of values", _table(figures["sizes"], ["topic"], ["median", "p90", "p99", "largest"])),
        section("Keys", _table(figures["keys"], ["topic"], ["keys", "repeated_keys", "repeats"])),
        section("Keys with the most records", _keys(figures["busiestKeys"])),
        section(
            f"Records {figures['lateMs'] / 1000:,g} s or more older than an earlier one, or in the future",
            _table(figures["disorder"], ["topic", "partition"], ["late", "most_behind_ms", "future"]),
        ),
    )


def figure_charts(figures: Figures) -> list[Chart]:
    """Returns the charts: size of all topics; rate, partitions and busiest keys of the largest topics; gain of
    compression.
    """
    if not figures["volumes"]:
        return []
    sizes = _sizes(figures)
    topics = list(sizes)
    charts: list[Chart] = [
        bar_chart("size", "Size by topic", [Bar(topic, sizes[topic], size(sizes[topic])) for topic in topics])
    ]
    for topic in topics[:MOST_BARS]:
        charts += _topic_charts(figures, topic)
    if figures["compression"]:
        gains = [Bar(each["topic"], each["gain"], f"{each['gain']:.2f}") for each in figures["compression"]]
        charts.append(bar_chart("compression", "Bytes of records for a byte of file", gains))
    return charts


def _charts(figures: Figures) -> list[str]:
    """Returns the charts as HTML; those of topics behind the largest ones are folded."""
    rest = list(_sizes(figures))[_OPEN_TOPICS:MOST_BARS]
    hidden = {each.name for topic in rest for each in _topic_charts(figures, topic)}
    charts = figure_charts(figures)
    shown = [chart(each) for each in charts if each.name not in hidden]
    if hidden:
        shown.append(
            folded(
                f"Charts of {counted(len(rest), 'smaller topic')}",
                "".join(chart(each) for each in charts if each.name in hidden),
            )
        )
    return shown


def _sizes(figures: Figures) -> dict[str, int]:
    """Returns the bytes of each topic, the largest first."""
    sizes: dict[str, int] = defaultdict(int)
    for each in figures["volumes"]:
        sizes[each["topic"]] += bytes_of(each)
    return {topic: sizes[topic] for topic in sorted(sizes, key=lambda topic: (-sizes[topic], topic))}


def _topic_charts(figures: Figures, topic: str) -> Iterator[Chart]:
    first = min(each["ms"] for each in figures["rates"])
    step_ms = figures["stepMs"]
    end = max(each["ms"] for each in figures["rates"]) + step_ms
    steps = tuple(
        Step(each["ms"], each["rows"], f"{each['rows'] * 1000 / step_ms:,.1f} records/s, {size(each['bytes'])}")
        for each in figures["rates"]
        if each["topic"] == topic
    )
    title = f"{topic}: records by {duration(step_ms)}"
    yield TimeChart(f"rate-{topic}", title, first, end, step_ms, steps)
    partitions = [each for each in figures["volumes"] if each["topic"] == topic]
    if len(partitions) > 1:
        counts = [Bar(f"partition {each['partition']}", each["rows"], f"{each['rows']:,}") for each in partitions]
        yield bar_chart(f"partitions-{topic}", f"{topic}: records by partition", counts)
    keys = [each for each in figures["busiestKeys"] if each["topic"] == topic and each["rows"] > 1]
    if keys:
        shares = [Bar(each["key"], each["rows"], f"{each['rows']:,} ({each['share']:.1%})") for each in keys]
        yield bar_chart(f"keys-{topic}", f"{topic}: keys with the most records", shares)


def bytes_of(volume: dict[str, Any]) -> int:
    """Returns the bytes of keys and values of a partition."""
    return int(volume["key_bytes"] + volume["value_bytes"])


def _volumes(volumes: Iterable[dict[str, Any]]) -> str:
    rows = [
        [
            text(f"{each['topic']}-{each['partition']}"),
            number(each["rows"]),
            number(size(bytes_of(each))),
            number(each["keyless"]),
            number(each["tombstones"]),
            moment(each["first_ms"]),
            moment(each["last_ms"]),
        ]
        for each in volumes
    ]
    return table(["Partition", "#Records", "#Size", "#Without key", "#Tombstones", "First", "Last"], rows)


def _keys(busiest: Iterable[dict[str, Any]]) -> str:
    rows = [
        [text(each["topic"]), text(each["key"]), number(each["rows"]), number(f"{each['share']:.1%}")]
        for each in busiest
    ]
    return table(["Topic", "Key", "#Records", "#Share"], rows)


def _table(rows: Iterable[dict[str, Any]], names: list[str], numbers: list[str]) -> str:
    cells = [
        [*(text(each[name]) for name in names), *(number("" if each[name] is None else each[name]) for name in numbers)]
        for each in rows
    ]
    heads = [name.capitalize() for name in names] + [f"#{name.capitalize().replace('_', ' ')}" for name in numbers]
    return table(heads, cells)
