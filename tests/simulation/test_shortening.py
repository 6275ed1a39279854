"""Tests that a failing seed is repeated exactly, and that its report is short and about the violation."""

import re
from collections.abc import Callable

import pytest
from simulation.__main__ import main
from simulation.runs import planned_run
from simulation.runs.mistakes import MISTAKES
from simulation.runs.shortening import retold, shortened
from simulation.runs.simulation_run import Plan, Result, run_seed

MISTAKE = "a record is acknowledged before it is written"
SEED = 29
"""This seed fails with the mistake. Only some of its six faults are needed for that."""


def test_report_of_a_failing_seed_is_short_and_names_the_records(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MISTAKES[MISTAKE]():
        first, second = run_seed(SEED), run_seed(SEED)
        assert main([f"--seeds={SEED}", "--jobs=1"]) == 1
    assert first.violation is not None
    assert (first.lines, first.digest, first.violation) == (second.lines, second.digest, second.violation)

    printed, _ = capsys.readouterr()
    assert f"seed {SEED} failed: {first.violation}" in printed
    history = printed.partition(f"\nseed {SEED}, Plan(")[2].partition(" seeds (")[0]
    told = [line for line in history.splitlines() if re.match(r" *\d+\.\d{4} ", line)]
    lost = re.search(r"(producer1/topic\d-\d/\d+/0) .* is lost", history)
    assert lost is not None
    assert any(f" producer1: {lost[1]}+" in line and "acknowledged" in line for line in told)
    assert not any(" producer2: " in line for line in told)
    assert len(told) < len(first.lines) / 2
    assert 0 < _faults_of(told) < _faults_of(first.lines)


def _faults_of(lines: list[str]) -> int:
    return sum(" fault: " in line and not line.endswith(" is over") for line in lines)


def fails_when(monkeypatch: pytest.MonkeyPatch, is_wrong: Callable[[set[int], int], bool]) -> Result:
    """Replaces runs by ones of five faults and two changes that fail under this condition; returns the run with all
    of them.
    """

    def run(seed: int, plan: Plan) -> Result:
        faults = set(range(plan.fault_count)) - plan.skipped
        return Result(seed, "wrong" if is_wrong(faults, plan.change_count) else None, plan, ["a line"], len(faults))

    monkeypatch.setattr(planned_run, "run_seed", run)
    return run(1, Plan(fault_count=5, change_count=2))


def left_in(result: Result) -> tuple[set[int], int]:
    return set(range(result.plan.fault_count)) - result.plan.skipped, result.plan.change_count


def test_every_unnecessary_fault_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 0 can only be removed after fault 4."""
    failed = fails_when(monkeypatch, lambda faults, changes: 2 in faults and (0 in faults or 4 not in faults))
    assert left_in(shortened(failed)) == ({2}, 0)


def test_shortened_run_keeps_all_faults_it_needs_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = fails_when(monkeypatch, lambda faults, changes: {1, 4} <= faults and changes > 0)
    assert left_in(shortened(failed)) == ({1, 4}, 2)


def test_run_that_is_not_repeated_exactly_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = fails_when(monkeypatch, lambda faults, changes: True)
    failed.digest = 17
    assert "is another run now" in next(retold(failed))


def test_seed_whose_process_died_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs it again might die too."""
    failed = fails_when(monkeypatch, lambda faults, changes: True)
    failed.lines.clear()
    assert list(retold(failed)) == ["seed 1 broke off, and is not run again here"]
