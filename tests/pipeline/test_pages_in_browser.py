"""Tests of the pages of `audit` and `report` in a browser: wide and narrow, light and dark.

Chromium draws the pages and reports positions and colours. Without Chromium the tests are skipped.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.pipeline.audit.audit import gathered, plan_audit
from pybroker.pipeline.audit.partition_audit import audit_partition
from pybroker.pipeline.audit.report import report_page
from pybroker.pipeline.charts.charts import MOST_BARS
from pybroker.pipeline.topic_report.figures_page import figure_charts, figures_page
from support.logs.kafka_directories import LOGDIRS
from support.logs.log_tool import patch, positions_in
from support.processes.chromium import Chromium, ChromiumIsMissingError, chromium
from support.spark.topic_figures import STEPS, topic_figures

KAFKAS = LOGDIRS / "kafka-3.9" / "data"
WIDTHS = (360, 1400)
SCHEMES = ("light", "dark")
SCREEN_HEIGHT = 1000
SCREENSHOTS = os.environ.get("PYBROKER_SCREENSHOTS")
"""Directory for screenshots of all tested pages, if set."""

LAYOUT = """
(() => {
  const box = element => { const at = element.getBoundingClientRect();
    return [at.left, at.top, at.right, at.bottom, at.width, at.height] };
  const all = selector => [...document.querySelectorAll(selector)];
  return {
    width: innerWidth,
    scrolledWidth: document.documentElement.scrollWidth,
    bars: all('.bars li').map(bar => [...bar.children].map(box)),
    times: all('svg.times').map(chart => [box(chart), ...[...chart.children].map(box)]),
    captions: all('figcaption').map(caption => [...caption.children].map(box)),
  }
})()"""

ROWS = """
(() => {
  const filter = document.querySelector('.filter');
  const rows = [...filter.nextElementSibling.querySelectorAll('tbody tr')];
  return [rows.length, rows.filter(row => row.offsetHeight > 0).length, filter.querySelector('output').textContent];
})()"""

FILTERED = (
    """
(() => {
  const input = document.querySelector('.filter input');
  input.value = 'WORDS';
  input.dispatchEvent(new Event('input'));
})(),"""
    + ROWS
)

COLOURS = """
(() => {
  const ground = element => { for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return colour } return 'rgb(255, 255, 255)' };
  return ['h1', 'td', 'th', 'p', '.words', '.verdict', 'figcaption', 'rect'].flatMap(selector => {
    const element = document.querySelector(selector);
    if (!element) return [];
    const style = getComputedStyle(element);
    return [[selector, selector === 'rect' ? style.fill : style.color, ground(element)]] })
})()"""

Box = list[float]


def audit_page(directory: Path) -> str:
    """Returns the page of an audit of Kafka's log directory with a flipped byte."""
    data = Path(shutil.copytree(KAFKAS, directory / "data"))
    log = sorted((data / "golden1-plain-0").glob("*.log"))[0]
    position, batch = positions_in(log)[1]
    patch(log, position + batch.size_bytes - 1, bytes([batch.view()[-1] ^ 1]))
    tasks, faults = plan_audit([str(data)])
    return report_page(gathered([str(data)], [audit_partition(task) for task in tasks], faults))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    try:
        with chromium(tmp_path_factory.mktemp("chromium")) as browser:
            yield browser
    except ChromiumIsMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("pages")
    texts = {"report": figures_page(topic_figures()), "audit": audit_page(directory)}
    found = {name: directory / f"{name}.html" for name in texts}
    for name, path in found.items():
        path.write_text(texts[name])
    return found


def bars_and_steps(name: str) -> tuple[int, list[int]]:
    """Returns the expected number of bars, and of intervals in each chart over time."""
    if name == "audit":
        topics = {path.name.rpartition("-")[0] for path in KAFKAS.iterdir() if path.is_dir()}
        return min(len(topics), MOST_BARS), []
    charts = figure_charts(topic_figures())
    assert [chart.name for chart in charts[:4]] == ["size", "rate-clicks", "partitions-clicks", "keys-clicks"]
    # Sizes by topic; partitions of one topic; keys of one topic; gain of compression by topic.
    return 3 + 12 + 6 + 3, [STEPS, STEPS, len(range(0, STEPS, 7))]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["report", "audit"])
