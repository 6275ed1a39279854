"""Tests that each fault happens, is met by some operation, and changes something."""

import pytest
from simulation.machines.cluster_shape import ClusterShape
from simulation.runs.faults import FAULTS
from simulation.runs.simulation_run import Plan, run_seed

_SHAPE = ClusterShape(log_directories=2)
_MAY_CHANGE_NOTHING = ("nothing", "zookeeper's connection breaks")
"""The second is harmless: brokers reconnect and ask for the results of requests in flight."""

_MET_BY_CHANGES = ("zookeeper stops",)
"""Only administrative requests notice it while sessions last."""


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_met_and_has_an_effect(name: str) -> None:
    """Each fault is met and has an effect in at least one of thirty seeds."""
    changes = 4 if name in _MET_BY_CHANGES else 0
    plan = Plan(3, duration_s=8.0, fault_count=8, change_count=changes, shape=_SHAPE, faults=(name,))
    met = changed = 0
    for seed in range(1, 31):
        result = run_seed(seed, plan)
        assert result.violation is None
        met += result.met[name]
        changed += result.changed[name]
        if met and (changed or name in _MAY_CHANGE_NOTHING):
            return
    pytest.fail(f"{name} was met {met} times, and changed something {changed} times")


@pytest.mark.parametrize("seed", range(10, 90, 10))
def test_run_with_the_empty_fault_changes_nothing(seed: int) -> None:
    """Therefore every change in a run with a single fault is that fault's effect."""
    result = run_seed(seed, Plan.of_seed(seed).with_one_fault("nothing"))
    assert result.violation is None
    assert (result.fired["nothing"], result.met["nothing"], result.changed["nothing"]) == (1, 1, 0)
