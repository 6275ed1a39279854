"""Waits for records, assignments and commits by events inside the broker, and says what was there when time is up."""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import islice

from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ....base.printable import printable
from ....base.topic_partition import TopicPartition
from ...apis.broker_parts import BrokerParts
from ...coordinator.group.base import GroupBase
from ...coordinator.group.consumer.consumer_group import ConsumerGroup
from ...coordinator.group.group import Group
from ...coordinator.group.share.share_group import ShareGroup
from ...coordinator.group.states import GroupState
from ...v1.classic_members import assignment_of
from .high_watermarks import HighWatermarks
from .overview import events_text
from .stored_record import StoredRecord
from .topic_logs import ends_text, has_leaders, partitions_of, read_topic, readable_end

__all__ = ["wait_assigned", "wait_committed", "wait_loaded", "wait_records", "wait_topic"]

_MOST_NAMED = 10


async def wait_topic(parts: BrokerParts, topic: str, limit_s: float) -> None:
    """Wait until the topic exists and has leaders. Raises TimeoutError."""
    if not await parts.waiters.wait(lambda: has_leaders(parts, topic), int(limit_s * 1000)):
        raise TimeoutError(f"topic {topic!r} has no leaders within {limit_s:g} s: {ends_text(parts, topic)}")


async def wait_records(
    parts: BrokerParts, topic: str, count: int, *, committed_only: bool, limit_s: float
) -> list[StoredRecord]:
    """Return the topic's records as soon as there are ``count``. Raises TimeoutError."""
    try:
        async with asyncio.timeout(limit_s):
            await wait_topic(parts, topic, limit_s)
            with HighWatermarks(parts.partitions, limit_s) as watch:
                while True:
                    hosted = partitions_of(parts, topic)
                    for each in hosted:
                        watch.watch(each)
                    ends = ((each, readable_end(each, committed_only=committed_only)) for each in hosted)
                    if sum(end - each.log.log_start_offset for each, end in ends) >= count:
                        found = await read_topic(parts, topic, committed_only=committed_only)
                        if len(found) >= count:
                            return found
                    await watch.moved()
    except TimeoutError:
        raise TimeoutError(
            f"topic {topic!r} has not {count} records within {limit_s:g} s: {ends_text(parts, topic)}"
        ) from None


async def wait_assigned(parts: BrokerParts, group_id: str, members: int, limit_s: float) -> None:
    """Wait until the group is stable with so many members or more, which have partitions. Raises TimeoutError.

    Consumers that do not know a new topic yet first share nothing, and join again.
    """

    def is_assigned(group: GroupBase) -> bool:
        if isinstance(group, ShareGroup):  # is stable as soon as it has a member
            with_partitions = sum(1 for member in group.members.values() if member.current.assigned)
            return with_partitions >= max(members, 1)
        is_stable = group.state_name == GroupState.STABLE.value and group.member_count >= members
        return is_stable and (not group.is_consumer_group or _has_partitions(group))

    what = f"group {group_id!r} has not assigned partitions to {members} members within {limit_s:g} s"
    await _wait_group(parts, group_id, is_assigned, what, limit_s)


def _has_partitions(group: GroupBase) -> bool:
    if isinstance(group, ConsumerGroup):
        return any(member.current.assigned for member in group.members.values())
    members = group.members.values() if isinstance(group, Group) else ()
    return any(part.partitions for member in members for part in assignment_of(member.assignment) or ())


async def wait_committed(parts: BrokerParts, group_id: str, at: TopicPartition, offset: int, limit_s: float) -> None:
    """Wait until the group has committed this offset of a partition, or a later one. Raises TimeoutError."""

    def is_committed(group: GroupBase) -> bool:
        committed = group.offsets.committed.get(at)
        return committed is not None and committed.value.offset >= offset

    what = f"group {group_id!r} has not committed offset {offset} of {at} within {limit_s:g} s"
    await _wait_group(parts, group_id, is_committed, what, limit_s)


async def _wait_group(
    parts: BrokerParts, group_id: str, condition: Callable[[GroupBase], bool], what: str, limit_s: float
) -> None:
    registry = parts.coordinators.groups.registry
    try:
        async with asyncio.timeout(limit_s):
            with HighWatermarks(parts.partitions, limit_s) as watch:
                while True:
                    at = TopicPartition(CONSUMER_OFFSETS_TOPIC, registry.partition_for(group_id))
                    await parts.waiters.wait(partial(parts.partitions.is_leader, at), int(limit_s * 1000))
                    if registry.partition_for(group_id) != at.partition:
                        continue  # the topic was created meanwhile, with another number of partitions
                    await wait_loaded(parts, at.partition)
                    watch.watch(parts.partitions.require(at))
                    group = registry.get(group_id)
                    if group is not None and condition(group):
                        return
                    await watch.moved()
    except TimeoutError:
        raise TimeoutError(f"{what}: {_group_text(parts, group_id)}") from None


async def wait_loaded(parts: BrokerParts, partition: int) -> None:
    """Wait until the groups of this partition of ``__consumer_offsets`` are loaded, if they are being loaded."""
    loaded = asyncio.Event()
    if parts.coordinators.groups.registry.ownership.do_after_loading(partition, loaded.set):
        await loaded.wait()


def _group_text(parts: BrokerParts, group_id: str) -> str:
    """Return the state of a group in words, for an error."""
    registry = parts.coordinators.groups.registry
    group = registry.get(group_id)
    if group is None:
        known = [printable(each.group_id) for each in registry.groups()]
        return f"there is no such group; groups: {', '.join(sorted(known)[:_MOST_NAMED]) or 'none'}"
    members = ", ".join(map(printable, islice(group.client_ids(), _MOST_NAMED)))
    offsets = [f"{at} {record.value.offset}" for at, record in sorted(group.offsets.committed.items())]
    return (
        f"it is {group.state_name} with {group.member_count} members ({members or 'none'}), "
        f"committed offsets: {', '.join(offsets[:_MOST_NAMED]) or 'none'}; last events: {events_text(group)}"
    )
