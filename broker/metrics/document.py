"""Writes the page of series: ``python -m pybroker.broker.metrics.document docs/operator``."""

import sys
from pathlib import Path

from .series.rare import RARE
from .series.series import Series
from .series.table import SECTIONS

METRICS_PAGE = "metrics.md"

_INTRODUCTION = """\
# Metrics

This page is written by `python -m pybroker.broker.metrics.document docs/operator`.

`/metrics` gives these series in Prometheus' text format or as OpenMetrics. *Names* tells whose spelling a series has:
`jmx` is the JMX exporter with Strimzi's rules, `exporter` is kafka_exporter, `lag` is kafka-lag-exporter.
`pybroker.metrics.names` selects from these, `pybroker.metrics.detail` the finest label, and
`pybroker.metrics.exclude` hides single series ([settings](settings.md)). Series with the label `topic` that Kafka also
has without it give the broker's total without the label. A summary has `quantile` from 0.5 to 0.999 and a `_count`.

Beyond `pybroker.metrics.max.series`, `pybroker_metrics_dropped_series` and the log tell what a scrape leaves out. These
series, which no stock board reads, go first:
"""


def metrics_page() -> str:
    """The text of ``docs/operator/metrics.md``."""
    rare = ", ".join(f"`{name}`" for name in sorted(RARE))
    return "\n".join([f"{_INTRODUCTION}{rare}.\n", *(f"## {title}\n\n{_table(rows)}" for title, rows in SECTIONS)])


def write_page(directory: Path) -> None:
    (directory / METRICS_PAGE).write_text(metrics_page(), encoding="utf-8")


def _table(rows: tuple[Series, ...]) -> str:
    lines = ["| Series | Meaning | Type | Labels | Names | From |", "|---" * 6 + "|"]
    for series in rows:
        labels = ", ".join(f"`{label}`" for label in series.labels)
        cells = (
            f"`{series.name}`", series.help, str(series.kind), labels, str(series.spelling), f"`{series.source}`"
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))
