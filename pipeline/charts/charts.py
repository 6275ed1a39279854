"""Charts as plain values, which page.py draws as SVG and png_charts.py as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

MOST_BARS = 60
_MOST_LABEL = 44


@dataclass(frozen=True, slots=True)
class Bar:
    """An amount with its label, and the same amount in words."""

    label: str
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Amounts beside each other, the first on top. `left_out`: so many more there are. `name` is the chart's file's."""

    name: str
    title: str
    bars: tuple[Bar, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """An amount of the time from `ms` on."""

    ms: int
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Amounts over the time from `first_ms` up to `end_ms`, each of `step_ms`; where there is no step, nothing was."""

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
    """With no more bars than can be looked at."""
    return BarChart(name, title, tuple(bars[:MOST_BARS]), max(len(bars) - MOST_BARS, 0))


def shortened(label: str) -> str:
    """No longer than stands beside a bar."""
    return label if len(label) <= _MOST_LABEL else f"{label[: _MOST_LABEL - 1]}…"


def time_of(ms: int) -> str:
    """A timestamp as people read it, in UTC."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # beyond the calendar
        return f"{ms:,} ms"


def duration(ms: int) -> str:
    """Like 10 minutes."""
    for unit, length in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if ms >= length and ms % length == 0:
            return f"{ms // length:,} {unit}{'' if ms == length else 's'}"
    return f"{ms:,} ms"
