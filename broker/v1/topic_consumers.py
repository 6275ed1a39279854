"""The groups that read a topic, among those that this broker coordinates."""

from collections.abc import Collection

from ...base.lag_verdicts import worst
from ...base.topic_partition import TopicPartition
from ...views.topics import TopicConsumer
from ..coordinator.group.base import GroupBase
from .group_lag import verdict_name
from .known_state import KnownState
from .slices import in_slices

__all__ = ["consumers_of"]


async def consumers_of(state: KnownState, topic: str, indexes: Collection[int]) -> tuple[TopicConsumer, ...]:
    """Return the groups with committed offsets of the topic, by name. ``indexes``: its partitions."""
    found = []
    async for group in in_slices(state.parts.coordinators.groups.registry.groups()):
        consumer = _consumer(state, group, topic, indexes)
        if consumer is not None:
            found.append(consumer)
    return tuple(sorted(found, key=lambda each: each.group))


def _consumer(state: KnownState, group: GroupBase, topic: str, indexes: Collection[int]) -> TopicConsumer | None:
    committed = group.offsets.committed
    lags = [
        state.lags.of_partition(group, topic_partition, record)
        for index in indexes
        if (record := committed.get(topic_partition := TopicPartition(topic, index))) is not None
    ]
    if not lags:
        return None
    known = [each.lag for each in lags if each.lag is not None]
    known_s = [each.lag_s for each in lags if each.lag_s is not None]
    verdicts = [each.verdict for each in lags if each.verdict is not None]
    return TopicConsumer(
        group=group.group_id,
        state=group.state_name,
        members=group.member_count,
        verdict=verdict_name(worst(verdicts)) if verdicts else None,
        lag=sum(known) if known else None,
        lag_seconds=round(max(known_s), 3) if known_s else None,
    )
