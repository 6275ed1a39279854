"""Tests that the checkers notice classic mistakes of coordinators: each makes a seed fail that passes without it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from simulation.runs.known_seeds import FIXED_OF_TRANSACTIONS
from simulation.transactions.seams import SeamPlan
from simulation.transactions.transaction_mistakes import MISTAKES
from simulation.transactions.transaction_run import TransactionPlan, run_transactions

RecordProperty = Callable[[str, object], None]

CAUGHT_BY: dict[str, tuple[int, str]] = {
    "markers are written before the decision is committed": (1, "committed before offset"),
    "a transaction is complete before all markers are written": (3, "not healed"),
    "requests are answered before the record is committed": (57, "the commit was acknowledged"),
    "a load acts on records above the high watermark": (1, "are committed"),
    "an append without a result counts as not written": (1, "follows"),
    "markers have no coordinator epoch": (1, "is of an earlier coordinator"),
    "EndTxn does not compare epochs": (1, "the commit was acknowledged"),
    "EndTxn of version 2 does not compare epochs": (1, "was fenced"),
    "a batch of a new epoch is taken into the open transaction of the old one": (9, "not healed"),
    "AddPartitionsToTxn does not compare epochs": (1, "is aborted"),
    "a new producer does not abort the transaction of the one before it": (9, "not healed"),
    "a new producer gets no new epoch": (3, "was fenced"),
    "a timeout does not raise the epoch": (3, "the commit was acknowledged"),
    "ids with an open transaction expire": (1, "last stable offset"),
    "a load forgets the partitions of ending transactions": (2, "last stable offset"),
    "a partition without a leader counts as deleted": (33, "last stable offset"),
    "every partition counts as verified": (4, "is aborted"),
    "markers are kept when a partition is unloaded": (9, "markers of transactions are left"),
    "a marker is acknowledged before its offsets take effect": (1, "are missing"),
}
"""A seed that fails, and a part of its message. Others of the 200 fail too: after a change of the simulation, the first
of them is found, which takes longer, and pytest's summary names it.
"""

CALM: dict[str, Any] = {
    "fault_count": 0,
    "change_count": 0,
    "at_seams": SeamPlan(),
    "broker_count": 3,
    "first_epoch": None,
}
ZOMBIES: dict[str, Any] = {**CALM, "writer_count": 3, "lives_s": (0.3, 1.2), "timeouts_ms": (20_000,)}
MORE: dict[str, dict[str, Any]] = {
    "requests are answered before the record is committed": {
        **CALM,
        "at_seams": SeamPlan(8, ("a record is being appended",), ("loses a follower and dies",)),
    },
    "EndTxn does not compare epochs": ZOMBIES,
    "EndTxn of version 2 does not compare epochs": {**ZOMBIES, "transaction_version": 2},
    "a batch of a new epoch is taken into the open transaction of the old one": {
        **CALM,
        "transaction_version": 2,
        "at_seams": SeamPlan(10, ("markers are queued",)),
        "timeouts_ms": (20_000,),
        "lives_s": (30.0, 30.0),
        "writer_count": 3,
    },
    "AddPartitionsToTxn does not compare epochs": ZOMBIES,
    "markers are kept when a partition is unloaded": {
        **CALM,
        "at_seams": SeamPlan(8, ("markers are queued",), ("is cut off", "the partition moves")),
    },
    "a timeout does not raise the epoch": {**CALM, "writer_count": 3, "timeouts_ms": (600,)},
    "ids with an open transaction expire": {**CALM, "expiration_ms": 1_000, "copier_count": 1},
    "a partition without a leader counts as deleted": {
        **CALM,
        "faults": ("process dies", "broker is stopped"),
        "fault_count": 6,
        "writer_count": 3,
    },
    "every partition counts as verified": {
        **CALM,
        "at_seams": SeamPlan(10, ("a client sends a batch",)),
        "timeouts_ms": (20_000,),
        "lives_s": (30.0, 30.0),
        "copier_count": 0,
        "writer_count": 3,
    },
}
"""Parameters of these mistakes' runs, in place of those chosen by the seed. The last needs a batch that arrives after
its transaction was aborted, from a client that has no successor.
"""


@cache
def passes(seed: int, plan: TransactionPlan) -> bool:
    """Whether the seed passes without a mistake. Several mistakes are caught by the same seed."""
    if seed in FIXED_OF_TRANSACTIONS and plan == TransactionPlan.of_seed(seed):
        return True  # `test_transaction_runs.py` runs it
    return run_transactions(seed, plan).violation is None


@pytest.mark.parametrize("mistake", CAUGHT_BY)
def test_each_mistake_of_coordinators_is_caught_within_200_seeds(mistake: str, record_property: RecordProperty) -> None:
    first, told = CAUGHT_BY[mistake]
    for seed in (first, *range(1, 201)):
        plan = replace(TransactionPlan.of_seed(seed), **MORE.get(mistake, {}))
        with MISTAKES[mistake]():
            violation = run_transactions(seed, plan).violation
        if violation is not None and told in violation and passes(seed, plan):
            if seed != first:
                record_property(f"seed of '{mistake}'", seed)
            return
    pytest.fail(f"not caught: {mistake}")


def test_every_mistake_of_coordinators_has_a_test_case() -> None:
    assert CAUGHT_BY.keys() == MISTAKES.keys()
