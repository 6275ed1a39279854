"""Tests that share groups keep their invariants in simulated clusters, and that such runs cover what they should."""

from collections import Counter
from functools import cache

import pytest
from simulation.runs.hash_seeds import outputs_under_two_hash_seeds
from simulation.runs.known_seeds import FIXED_OF_SHARES
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Result
from simulation.share_groups.share_run import run_shares

FURTHER = (*range(6, 41), 364, 444, 954, 1589)
"""The last ones failed once."""
TURNS = 40_000
OUTCOMES = (
    "a member begins sessions anew",
    "a member crashes",
    "a member leaves",
    "a member pauses",
    "acknowledge: NONE",
    "acknowledged: INVALID_RECORD_STATE",
    "acknowledged: NONE",
    "fetch: NONE",
    "heartbeat: NONE",
    "heartbeat: NOT_COORDINATOR",
    "records: NOT_LEADER_OR_FOLLOWER",
    "session: no answer",
)

run = cache(run_shares)


def passed(result: Result) -> Result:
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    return result


@pytest.mark.parametrize("seed", [*FIXED_OF_SHARES, *(pytest.param(seed, marks=pytest.mark.long) for seed in FURTHER)])
def test_share_groups_keep_their_invariants_within_the_iteration_limit(seed: int) -> None:
    assert passed(run(seed)).counts["turns"] < TURNS


def test_same_seed_gives_the_same_run_of_share_groups() -> None:
    assert run(2).digest == run_shares(2).digest


_DIGEST = """
from dataclasses import replace
from simulation.share_groups.share_plan import SharePlan
from simulation.share_groups.share_run import run_shares
print(run_shares(1, replace(SharePlan.of_seed(1), broker_count=3, are_leaders_moved=True)).digest)
"""


def test_run_of_share_groups_does_not_depend_on_the_hash_seed() -> None:
    runs = outputs_under_two_hash_seeds(_DIGEST)
    assert runs[0] == runs[1]


def test_members_of_share_groups_meet_every_outcome() -> None:
    counts: Counter[str] = Counter()
    for seed in FIXED_OF_SHARES:
        counts += run(seed).counts
    assert [each for each in OUTCOMES if not counts[f"share group: {each}"]] == []
    assert counts["share group: deliveries"] > counts["share group: records"] > 0
