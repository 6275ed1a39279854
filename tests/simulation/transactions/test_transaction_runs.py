"""Tests that transactions keep their invariants in simulated clusters, and that such runs cover what they should."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from simulation.runs.known_seeds import FIXED_OF_TRANSACTIONS
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Result
from simulation.transactions.seams import SEAMS, SeamPlan
from simulation.transactions.transaction_run import TransactionPlan, run_transactions

FURTHER = [seed for seed in range(1, 61) if seed not in FIXED_OF_TRANSACTIONS]
TURNS = 30_000

run = cache(run_transactions)


def passed(result: Result) -> Result:
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    return result


@pytest.mark.parametrize(
    "seed", [*FIXED_OF_TRANSACTIONS, *(pytest.param(seed, marks=pytest.mark.long) for seed in FURTHER)]
)
def test_transactions_keep_their_invariants_within_the_iteration_limit(seed: int) -> None:
    assert passed(run(seed)).counts["turns"] < TURNS


def test_same_seed_gives_the_same_run_of_transactions() -> None:
    assert run(5).digest == run_transactions(5).digest


def test_clients_of_transactions_meet_every_outcome() -> None:
    """Commits, aborts, timeouts, fences, exhausted epochs, expired ids, and copies by a group."""
    counts: Counter[str] = Counter()
    calm = TransactionPlan(broker_count=3, duration_s=10.0, fault_count=0, change_count=0, writer_count=3)
    for seed, plan in enumerate(
        [
            calm,
            replace(calm, copier_count=2),
            replace(calm, first_epoch=32_764, expiration_ms=2_000),
            replace(calm, are_coordinators_moved=True),
        ]
    ):
        counts += passed(run_transactions(100 + seed, plan)).counts
    for expected in (
        "copy: transactions",
        "transactions: aborted",
        "transactions: clients that crashed",
        "transactions: commit: PRODUCER_FENCED",
        "transactions: committed",
        "transactions: zombies",
    ):
        assert counts[expected] > 0, expected


@pytest.mark.parametrize("seam", SEAMS)
def test_transactions_survive_a_fault_at_each_seam(seam: str) -> None:
    plan = TransactionPlan(broker_count=3, duration_s=6.0, fault_count=0, change_count=0, at_seams=SeamPlan(1, (seam,)))
    assert passed(run_transactions(7, plan)).counts[f"seams: {seam}"] == 1
