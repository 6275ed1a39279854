"""Tests of groups and their offsets while coordinators move and other faults happen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.broker.coordinator.append_bridge import AppendBridge
from pybroker.broker.coordinator.coordinator_partitions import CoordinatorPartitions
from pybroker.broker.coordinator.internal_log import AppendDone, InternalAppend
from pybroker.broker.coordinator.internal_topic import InternalTopic, InternalTopicSettings
from pybroker.broker.coordinator.ownership import PartitionOwnership
from simulation.clients.coordinator_moves import moved_coordinators
from simulation.runs.faults import FAULTS
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Plan, Result, run_seed

SEEDS = (*range(2001, 2016), 3035)
FAULT_NAMES = tuple(name for name in FAULTS if not name.startswith("power fails"))
"""All faults except those by which brokers lose acknowledged data, which coordinators cannot prevent."""


def run(seed: int) -> Result:
    plan = Plan.of_seed(seed)
    plan = replace(plan, broker_count=max(plan.broker_count, 3), duration_s=10.0, faults=FAULT_NAMES)
    return run_seed(seed, plan, moved_coordinators)


@pytest.mark.parametrize("seed", [*SEEDS[:4], *(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS[4:])])
def test_offsets_stay_committed_and_groups_continue_while_coordinators_move(seed: int) -> None:
    result = run(seed)
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    assert result.counts["keeper: NONE"] > 20
    assert result.counts["group: commits"] > 0


def test_moves_of_coordinators_show_clients_every_expected_error() -> None:
    """The only faults of this run are clock jumps, so the moves alone cause the errors."""
    plan = Plan(broker_count=4, duration_s=20.0, fault_count=4, change_count=0, faults=("clock jumps",))
    result = run_seed(2001, plan, moved_coordinators)
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    assert result.counts["admin: reassign"] > 3
    assert result.counts["keeper: NOT_COORDINATOR"] > 0


# -- mistakes that the offset keepers must notice


def _acknowledged_by_the_leader_alone(topic: InternalTopic, settings: InternalTopicSettings, *others: Any) -> None:
    _make_topic(topic, settings._replace(required_acks=1), *others)


_make_topic = InternalTopic.__init__


def _kept_as_it_was(self: CoordinatorPartitions[Any], partition: int, epoch: int | None = None) -> None:
    """Keep the groups in memory, in case the partition returns."""


def _append_and_forget(self: AppendBridge, append: InternalAppend, done: AppendDone) -> None:
    """Acknowledge a commit before it is written."""
    _append(self, append, lambda outcome: None)
    done(0)


_append = AppendBridge.append


@contextmanager
def _patched(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    with patch.object(owner, name, replacement):
        yield


def _served_empty(self: PartitionOwnership, partition: int, epoch: int) -> bool:
    """Load nothing from a partition that moves to this broker."""
    began = _begin_loading(self, partition, epoch)
    if began:
        self.finish_loading(partition)
    return False


_begin_loading = PartitionOwnership.begin_loading

MISTAKES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "commits are acknowledged by the leader alone": (InternalTopic, "__init__", _acknowledged_by_the_leader_alone),
    "an old coordinator keeps its groups": (CoordinatorPartitions, "unload", _kept_as_it_was),
    "commits are answered before they are written": (AppendBridge, "append", _append_and_forget),
    "a new coordinator does not read": (PartitionOwnership, "begin_loading", _served_empty),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_coordinator_mistake_is_caught_by_one_of_the_seeds(mistake: str) -> None:
    for seed in SEEDS:
        with _patched(*MISTAKES[mistake]):
            if run(seed).violation is not None:
                return
    pytest.fail(f"not caught: {mistake}")
