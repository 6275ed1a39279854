"""Tests of campaigns of many seeds: selection of seeds, failures, totals and measured costs."""

import os
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from simulation.__main__ import main, seeds_of
from simulation.clients.producer import Producer
from simulation.encryption.encrypted_run import encrypted_plan
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs import campaign, planned_run, shortening, simulation_run
from simulation.runs.campaign import Summary, run_seeds
from simulation.runs.faults import FAULTS
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Plan, run_seed
from simulation.transactions.seams import SeamPlan
from simulation.transactions.transaction_run import TransactionPlan

PLAN = Plan(broker_count=1, duration_s=8.0, fault_count=2, change_count=0)


async def _breaks_off(producer: Producer) -> None:
    raise KeyError("a mistake of the harness")


def test_exception_in_a_run_is_a_violation_with_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Producer, "run", _breaks_off)
    result = run_seed(3, PLAN)
    assert result.violation is not None
    assert "KeyError: 'a mistake of the harness'" in result.violation
    assert any("broker-1: start" in line for line in useful_lines(result))


def test_run_that_cannot_be_closed_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    end = SimulatedCluster.end

    def end_and_break_off(cluster: SimulatedCluster) -> None:
        end(cluster)
        raise KeyError("something is left")

    monkeypatch.setattr(SimulatedCluster, "end", end_and_break_off)
    assert "could not be ended" in (run_seed(3, PLAN).violation or "")


def test_producers_stop_when_a_run_reaches_the_iteration_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(load_turns: int) -> tuple[int, int, int]:
        monkeypatch.setattr(simulation_run, "_LOAD_TURNS", load_turns)
        result = run_seed(3, replace(PLAN, duration_s=12.0))
        assert result.violation is None
        counts = result.counts
        return counts["turns"], counts["acks=1: acknowledged"], counts["runs in which producers rested early"]

    all_turns, all_batches, has_rested = taken(100_000)
    assert has_rested == 0
    turns, batches, has_rested = taken(all_turns // 3)
    assert turns < 0.8 * all_turns
    assert 0 < batches < 0.6 * all_batches
    assert has_rested == 1


def test_exception_in_one_seed_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, plan: Plan | None) -> simulation_run.Result:
        if seed == 2:
            raise KeyError("what a plan cannot be made of")
        return simulation_run.Result(seed)

    monkeypatch.setattr(planned_run, "run_seed", run)
    summary = Summary()
    for result, cpu_s in run_seeds([1, 2, 3], 1):
        summary.add(result, cpu_s)
    assert (summary.seeds, summary.failed) == (3, [2])


def test_every_tenth_seed_runs_with_a_single_fault_round_robin(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, plan: Plan | None) -> simulation_run.Result:
        plan = plan or Plan.of_seed(seed)
        fault = plan.only_fault
        met = Counter(["way is cut" if fault is None else fault])
        return simulation_run.Result(seed, plan=plan, fired=met, met=met, counts=Counter(turns=1))

    monkeypatch.setattr(planned_run, "run_seed", run)
    summary = Summary()
    for result, cpu_s in run_seeds(range(1, 10 * len(FAULTS) + 1), 1):
        summary.add(result, cpu_s)
    assert summary.seeds == summary.counts["turns"] == summary.met["way is cut"] == 10 * len(FAULTS)
    assert summary.alone["met"] == dict.fromkeys(FAULTS, 1)
    assert summary.alone["changed"].total() == 0


def test_campaign_of_transactions_runs_each_seed_once_with_its_own_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, plan: TransactionPlan) -> simulation_run.Result:
        return simulation_run.Result(seed, plan=plan)

    monkeypatch.setattr(planned_run, "run_transactions", run)
    results = [result for result, _ in run_seeds([1, 2, 10], 1, with_transactions=True)]
    assert [(result.seed, result.plan) for result in results] == [
        (seed, TransactionPlan.of_seed(seed)) for seed in (1, 2, 10)
    ]


def test_campaign_over_tls_runs_each_seed_once_with_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, plan: Plan) -> simulation_run.Result:
        return simulation_run.Result(seed, plan=plan)

    monkeypatch.setattr(planned_run, "run_encrypted", run)
    results = [result for result, _ in run_seeds([1, 2, 10], 1, with_tls=True)]
    assert [(result.seed, result.plan) for result in results] == [(seed, encrypted_plan(seed)) for seed in (1, 2, 10)]


