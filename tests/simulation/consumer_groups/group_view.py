"""Compares a group coordinator's memory of a consumer group with the group's log."""

from collections.abc import Iterator

from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.modern.assignment import Assignment
from pybroker.broker.coordinator.group.states import GroupState
from simulation.checkers.ownership import OwnedPartition
from simulation.consumer_groups.group_log import GroupLog, MemberPicture
from simulation.machines.simulated_broker import SimulatedBroker

__all__ = ["memory_differs"]


def memory_differs(broker: SimulatedBroker, group_id: str, log: GroupLog) -> Iterator[str]:
    """Where the memory of a coordinator is not the content of its log."""
    assert broker.server is not None
    for group in broker.server._coordinators.groups.registry.groups():
        if group.group_id != group_id:
            continue
        if not isinstance(group, ConsumerGroup):
            assert isinstance(group, Group)
            yield from _classic_differs(broker, group, log)
            continue
        members = {member.member_id: _picture(group, member.member_id) for member in group.members.values()}
        known = group.epoch, group.target_epoch, members
        logged = log.epoch, log.target_epoch, log.members
        if known != logged:
            yield f"{broker.name}: group {group_id} is {known} in memory, {logged} in the log"
        targets = {name: each for name, target in group.targets.items() if (each := _partitions(target))}
        logged_targets = {name: each for name, each in log.targets.items() if each}
        if targets != logged_targets:
            yield f"{broker.name}: targets of group {group_id} are {targets} in memory, {logged_targets} in the log"


def _classic_differs(broker: SimulatedBroker, group: Group, log: GroupLog) -> Iterator[str]:
    """A classic group is stored when its generation is complete, and its members may change before the next one."""
    if group.generation_id == 0 and log.classic is None and not log.members:
        return  # only offsets are stored
    if group.state is not GroupState.STABLE:
        if log.classic is None or log.classic.generation > group.generation_id:
            yield f"{broker.name}: classic group {group} is {log.classic} in the log, {log.members}"
        return
    known = group.generation_id, set(group.members)
    logged = None if log.classic is None else (log.classic.generation, set(log.classic.members))
    if known != logged:
        yield f"{broker.name}: classic group {group} is {known} in memory, {logged} in the log"


def _picture(group: ConsumerGroup, member_id: str) -> MemberPicture:
    current = group.members[member_id].current
    return MemberPicture(
        current.epoch,
        current.previous_epoch,
        int(current.state),
        _partitions(current.assigned),
        _partitions(current.revoking),
    )


def _partitions(assignment: Assignment) -> frozenset[OwnedPartition]:
    return frozenset(OwnedPartition(topic_id, number) for topic_id, numbers in assignment.items() for number in numbers)
