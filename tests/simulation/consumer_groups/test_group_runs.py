"""Tests that consumer groups keep their invariants in simulated clusters, and that such runs cover what they should."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from simulation.clients.consumer_member import COOPERATIVE, EAGER
from simulation.consumer_groups.group_plan import GroupPlan
from simulation.consumer_groups.group_run import run_groups
from simulation.runs.known_seeds import FIXED_OF_GROUPS
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Result

FURTHER = (*(seed for seed in range(1, 61) if seed not in FIXED_OF_GROUPS), 180, 657, 986, 2499, 2520, 3183, 3324, 3483)
"""The last ones failed once."""
TURNS = 30_000
CALM = replace(GroupPlan.of_seed(1), broker_count=3, duration_s=10.0, fault_count=0, change_count=0, member_count=4)

run = cache(run_groups)


def passed(result: Result) -> Result:
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    return result


@pytest.mark.parametrize("seed", [*FIXED_OF_GROUPS, *(pytest.param(seed, marks=pytest.mark.long) for seed in FURTHER)])
def test_consumer_groups_keep_their_invariants_within_the_iteration_limit(seed: int) -> None:
    assert passed(run(seed)).counts["turns"] < TURNS


def test_same_seed_gives_the_same_run_of_consumer_groups() -> None:
    assert run(5).digest == run_groups(5).digest


def test_members_of_consumer_groups_meet_every_outcome() -> None:
    """Fences, late commits, static members that return, members that give nothing back, moves of the coordinator."""
    counts: Counter[str] = Counter()
    for seed, plan in enumerate(
        [
            CALM,
            replace(CALM, static_count=4, are_coordinators_moved=True),
            replace(CALM, static_count=0, lives=replace(CALM.lives, stuck_share=1.0)),
        ]
    ):
        counts += passed(run_groups(100 + seed, plan)).counts
    for expected in (
        "consumer group: commit: NONE",
        "consumer group: commit: UNKNOWN_MEMBER_ID",
        "consumer group: fetch: UNKNOWN_MEMBER_ID",
        "consumer group: heartbeat: UNKNOWN_MEMBER_ID",
        "consumer group: heartbeat: UNRELEASED_INSTANCE_ID",
        "consumer group: heartbeat: NOT_COORDINATOR",
        "consumer group: members that give nothing back",
        "consumer group: records read",
        "consumer group: static members that returned",
    ):
        assert counts[expected] > 0, expected


@pytest.mark.parametrize("protocol", [COOPERATIVE, EAGER])
def test_groups_change_their_protocol_as_members_of_both_come_and_go(protocol: str) -> None:
    lives = replace(CALM.lives, protocols=(None, protocol), events=("leaves", "crashes", "subscribes"))
    plan = replace(CALM, static_count=2, are_coordinators_moved=True, lives=lives)
    counts = passed(run_groups(300, plan)).counts
    assert counts["consumer group: changes of the protocol"] > 0
    for expected in ("join: MEMBER_ID_REQUIRED", "join: NONE", "sync: NONE", "heartbeat: REBALANCE_IN_PROGRESS"):
        assert counts[f"classic member: {expected}"] > 0, expected


def test_no_member_that_behaves_is_fenced() -> None:
    """The coordinator moves, but no broker fails; the members come, go and subscribe to other topics."""
    lives = replace(CALM.lives, stuck_share=0.0, events=("leaves", "subscribes"))
    for seed in range(200, 203):
        plan = replace(CALM, static_count=2, are_coordinators_moved=True, lives=lives)
        counts = passed(run_groups(seed, plan)).counts
        assert counts["consumer group: fenced"] == 0
        assert counts["consumer group: epochs"] > 10
