"""Compares a group coordinator's memory of a consumer group with the group's log."""

from collections.abc import Iterator

from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.modern.assignment import Assignment
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
            yield f"{broker.name}: group {group_id} is a {group.kind} group"
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
