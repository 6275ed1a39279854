"""Tests of charts as PNG files: number and lengths of bars."""

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pybroker.pipeline.charts.charts import Bar, Step, TimeChart, bar_chart
from pybroker.pipeline.topic_report.figures_page import figure_charts
from support.spark.topic_figures import topic_figures

pytest.importorskip("matplotlib", reason="the extra 'spark' is not installed: there is no matplotlib")

HOUR_MS = 3_600_000
BAR_COLOUR = (0x3D, 0x78, 0xB0)


def is_bar(path: Path) -> Any:
    """Returns for each pixel whether it belongs to a bar, by row and column."""
    from matplotlib.image import imread

    pixels = (imread(path)[:, :, :3] * 255).round().astype(int)
    return (pixels == BAR_COLOUR).all(axis=2)


def runs(flags: Any) -> list[int]:
    """Returns the lengths of the stretches of bar pixels."""
    return [len(list(each)) for is_one, each in groupby(flags.tolist()) if is_one]


def drawn(directory: Path, chart: Any) -> Any:
    from pybroker.pipeline.charts.png_charts import write_pngs

    (path,) = write_pngs([chart], directory / "charts")
    assert path == directory / "charts" / f"{chart.name}.png"
    return is_bar(path)


def test_bars_have_lengths_in_proportion_to_amounts(tmp_path: Path) -> None:
    amounts = (100, 50, 25, 0)
    found = drawn(tmp_path, bar_chart("size", "Size", [Bar(f"t{each}", each, str(each)) for each in amounts]))
    lengths = [max(runs(row)) for row in found if row.any()]
    # Edge rows of a bar have other colours; its length is measured in the other rows.
    bars = [max(each) for _, each in groupby(lengths, key=lambda length: round(length / max(lengths), 1))]
    assert [each / bars[0] for each in bars] == pytest.approx([1, 0.5, 0.25], abs=0.02)


def test_intervals_are_drawn_at_their_time(tmp_path: Path) -> None:
    steps = tuple(Step(hour * HOUR_MS, amount, "") for hour, amount in ((0, 10), (1, 20), (5, 5), (9, 20)))
    found = drawn(tmp_path, TimeChart("rate", "Rate", 0, 10 * HOUR_MS, HOUR_MS, steps))
    columns = found.sum(axis=0)
    widths = runs(columns > 0)
    assert len(widths) == len(steps)
    heights = [max(each) for is_one, each in groupby(columns.tolist(), key=bool) if is_one]
    assert [each / heights[1] for each in heights] == pytest.approx([0.5, 1, 0.25, 1], abs=0.03)
    whole = len(columns.nonzero()[0]) / len(steps) / 0.92 * 10
    begins = [place for place, here in enumerate(columns) if here and not columns[place - 1]]
    assert [(each - begins[0]) / whole for each in begins] == pytest.approx([0, 0.1, 0.5, 0.9], abs=0.01)


def test_every_chart_is_written_to_its_own_file_whatever_its_name(tmp_path: Path) -> None:
    from pybroker.pipeline.charts.png_charts import write_pngs

    figures = topic_figures()
    longest = "t" * 249
    for rows in figures.values():
        for row in rows if isinstance(rows, list) else ():
            row["topic"] = longest if len(row["topic"]) > 200 else row["topic"]
            row["key"] = f"$\\frac{{{row.get('key')}$"  # not a formula for matplotlib
    charts = figure_charts(figures)
    paths = write_pngs(charts, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert len(set(paths)) == len(charts)
    assert all(is_bar(path).any() for path in paths)


def test_bars_that_are_not_shown_are_counted() -> None:
    chart = bar_chart("many", "Many", [Bar(str(number), number, "") for number in range(100)])
    assert (len(chart.bars), chart.left_out) == (60, 40)
