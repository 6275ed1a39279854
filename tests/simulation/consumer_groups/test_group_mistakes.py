"""Tests that the checkers notice classic mistakes of consumer groups: each makes a seed fail that passes without it."""

from collections.abc import Callable
from functools import cache

import pytest
from simulation.consumer_groups.group_mistakes import MISTAKES
from simulation.consumer_groups.group_run import run_groups
from simulation.runs.known_seeds import FIXED_OF_GROUPS

RecordProperty = Callable[[str, object], None]

CAUGHT_BY: dict[str, tuple[int, str]] = {
    "a classic member counts as one that has nothing when it joins again": (87, "is accepted, but"),
    "the members of a classic group have nothing when it becomes a consumer group": (24, "is accepted, but"),
    "a consumer group becomes a classic one of the first generation": (12, "generation 1 follows epoch"),
    "the records of a consumer group stay when it becomes a classic one": (12, "the group is classic, and has"),
    "classic members have as much time as they like to join again": (42, "not healed"),
    "classic members are not told to join again": (24, "not healed"),
    "a partition is given out before it is given back": (2, "got the partition in epoch"),
    "members have as much time as they like to give partitions back": (38, "not healed"),
    "the previous epoch is accepted whatever the client has": (5, "a late heartbeat of epoch"),
    "members without heartbeats stay": (1, "not healed"),
    "a client that does not say what it has has nothing": (2, "is accepted, but"),
    "a member gets a new epoch before it has given partitions back": (2, "although it has to give back partitions"),
    "commits are accepted in any epoch": (5, "got the partition in epoch"),
    "a static member that leaves for a while is removed": (2, "the return of a static member changed"),
    "each heartbeat writes a record": (1, "a stable group has written"),
    "a heartbeat that repeats the last one is answered as before although the group has changed": (2, "not healed"),
    "a topic made anew is taken for the old one": (6, "not healed: assigned are"),
    "changes of topics are not seen": (6, "not healed: assigned are"),
    "the assignment of a member is not written": (1, "not healed"),
    "target assignments are not loaded": (16, "in memory"),
    "the tombstone of a member comes before those of its assignment": (1, "is deleted before its assignment"),
    "the offset of another partition is told": (2, "but the group has read up to"),
    "committed offsets are not loaded": (2, "was committed"),
    "batches are written behind one that was not": (180, "a member's epoch is above the target's"),
    "heartbeats are answered before their records are written": (21, "which is not in the log"),
}
"""A seed that fails, and a part of its message. Others of the 200 fail too: after a change of the simulation, the first
of them is found, which takes longer, and pytest's summary names it.
"""


@cache
def passes(seed: int) -> bool:
    """Whether the seed passes without a mistake. Several mistakes are caught by the same seed."""
    return seed in FIXED_OF_GROUPS or run_groups(seed).violation is None  # `test_group_runs.py` runs the fixed ones


@pytest.mark.parametrize("mistake", CAUGHT_BY)
def test_each_mistake_of_consumer_groups_is_caught_within_200_seeds(
    mistake: str, record_property: RecordProperty
) -> None:
    first, told = CAUGHT_BY[mistake]
    for seed in (first, *range(1, 201)):
        with MISTAKES[mistake]():
            violation = run_groups(seed).violation
        if violation is not None and told in violation and passes(seed):
            if seed != first:
                record_property(f"seed of '{mistake}'", seed)
            return
    pytest.fail(f"not caught: {mistake}")


def test_every_mistake_of_consumer_groups_has_a_test_case() -> None:
    assert CAUGHT_BY.keys() == MISTAKES.keys()
