"""The partitions that groups read, with offsets, lag and readers."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed
from .described_groups import SHARE, DescribedGroup
from .partition_offsets import Ends, ends_of
from .shapes import GroupMember, GroupPartition
from .unread_records import unread_since_ms

__all__ = ["group_partitions", "lag_in", "lag_of", "lost_records", "readers_of", "sum_of_lags", "with_lag_seconds"]


def group_partitions(
    cluster: AdminCluster, group: DescribedGroup, committed: Mapping[TopicPartition, Committed]
) -> tuple[GroupPartition, ...]:
    """The partitions with a committed offset, and those that a member reads."""
    readers = readers_of(group)
    places = sorted({*committed, *readers})
    ends = ends_of(cluster, places)
    return tuple(_partition(group, at, committed.get(at), ends[at], readers.get(at, ())) for at in places)


def readers_of(group: DescribedGroup) -> Mapping[TopicPartition, Sequence[GroupMember]]:
    """The members that read each partition: one, or in a share group several."""
    readers: dict[TopicPartition, list[GroupMember]] = defaultdict(list)
    for member in group.members:
        for part in member.assignment or ():
            for number in part.partitions:
                readers[TopicPartition(part.topic, number)].append(member)
    return readers


def lag_of(committed: int | None, start: int | None, end: int | None) -> int | None:
    """Records from the committed offset to the end. Records below the start are lost, not unread."""
    if committed is None or end is None:
        return None
    return max(0, end - max(committed, start or 0))


def lag_in(group_type: str | None, committed: Committed | None, start: int | None, end: int | None) -> int | None:
    """The lag of a group of any type. The coordinator of a share group tells it, because some of the records behind
    the start offset are acknowledged."""
    if committed is None:
        return None
    return committed.lag if group_type == SHARE else lag_of(committed.offset, start, end)


def lost_records(row: GroupPartition) -> int:
    """Offsets from the committed one to the start of the log: their records were deleted before the group read them."""
    if row.committed is None or row.start_offset is None:
        return 0
    return max(0, row.start_offset - row.committed)


def sum_of_lags(partitions: Iterable[GroupPartition]) -> int | None:
    """The lag of all partitions whose lag is known; None when none is."""
    known = [each.lag for each in partitions if each.lag is not None]
    return sum(known) if known else None


def with_lag_seconds(cluster: AdminCluster, partitions: Iterable[GroupPartition]) -> list[GroupPartition]:
    """The partitions with the age of the oldest unread record. It is 0 without lag, None where it is unknown."""
    rows = list(partitions)
    leaders, offsets = {}, {}
    for each in rows:
        if each.lag and each.leader is not None and each.committed is not None:
            at = TopicPartition(each.topic, each.partition)
            leaders[at] = each.leader
            offsets[at] = max(each.committed, each.start_offset or 0)
    since = unread_since_ms(cluster, leaders, offsets)
    now_ms = time.time() * 1000
    return [replace(each, lag_seconds=_age_s(each, since, now_ms)) for each in rows]


def _age_s(row: GroupPartition, since: Mapping[TopicPartition, int], now_ms: float) -> float | None:
    if row.lag == 0:
        return 0.0
    written_ms = since.get(TopicPartition(row.topic, row.partition))
    return None if written_ms is None else round(max(0.0, now_ms - written_ms) / 1000, 3)


def _partition(
    group: DescribedGroup, at: TopicPartition, committed: Committed | None, ends: Ends, readers: Sequence[GroupMember]
) -> GroupPartition:
    offset = None if committed is None else committed.offset
    reader = readers[0] if len(readers) == 1 else None
    is_lost = None
    if offset is not None and ends.start is not None and ends.end is not None:
        is_lost = not ends.start <= offset <= ends.end
    return GroupPartition(
        group=group.group,
        topic=at.topic,
        partition=at.partition,
        committed=offset,
        leader_epoch=None if committed is None else committed.leader_epoch,
        metadata="" if committed is None else committed.metadata,
        leader=ends.leader,
        start_offset=ends.start,
        end_offset=ends.end,
        lag=lag_in(group.group_type, committed, ends.start, ends.end),
        lag_seconds=None,
        is_offset_lost=is_lost,
        problem=ends.problem,
        member_id=None if reader is None else reader.member_id,
        client_id=None if reader is None else reader.client_id,
        host=None if reader is None else reader.host,
    )
