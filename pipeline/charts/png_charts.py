"""Draws charts as PNG files, by matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from matplotlib.figure import Figure

from .charts import BarChart, Chart, TimeChart, shortened, time_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR = "#3d78b0"
_WIDTH_INCHES = 9.0
_TIME_HEIGHT_INCHES = 3.0
_BAR_INCHES = 0.26
_DPI = 120
_SIDES: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "center", "right")
"""Alignment of the time labels below a chart, so that the first and last stay inside the drawing."""
_MOST_STEM = 250


def write_pngs(charts: Iterable[Chart], directory: Path) -> list[Path]:
    """Writes each chart to a file with its name; creates the directory. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in charts:
        path = directory / f"{_stem(chart.name)}.png"
        with warnings.catch_warnings():
            # Keys may be in any script; matplotlib's font lacks some glyphs.
            warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
            _drawn(chart).savefig(path, dpi=_DPI)
        written.append(path)
    return written


def _drawn(chart: Chart) -> Figure:
    match chart:
        case BarChart():
            height = 0.9 + _BAR_INCHES * max(len(chart.bars), 1)
        case TimeChart():
            height = _TIME_HEIGHT_INCHES
    figure = Figure(figsize=(_WIDTH_INCHES, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(chart.title, loc="left", fontsize=12, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    match chart:
        case BarChart():
            _draw_bars(axes, chart)
        case TimeChart():
            _draw_times(axes, chart)
    return figure


def _draw_bars(axes: Axes, chart: BarChart) -> None:
    places = range(len(chart.bars))
    drawn = axes.barh(places, [bar.amount for bar in chart.bars], color=_COLOUR, height=0.7)
    axes.bar_label(drawn, [_plain(bar.words) for bar in chart.bars], padding=4, fontsize=8, parse_math=False)
    axes.set_yticks(places, [_plain(bar.label) for bar in chart.bars], fontsize=8, parse_math=False)
    axes.set_ylim(len(chart.bars) - 0.5, -0.5)
    axes.set_xlim(0, 1.25 * max((bar.amount for bar in chart.bars), default=0) or 1)
    axes.set_xticks([])
    if chart.left_out:
        axes.set_xlabel(f"and {chart.left_out:,} more", loc="left", fontsize=8)


def _draw_times(axes: Axes, chart: TimeChart) -> None:
    begins = [step.ms for step in chart.steps]
    # A column ends a little before the next one begins.
    axes.bar(begins, [step.amount for step in chart.steps], width=chart.step_ms * 0.92, align="edge", color=_COLOUR)
    span = max(chart.end_ms - chart.first_ms, 1)
    times = [chart.first_ms + span * number // (len(_SIDES) - 1) for number in range(len(_SIDES))]
    axes.set_xlim(chart.first_ms, chart.first_ms + span)
    axes.set_xticks(times, [time_of(ms) for ms in times], fontsize=8)
    for label, side in zip(axes.get_xticklabels(), _SIDES, strict=True):
        label.set_horizontalalignment(side)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="y", labelsize=8)
    if chart.highest is not None:
        axes.set_xlabel(f"at most {chart.highest.words}", loc="left", fontsize=8, parse_math=False)


def _stem(name: str) -> str:
    """Returns the file name without extension, shortened, because a topic's name may be as long as a file's name may
    be.
    """
    return name if len(name) <= _MOST_STEM else f"{name[: _MOST_STEM - 9]}-{crc32(name.encode()):08x}"


def _plain(text: str) -> str:
    """Returns the text in one line, shortened."""
    return shortened("".join(each if each.isprintable() else "·" for each in text))