def test_failing_run_of_transactions_is_shortened_to_its_needed_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, plan: TransactionPlan) -> simulation_run.Result:
        is_needed_left_out = 1 in plan.skipped
        return simulation_run.Result(seed, None if is_needed_left_out else "wrong", plan)

    monkeypatch.setattr(planned_run, "run_transactions", run)
    plan = TransactionPlan(fault_count=3, change_count=0, at_seams=SeamPlan(4))
    shortest = shortening.shortened(simulation_run.Result(1, "wrong", plan))
    assert shortest.plan == replace(plan, skipped=frozenset({0, 2}), at_seams=SeamPlan())


def test_seeds_of_a_dead_process_fail_and_new_processes_run_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign, "_runs_of", os._exit)  # whoever runs a seed dies of it
    results = [result for result, _ in run_seeds(range(1, 8), 2)]
    assert sorted(result.seed for result in results) == list(range(1, 8))
    assert ["the run broke off" in (result.violation or "") for result in results] == [True] * 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_seed_begins_after_the_time_limit(jobs: int) -> None:
    assert list(run_seeds(range(1, 8), jobs, until_s=time.monotonic() - 1)) == []


def test_counts_of_several_campaigns_are_added_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(seed: int, plan: Plan | None) -> simulation_run.Result:
        violation = "wrong" if seed == 2 else None
        met, counts = Counter(["way is cut"]), Counter(turns=seed)
        plan = plan or Plan.of_seed(seed)
        return simulation_run.Result(seed, violation, plan, virtual_s=2.0, fired=met, met=met, counts=counts)

    monkeypatch.setattr(planned_run, "run_seed", run)
    tally = tmp_path / "tally.json"
    codes = [main([f"--seeds={seeds}", "--jobs=1", f"--tally={tally}"]) for seeds in ("1-10", "11-15")]
    assert codes == [1, 0]
    out, _ = capsys.readouterr()
    told = out.rpartition("15 seeds (1-10, 11-15), 30 virtual seconds")[2].splitlines()
    assert told[2] == "15 turns of the loop at most (seed 15)"
    assert told[4].split() == ["way", "is", "cut", "15", "15", "0", "1", "1", "0"]
    assert told[6].split() == ["turns", str(sum(range(1, 16)))]
    assert told[-1] == "failed: [2]"


def test_expensive_seeds_are_measured_again_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = {1: 1.5, 2: 0.4, 3: 1.2}
    weighed: list[list[int]] = []

    def costs_alone(seeds: list[int]) -> list[tuple[int, float]]:
        weighed.append(list(seeds))
        return [(seed, costs[seed] / 2) for seed in seeds]

    monkeypatch.setattr(campaign, "_runs_of", lambda seed: [(simulation_run.Result(seed), costs[seed])])
    monkeypatch.setattr(campaign, "_costs_alone", costs_alone)
    assert main(["--seeds=1-3", "--jobs=1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert weighed == [[1, 3]]
    assert "3 s of CPU: 1.03 a seed, at most 1.50 (seed 1), 2 over 1 s (66.7%)" in lines
    assert "alone, those cost at most 0.75 (seed 1)" in lines


def test_cost_of_a_single_seed_is_measured_in_its_own_process() -> None:
    ((seed, cpu_s),) = campaign._costs_alone([3])
    assert seed == 3
    assert cpu_s > 0


@pytest.mark.parametrize("told", ["5-1", "x", "", "1-", "-3", "1-2-3"])
def test_invalid_seeds_argument_is_an_error(told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--seeds={told}"]) == 2
    out, error = capsys.readouterr()
    assert (out, error) == ("", f"scripts/simulate: --seeds {told}: A-B with A up to B, or one number\n")


def test_seeds_argument_is_a_range_or_one_number() -> None:
    assert (seeds_of("3-5"), seeds_of("4")) == (range(3, 6), range(4, 5))


def test_run_ends_at_its_first_violation() -> None:
    def prepare(cluster: SimulatedCluster) -> None:
        cluster.loop.call_later(2.0, cluster.history.violations.append, "broken")

    result = run_seed(1, Plan(duration_s=20.0, fault_count=0, change_count=0), prepare)
    assert result.violation == "broken"
    assert result.virtual_s < 10.0
