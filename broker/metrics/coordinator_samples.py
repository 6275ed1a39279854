"""Samples of the group coordinator: Kafka's GroupMetadataManager and the number of rebalances."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..coordinator.group.consumer.consumer_group import ConsumerGroup
from ..coordinator.group.consumer.states import ConsumerGroupState
from ..coordinator.group.coordinator import GroupCoordinator
from ..coordinator.group.group import Group
from ..coordinator.group.states import GroupState
from .labels import labels
from .registry import Pace, Registry, Sample
from .series.table import series_named

__all__ = ["GroupSamples"]

_COORDINATOR = "kafka_server_group_coordinator_metrics"
_GROUPS_BETWEEN_PACES = 16


class GroupSamples:
    """The walk over the groups that this broker coordinates."""

    def __init__(self, registry: Registry, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator
        self._states: Counter[GroupState] = Counter()
        self._consumer_states: Counter[ConsumerGroupState] = Counter()
        self._offsets = 0
        registry.add_walk(self)
        registry.add(series_named(f"{_COORDINATOR}_consumer_group_count"), self._consumer_groups)
        for name, state in _STATES.items():
            registry.add_value(series_named(name), partial(self._groups_in, state))
        registry.add_value(
            series_named("kafka_coordinator_group_groupmetadatamanager_numgroups"), lambda: self._states.total()
        )
        registry.add_value(
            series_named("kafka_coordinator_group_groupmetadatamanager_numoffsets"), lambda: self._offsets
        )
        numbers: dict[str, Callable[[], float]] = {
            "consumer_group_rebalance_total": lambda: coordinator.consumers.rebalances,
            "group_completed_rebalance_total": lambda: coordinator.completed_rebalances,
            "offset_commit_total": lambda: coordinator.commits.committed_offsets,
            "offset_deletion_total": lambda: coordinator.administration.deleted_offsets,
            "offset_expiration_total": lambda: coordinator.administration.expired_offsets,
        }
        for name, number in numbers.items():
            registry.add_value(series_named(f"{_COORDINATOR}_{name}"), number)

    async def collect(self, pace: Pace) -> None:
        states: Counter[GroupState] = Counter()
        consumer_states: Counter[ConsumerGroupState] = Counter()
        offsets = 0
        for number, group in enumerate(self._coordinator.registry.groups(), 1):
            if isinstance(group, Group):
                states[group.state] += 1
            elif isinstance(group, ConsumerGroup):
                consumer_states[group.state] += 1
            offsets += len(group.offsets.committed)
            if not number % _GROUPS_BETWEEN_PACES:
                await pace()
        self._states, self._consumer_states, self._offsets = states, consumer_states, offsets

    def release(self) -> list[list[Any]]:
        """The walk keeps some numbers only."""
        return []

    def _consumer_groups(self) -> list[Sample]:
        return [(labels(state=state.value), self._consumer_states[state]) for state in ConsumerGroupState]

    def _groups_in(self, state: GroupState) -> int:
        return self._states[state]


_STATES: Mapping[str, GroupState] = {
    "kafka_coordinator_group_groupmetadatamanager_numgroupsempty": GroupState.EMPTY,
    "kafka_coordinator_group_groupmetadatamanager_numgroupsstable": GroupState.STABLE,
    "kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance": GroupState.PREPARING_REBALANCE,
    "kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance": GroupState.COMPLETING_REBALANCE,
    "kafka_coordinator_group_groupmetadatamanager_numgroupsdead": GroupState.DEAD,
}
