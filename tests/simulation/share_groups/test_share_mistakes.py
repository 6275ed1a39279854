"""Tests that the checkers notice classic mistakes of share groups: each makes a seed fail that passes without it."""

from collections.abc import Callable
from functools import cache

import pytest
from simulation.runs.known_seeds import FIXED_OF_SHARES
from simulation.share_groups.share_mistakes import MISTAKES
from simulation.share_groups.share_run import run_shares

RecordProperty = Callable[[str, object], None]

CAUGHT_BY: dict[str, tuple[int, str]] = {
    "locks keep nobody out": (1, "is delivered the"),
    "any member may acknowledge a record": (1, "lost records under live locks"),
    "locks do not end": (6, "not healed"),
    "a renewed lock ends at once": (6, "lost records under live locks"),
    "records are delivered without limit": (1, "is delivered the"),
    "released records are given up": (1, "is done, but no member accepted or rejected it"),
    "acknowledgements are answered before they are stored": (22, "is delivered after it was done"),
    "stored batches are not loaded": (1, "is delivered after it was done"),
    "stored records lose their delivery counts": (5, "was released after delivery"),
    "a snapshot has only the batches that changed last": (1, "is delivered after it was done"),
    "aborted records are delivered": (2, "its transaction was aborted"),
    "groups that begin at the end of logs begin at the start": (5, "is from before the group began"),
    "changes of a group's settings are not seen": (4, "has not been told the new interval"),
    "an altered offset is not stored": (3, "an administrator set"),
    "leaders of earlier epochs may write": (11, "had read"),
    "the stored start offset may fall": (7, "the group is done until"),
    "records are deleted that the state of another share partition needs": (1, "needs records that are deleted"),
    "a new snapshot of a cold state lacks what is being written": (20, "comes after"),
    "states of deleted topics are kept": (4, "its state is kept"),
    "changes of topics are not seen": (14, "the group knows"),
}
"""A seed that fails, and a part of its message. Others of the 200 fail too: after a change of the simulation, the first
of them is found, which takes longer, and pytest's summary names it.
"""


@cache
def passes(seed: int) -> bool:
    """Whether the seed passes without a mistake. Several mistakes are caught by the same seed."""
    return seed in FIXED_OF_SHARES or run_shares(seed).violation is None  # `test_share_runs.py` runs the fixed ones


@pytest.mark.parametrize("mistake", CAUGHT_BY)
def test_each_mistake_of_share_groups_is_caught_within_200_seeds(mistake: str, record_property: RecordProperty) -> None:
    first, told = CAUGHT_BY[mistake]
    for seed in (first, *range(1, 201)):
        with MISTAKES[mistake]():
            violation = run_shares(seed).violation
        if violation is not None and told in violation and passes(seed):
            if seed != first:
                record_property(f"seed of '{mistake}'", seed)
            return
    pytest.fail(f"not caught: {mistake}")


def test_every_mistake_of_share_groups_has_a_test_case() -> None:
    assert CAUGHT_BY.keys() == MISTAKES.keys()
