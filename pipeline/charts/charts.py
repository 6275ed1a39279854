"""Charts as plain values. page.py draws them as SVG, png_charts.py as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

MOST_BARS = 60
_MOST_LABEL = 44


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its label, its amount, and the amount as text."""

    label: str
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars, the first on top. `left_out`: number of bars not shown. `name` is the name of the chart's file."""

    name: str
    title: str
    bars: tuple[Bar, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """An amount for the interval that begins at `ms`."""

    ms: int
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Amounts over [`first_ms`, `end_ms`) in intervals of `step_ms`; an interval without a step has amount 0."""

    name: str
    title: str
    first_ms: int
    end_ms: int
    step_ms: int
    steps: tuple[Step, ...]

    @property
    def highest(self) -> Step | None:
        return max(self.steps, key=lambda step: step.amount, default=None)


Chart = BarChart | TimeChart


def bar_chart(name: str, title: str, bars: Sequence[Bar]) -> BarChart:
    """Returns a chart with at most MOST_BARS bars."""
    return BarChart(name, title, tuple(bars[:MOST_BARS]), max(len(bars) - MOST_BARS, 0))


def shortened(label: str) -> str:
    """Returns the label, cut to the length that fits beside a bar."""
    return label if len(label) <= _MOST_LABEL else f"{label[: _MOST_LABEL - 1]}…"


def time_of(ms: int) -> str:
    """Returns a timestamp as text, in UTC."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # beyond Python's calendar
        return f"{ms:,} ms"


def duration(ms: int) -> str:
    """Returns a duration as text, such as '10 minutes'."""
    for unit, length in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if ms >= length and ms % length == 0:
            return f"{ms // length:,} {unit}{'' if ms == length else 's'}"
    return f"{ms:,} ms"
