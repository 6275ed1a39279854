"""Tests that the checkers notice classic mistakes of consumer groups: each makes a seed fail that passes without it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from simulation.clients.consumer_member import COOPERATIVE
from simulation.consumer_groups.group_mistakes import MISTAKES
from simulation.consumer_groups.group_run import GroupPlan, run_groups
from simulation.consumer_groups.member_life import LifePlan
from simulation.runs.known_seeds import FIXED_OF_GROUPS

RecordProperty = Callable[[str, object], None]

CAUGHT_BY: dict[str, tuple[int, str]] = {
    "a classic member counts as one that has nothing when it joins again": (30, "the partition is not the member's"),
    "the members of a classic group have nothing when it becomes a consumer group": (
        6,
        "the partition is not the member's",
    ),
    "a consumer group becomes a classic one of the first generation": (6, "generation 1 follows epoch"),
    "the records of a consumer group stay when it becomes a classic one": (6, "the group is classic, and has"),
    "classic members have as much time as they like to join again": (4, "not healed"),
    "classic members are not told to join again": (24, "not healed"),
    "a partition is given out before it is given back": (2, "got the partition in epoch"),
    "members have as much time as they like to give partitions back": (38, "not healed"),
    "the previous epoch is accepted whatever the client has": (1, "a late heartbeat of epoch"),
    "members without heartbeats stay": (1, "not healed"),
    "a client that does not say what it has has nothing": (5, "the partition is not the member's"),
    "a member gets a new epoch before it has given partitions back": (2, "although it has to give back partitions"),
    "commits are accepted in any epoch": (5, "got the partition in epoch"),
    "a static member that leaves for a while is removed": (2, "the return of a static member changed"),
    "each heartbeat writes a record": (1, "a stable group has written"),
    "a topic made anew is taken for the old one": (13, "not healed: assigned are"),
    "changes of topics are not seen": (31, "not healed: assigned are"),
    "the assignment of a member is not written": (1, "not healed"),
    "target assignments are not loaded": (16, "in memory"),
    "the tombstone of a member comes before those of its assignment": (1, "is deleted before its assignment"),
    "heartbeats are answered before their records are written": (14, "which is not in the log"),
}
"""A seed that fails, and a part of its message. Others of the 200 fail too: after a change of the simulation, the first
of them is found, which takes longer, and pytest's summary names it.
"""

MORE: dict[str, dict[str, Any]] = {
    "classic members have as much time as they like to join again": {
        "fault_count": 0,
        "member_count": 3,
        "lives": LifePlan("consumers", (("stable",),), stuck_share=1.0, protocols=(None, COOPERATIVE)),
    },
    "the previous epoch is accepted whatever the client has": {
        "fault_count": 0,
        "member_count": 3,
        "static_count": 0,
        "lives": LifePlan("consumers", (("stable",),), are_repeated=True),
    },
    "a topic made anew is taken for the old one": {
        "fault_count": 0,
        "member_count": 1,
        "static_count": 0,
        "changing_count": 1,
        "lives": LifePlan("consumers", (("stable", "changing0"),), lives_s=(20.0, 30.0)),
    },
    "heartbeats are answered before their records are written": {
        "broker_count": 3,
        "faults": ("process dies",),
        "fault_count": 10,
        "is_log_cleaned": False,
    },
}
"""Parameters of these mistakes' runs, in place of those chosen by the seed."""


@cache
def passes(seed: int, plan_id: str) -> bool:
    """Whether the seed passes without a mistake. Several mistakes are caught by the same seed."""
    if seed in FIXED_OF_GROUPS and plan_id not in MORE:
        return True  # `test_group_runs.py` runs it
    return run_groups(seed, plan_of(seed, plan_id)).violation is None


def plan_of(seed: int, mistake: str) -> GroupPlan:
    return replace(GroupPlan.of_seed(seed), **MORE.get(mistake, {}))


@pytest.mark.parametrize("mistake", CAUGHT_BY)
def test_each_mistake_of_consumer_groups_is_caught_within_200_seeds(
    mistake: str, record_property: RecordProperty
) -> None:
    first, told = CAUGHT_BY[mistake]
    for seed in (first, *range(1, 201)):
        with MISTAKES[mistake]():
            violation = run_groups(seed, plan_of(seed, mistake)).violation
        if violation is not None and told in violation and passes(seed, mistake if mistake in MORE else ""):
            if seed != first:
                record_property(f"seed of '{mistake}'", seed)
            return
    pytest.fail(f"not caught: {mistake}")


def test_every_mistake_of_consumer_groups_has_a_test_case() -> None:
    assert CAUGHT_BY.keys() == MISTAKES.keys()
