"""Tests that no broker acknowledges a record after it knows a denial, and that mistakes are noticed."""

from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.broker.security.acl.verdicts import Verdicts
from pybroker.controller.live_acls import LiveAcls
from simulation.authorization.guarded_run import run_guarded
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Result

SEEDS = range(1, 11)


def passed(result: Result) -> Result:
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    return result


def test_brokers_obey_the_acls_that_they_know() -> None:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        counts += passed(run_guarded(seed)).counts
    for expected in ("denied, known", "denied, perhaps known", "allowed, known"):
        assert counts[f"guarded: {expected}"] > 50, expected


async def _nothing(*_: Any) -> None:
    """Does nothing."""


MISTAKES: dict[str, tuple[Any, str]] = {
    "verdicts outlive a change of the ACLs": (patch.object(Verdicts, "_forget", lambda _: None), "answers NONE"),
    "a broker answers before it obeys": (patch.object(LiveAcls, "refresh", _nothing), "answers NONE"),
    "changes by other brokers are not read": (patch.object(LiveAcls, "_take_new", _nothing), "never obeys: denied"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_noticed(mistake: str) -> None:
    patched, words = MISTAKES[mistake]
    with patched:
        assert any(words in (run_guarded(seed).violation or "") for seed in SEEDS)
