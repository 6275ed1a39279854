"""Tests of the report of `scripts/bench`: missed targets and exit code."""

from dataclasses import replace

import pytest
from benchmarks import __main__ as bench
from benchmarks.report import Figures, missed, report
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.security import SECURITY_WORKLOADS
from benchmarks.targets import at_most, ratio_at_least
from benchmarks.transactions import TRANSACTION_WORKLOADS
from benchmarks.workloads import WORKLOADS, Workload

ROW = "produce"


def figures(ours: list[float], theirs: list[float], name: str = "records/s") -> Figures:
    return {ROW: {"pybroker": {name: ours}, "kafka": {name: theirs}}}


@pytest.mark.parametrize(
    ("ours", "theirs", "is_missed"),
    [
        ([130.0, 131.0, 50.0], [100.0, 100.0, 100.0], False),  # medians
        ([129.0, 129.0, 500.0], [100.0, 100.0, 100.0], True),
        ([130.0], [], True),  # nothing to compare with
        ([], [100.0], True),
    ],
)
def test_too_small_or_unknown_ratio_misses_its_target(ours: list[float], theirs: list[float], is_missed: bool) -> None:
    targets = {ROW: (ratio_at_least("records/s", 1.3),)}
    assert missed(figures(ours, theirs), targets) == ([f"{ROW}: records/s ≥ 1.3 of Kafka"] if is_missed else [])


@pytest.mark.parametrize(("ours", "is_missed"), [(60.0, False), (60.1, True)])
def test_bound_on_our_own_figure_needs_no_kafka(ours: float, is_missed: bool) -> None:
    targets = {ROW: (at_most("MiB", 60),)}
    assert bool(missed({ROW: {"pybroker": {"MiB": [ours]}}}, targets)) is is_missed


def test_unmeasured_row_or_figure_misses_its_target_and_is_named() -> None:
    targets = {ROW: (at_most("records/s", 200), at_most("p99 ms", 5)), "start": (at_most("s", 0.5),)}
    found = figures([100.0], [100.0])
    assert missed(found, targets) == [f"{ROW}: p99 ms ≤ 5", "start: s ≤ 0.5"]
    lines = report(found, targets).splitlines()
    assert lines[-3:] == ["1 of 3 targets reached.", f"Missed: {ROW}: p99 ms ≤ 5", "Missed: start: s ≤ 0.5"]


@pytest.mark.parametrize(("memory_mib", "code"), [(59.0, 0), (61.0, 1)])
def test_run_that_misses_a_target_exits_with_1(
    memory_mib: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "memory at rest, no topics, one minute after the start"
    found = {row: {"pybroker": {"MiB": [memory_mib]}, "kafka": {"MiB": [350.0]}}}
    monkeypatch.setattr(bench, "measured", lambda *arguments: found)
    assert bench.main(["--only", row]) == code
    assert f"{1 - code} of 1 targets reached." in capsys.readouterr().out


def test_failing_row_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start, rest, _ = SCENARIOS

    def fails(*arguments: object) -> dict[str, dict[str, float]]:
        raise RuntimeError("the tool failed:\nbecause")

    found = {"pybroker": {"MiB": 50.0}, "kafka": {"MiB": 350.0}}
    scenarios = (replace(start, run=fails), replace(rest, run=lambda *arguments: found))
    monkeypatch.setattr(bench, "ALL_SCENARIOS", scenarios)
    for rows in ("WORKLOADS", "TRANSACTION_WORKLOADS", "SECURITY_WORKLOADS"):
        monkeypatch.setattr(bench, rows, ())
    assert bench.main(["--rounds", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-3:] == [
        "1 of 2 targets reached.",
        f"Missed: {start.name}: s ≤ 0.5",
        f"Failed: {start.name}: the tool failed:",
    ]
    assert "because" in printed.err


def test_rows_have_unique_names_and_each_figure_one_target() -> None:
    rows: tuple[Workload | Scenario, ...] = (
        *WORKLOADS,
        *TRANSACTION_WORKLOADS,
        *SECURITY_WORKLOADS,
        *bench.ALL_SCENARIOS,
    )
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    for row in rows:
        figures_judged = [target.figure for target in row.targets]
        assert len(set(figures_judged)) == len(figures_judged)
