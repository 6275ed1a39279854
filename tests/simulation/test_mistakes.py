"""Tests that the checkers notice classic mistakes: each makes one of 200 seeds fail that passes without it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from simulation.runs.known_seeds import FIXED
from simulation.runs.log_mistakes import lost_answers, lost_requests
from simulation.runs.mistakes import MISTAKES, slow_queues
from simulation.runs.simulation_run import Plan, run_seed

RecordProperty = Callable[[str, object], None]

CAUGHT_BY = {
    "a follower truncates to its high watermark": (38, "leads under epoch"),
    "the high watermark does not wait for the maximal ISR": (23, "the high watermark moves to"),
    "the maximal ISR leaves out joining replicas": (23, "the high watermark moves to"),
    "the high watermark moves below min.insync.replicas": (113, "the minimum is 2"),
    "leaders are elected outside of the ISR": (13, "is elected, the ISR was"),
    "the controller forgets broker epochs": (106, "leads under epoch"),
    "an append that was queued as leader runs as follower": (16, "replicated batches have offsets"),
    "consumers read uncommitted records": (1, "where it may see what is before"),
    "read_committed consumers read open transactions": (1, "of a transaction that is not committed"),
    "a log forgets the sequences of producers": (2, "is there more than once"),
    "a log remembers only the last batch of each producer": (4, "the next in its sequence, was refused"),
    "a truncated log forgets its producers": (3, "is there more than once"),
    "a log forgets producer batches missing from the snapshot": (195, "the next in its sequence, was refused"),
    "a leader does not check sequences": (1, "comes before"),
    "a log forgets that it refused a batch": (1, "which had refused the batch before it"),
    "a duplicate is answered with another offset": (2, "is lost"),
    "committed transactions are listed as aborted": (1, "consumer1 has not read"),
    "aborted transactions are not listed": (1, "of a transaction that is not committed"),
    "a start drops records after the recovery point": (6, "committed was"),
    "retention by size deletes records that must be kept": (3, "bytes left; asked for was"),
    "retention by time deletes records that must be kept": (3, "bytes left; asked for was"),
    "a leader does not tell followers where their logs diverge": (24, "at offset"),
    "a new leader keeps the epoch of its predecessor": (3, "leads under epoch"),
    "a follower that has caught up stays outside of the ISR": (1, "not healed"),
    "a record is acknowledged before it is written": (18, "its leader was never another"),
    "a controller writes without checking the controller epoch": (1, "without a check of the controller epoch"),
    "an offset commit does not wait for replicas": (9, "was committed,"),
    "logs of deleted topics are kept": (5, "was deleted, and brokers"),
    "more records are deleted than a client asked for": (5, "asked for was"),
    "a recovery truncates more than a crash took": (3, "more is lost than its crash took"),
    "a restarted log starts at a later offset": (2, "(before: 0)"),
    "leaders refuse all records after an election": (2, "after all is healed"),
    "refused records are written": (27, "attempts"),
}
"""A seed that fails, and a part of its message. Others of the 200 fail too: after a change of the simulation, the first
of them is found, which takes longer, and pytest's summary names it.
"""

RIGHT = {
    "an append that was queued as leader runs as follower": slow_queues,
    "a truncated log forgets its producers": lost_answers,
    "a leader does not check sequences": lost_requests,
}
"""Changes made together with a mistake that are none themselves: a run with them alone must pass."""


MORE: dict[str, dict[str, Any]] = {
    "a truncated log forgets its producers": {
        "faults": ("broker is stopped", "link is cut", "way is slow"),
        "broker_count": 3,
        "fault_count": 12,
        "change_count": 16,
        "duration_s": 10.0,
    },
    "a log forgets that it refused a batch": {
        "faults": ("connections break", "disk is full"),
        "broker_count": 3,
        "fault_count": 10,
        "change_count": 0,
        "duration_s": 12.0,
    },
    "the controller forgets broker epochs": {
        "faults": ("power fails",),
        "broker_count": 3,
        "fault_count": 10,
        "duration_s": 12.0,
    },
    "refused records are written": {
        "faults": ("broker is isolated", "process dies", "power fails", "link is cut"),
        "broker_count": 3,
        "fault_count": 10,
        "duration_s": 12.0,
    },
}
"""Parameters of these mistakes' runs, in place of those chosen by the seed. The first needs a stored batch that is
retried after two leader changes and truncations; the second, several batches in flight to a leader whose disk is full;
the third, a broker that restarts without its last records before its session has ended; the fourth, an ISR below the
minimum.
"""


@pytest.mark.parametrize("mistake", CAUGHT_BY)
def test_each_mistake_is_caught_within_200_seeds(mistake: str, record_property: RecordProperty) -> None:
    first, told = CAUGHT_BY[mistake]
    for seed in (first, *range(1, 201)):
        plan = replace(Plan.of_seed(seed), **MORE.get(mistake, {}))
        with MISTAKES[mistake]():
            violation = run_seed(seed, plan).violation
        if violation is None or told not in violation:
            continue
        if seed != first:
            record_property(f"seed of '{mistake}'", seed)
        if seed in FIXED and mistake not in RIGHT and mistake not in MORE:
            return  # `test_seeds.py` runs it without the mistake
        with RIGHT.get(mistake, nullcontext)():
            if run_seed(seed, plan).violation is None:
                return
    pytest.fail(f"not caught: {mistake}")


def test_every_mistake_has_a_test_case() -> None:
    assert CAUGHT_BY.keys() == MISTAKES.keys()