def test_page_is_drawn_with_all_charts_and_enough_contrast(
    browser: Chromium, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser.problems.clear()
    browser.show(pages[name], width=width, scheme=scheme)
    if SCREENSHOTS is not None:
        (Path(SCREENSHOTS) / f"{name}-{width}-{scheme}.png").write_bytes(browser.screenshot())
    drawn = browser.evaluate(LAYOUT)
    assert drawn["width"] == width
    assert drawn["scrolledWidth"] <= width, "it has to be scrolled sideways"
    bars, steps = bars_and_steps(name)
    assert len(drawn["bars"]) == bars
    for label, drawing, words in drawn["bars"]:
        assert_apart(label, drawing, words)
        assert all(0 <= left < right <= width for left, _, right, *_ in (label, drawing, words))
    assert sorted(len(chart) - 1 for chart in drawn["times"]) == sorted(steps)
    for frame, *marks in drawn["times"]:
        assert frame[4] > width / 2
        assert all(is_inside(mark, frame) and mark[4] > 0 and mark[5] > 0 for mark in marks)
        assert_apart(*marks)
        assert max(mark[5] for mark in marks) == pytest.approx(frame[5], abs=2)
    for caption in drawn["captions"]:
        assert_apart(*caption)
    for what, colour, ground in browser.evaluate(COLOURS):
        least = 3 if what == "rect" else 4.5  # minimum contrast by WCAG, for drawings and for text
        assert contrast(colour, ground) >= least, f"{what}: {colour} on {ground}"
        assert what == ".verdict" or (luminance(ground) < 0.2) == (scheme == "dark")
    assert browser.problems == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("topics", [1, 100])
def test_page_of_a_thousand_partitions_is_short_and_its_table_can_be_filtered(
    browser: Chromium, tmp_path: Path, topics: int, width: int
) -> None:
    page = tmp_path / "page.html"
    page.write_text(figures_page(topic_figures({f"topic{number}": 1000 // topics for number in range(topics)})))
    browser.problems.clear()
    browser.show(page, width=width, scheme="light")
    if SCREENSHOTS is not None:
        (Path(SCREENSHOTS) / f"report-{topics}-{width}.png").write_bytes(browser.screenshot())
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.documentElement.scrollHeight") < 12 * SCREEN_HEIGHT
    assert browser.evaluate(ROWS) == [1000, 1000, "1,000 rows"]
    last = f"topic{topics - 1}-{1000 // topics - 1}"
    assert browser.evaluate(FILTERED.replace("WORDS", f"{last.upper()} 2023")) == [1000, 1, "1 of 1,000 rows"]
    assert browser.evaluate(FILTERED.replace("WORDS", "nothing like it")) == [1000, 0, "0 of 1,000 rows"]
    assert browser.evaluate(FILTERED.replace("WORDS", "")) == [1000, 1000, "1,000 of 1,000 rows"]
    assert browser.problems == []


def test_requests_and_console_messages_of_a_page_are_recorded(browser: Chromium, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<img src="missing.png"><script>console.log("x"); nonsense()</script>')
    browser.problems.clear()
    browser.show(page, width=400, scheme="light")
    assert f"requested {(tmp_path / 'missing.png').as_uri()}" in browser.problems
    assert any("nonsense is not defined" in problem for problem in browser.problems)
    assert any(json.loads(problem).get("type") == "log" for problem in browser.problems if problem[0] == "{")


def is_inside(box: Box, frame: Box) -> bool:
    return frame[0] - 1 <= box[0] and frame[1] - 1 <= box[1] and box[2] <= frame[2] + 1 and box[3] <= frame[3] + 1


def assert_apart(*boxes: Box) -> None:
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            is_apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert is_apart, f"{one} and {other} overlap"


def luminance(colour: str) -> float:
    """Returns the relative luminance (WCAG) of rgb(…)."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)
