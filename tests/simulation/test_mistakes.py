"""The checkers see the classic mistakes: each makes one of 200 seeds fail, and that seed passes without it."""

import pytest
from simulation.mistakes import MISTAKES, slow_queues
from simulation.simulation_run import run_seed

CAUGHT_BY = {
    "a follower truncates to its high watermark": 26,
    "the high watermark does not wait for the maximal ISR": 12,
    "the high watermark moves below min.insync.replicas": 113,
    "leaders are elected outside of the ISR": 49,
    "the controller forgets broker epochs": 30,
    "an append that was queued as leader runs as follower": 4,
    "consumers see what is not committed": 1,
    "who reads committed records sees open transactions": 1,
    "a log forgets the sequences of producers": 1,
}
"""The seed to begin with: the first that was found. Another one of the 200 does, too."""


@pytest.mark.parametrize("mistake", CAUGHT_BY)
def test_a_mistake_is_caught_within_200_seeds(mistake: str) -> None:
    for seed in (CAUGHT_BY[mistake], *range(1, 201)):
        with MISTAKES[mistake]():
            caught = run_seed(seed).violation is not None
        if caught and run_seed(seed).violation is None:
            return
    pytest.fail(f"not caught: {mistake}")


def test_appends_that_wait_for_long_are_no_mistake_as_long_as_they_are_fenced() -> None:
    with slow_queues():
        result = run_seed(1)
    assert result.violation is None


def test_every_mistake_is_tried() -> None:
    assert CAUGHT_BY.keys() == MISTAKES.keys()
