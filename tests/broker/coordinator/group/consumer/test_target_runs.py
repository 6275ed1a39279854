"""Targets of large groups are computed for the members that the group has when the result comes."""

from collections.abc import Callable, Generator

import pytest
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.target_runs import TargetRuns
from pybroker.broker.coordinator.group.modern.assignors.assignor import Assigned, GroupSpec
from pybroker.broker.coordinator.group.modern.assignors.table import ASSIGNORS
from pybroker.broker.coordinator.group.modern.records import TargetEpoch, TargetMember
from pybroker.broker.coordinator.group.modern.target_runs import ComputedTarget
from pybroker.broker.coordinator.group.modern.turns import Turns
from support.in_process.consumer_groups import SETTINGS, CoordinatedGroup, Topics
from support.time.virtual_time import VirtualTime


class InterruptedAssignor:
    """The uniform assignor; the group changes in its first run."""

    name = "uniform"

    def __init__(self, change: Callable[[], object]) -> None:
        self._changes = [change]

    def steps(self, spec: GroupSpec) -> Generator[None, None, Assigned]:
        result = yield from ASSIGNORS["uniform"].steps(spec)
        while self._changes:
            self._changes.pop()()
        return result


def always(group_id: str) -> bool:
    """The log takes the targets of all groups."""
    return True


def targets_computed(group: CoordinatedGroup, change: Callable[[], object]) -> list[Assigned]:
    """The results when the group changes while its target is computed."""
    time, results = VirtualTime(), list[Assigned]()

    def computed(_: ConsumerGroup, target: ComputedTarget) -> None:
        results.append(target.assigned)
        assert target.encoded == [group.group.encoded(record) for record in target.records]

    assignors = {"uniform": InterruptedAssignor(change)}
    runs = TargetRuns(Turns(time), SETTINGS, group.topics, assignors, computed, always)
    runs.maybe_begin(group.group)
    time.advance(0)
    return results


def group_of_a_static_member() -> CoordinatedGroup:
    group = CoordinatedGroup(Topics(t=5_000))
    group.beat("a", 0, names=("t",), instance_id="i")
    return group


def test_target_is_computed_anew_when_a_static_member_returns_meanwhile() -> None:
    """Its new member id takes over without a new group epoch."""
    group = group_of_a_static_member()
    epoch = group.group.epoch

    def come_back() -> None:
        group.beat("a", -2, instance_id="i")
        group.beat("b", 0, names=("t",), instance_id="i")

    results = targets_computed(group, come_back)
    assert group.group.epoch == epoch
    assert [set(result) for result in results] == [{"b"}]


def test_target_is_computed_anew_when_a_member_joins_meanwhile() -> None:
    group = group_of_a_static_member()
    results = targets_computed(group, lambda: group.beat("c", 0, names=("t",)))
    assert [set(result) for result in results] == [{"a", "c"}]


def test_no_target_is_computed_for_a_group_that_another_coordinator_has_now() -> None:
    group = group_of_a_static_member()
    group.group.bury(0)
    assert targets_computed(group, lambda: None) == []


def test_target_has_the_records_of_members_whose_target_differs() -> None:
    group = group_of_a_static_member()
    group.beat("b", 0, names=("t",))
    group.apply((TargetMember("a", group.topics.assignment(t=range(2_500))),))
    time, targets = VirtualTime(), list[ComputedTarget]()
    turns = Turns(time)
    runs = TargetRuns(turns, SETTINGS, group.topics, ASSIGNORS, lambda _, target: targets.append(target), always)
    runs.maybe_begin(group.group)
    time.advance(0)
    (target,) = targets
    other_half = group.topics.assignment(t=range(2_500, 5_000))
    assert target.records == [TargetMember("b", other_half), TargetEpoch(group.group.epoch)]


def test_request_that_fails_after_a_target_was_computed_leaves_the_others_to_be_answered() -> None:
    group = group_of_a_static_member()
    time, answered = VirtualTime(), list[str]()
    runs = TargetRuns(Turns(time), SETTINGS, group.topics, ASSIGNORS, lambda _, target: None, always)
    runs.maybe_begin(group.group)

    def fail() -> None:
        raise RuntimeError("of one request")

    group_id = group.group.group_id
    assert runs.after(group_id, answered.append, "a")
    assert runs.after(group_id, fail)
    assert runs.after(group_id, answered.append, "b")
    with pytest.raises(RuntimeError, match="of one request"):
        time.advance(0)
    time.advance(0)
    assert answered == ["a", "b"]
