"""Plans the new offsets of a group: the old and the new offset of each partition."""

from collections.abc import Iterable, Mapping

from ...base.command_parser import FAILED, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed
from ...protocol.sentinels import EARLIEST, LATEST
from .partition_offsets import offsets_at
from .reset_target import ResetTarget, clamped
from .shapes import OffsetChange

__all__ = ["new_offsets", "planned_changes"]

_NO_OFFSET = -1
_Range = tuple[int, int]


def new_offsets(
    cluster: AdminCluster,
    target: ResetTarget | Mapping[TopicPartition, int],
    places: Iterable[TopicPartition],
    committed: Mapping[TopicPartition, Committed],
) -> tuple[dict[TopicPartition, tuple[int, str | None]], dict[TopicPartition, _Range]]:
    """The new offset of each partition, with what was done to fit it in, and where the partitions begin and end.

    Raises CommandError when a partition cannot be asked, or has no offset to count from.
    """
    wanted = list(places)
    limits = _limits(cluster, wanted)
    if not isinstance(target, ResetTarget):
        return {at: clamped(target[at], *limits[at]) for at in wanted}, limits
    if target.offset is not None:
        return {at: clamped(target.offset, *limits[at]) for at in wanted}, limits
    if target.shift is not None:
        missing = [at for at in wanted if at not in committed]
        if missing:
            raise CommandError(f"{missing[0]}: the group has no offset there to count from", FAILED)
        return {at: clamped(committed[at].offset + target.shift, *limits[at]) for at in wanted}, limits
    if target.timestamp in (EARLIEST, LATEST):
        side = 0 if target.timestamp == EARLIEST else 1
        return {at: (limits[at][side], None) for at in wanted}, limits
    assert target.timestamp is not None
    found = _asked(cluster, dict.fromkeys(wanted, target.timestamp))
    after_all = "no record is so new: the end"
    return {at: (limits[at][1], after_all) if found[at] == _NO_OFFSET else (found[at], None) for at in wanted}, limits


def planned_changes(
    group: str,
    offsets: Mapping[TopicPartition, tuple[int, str | None]],
    limits: Mapping[TopicPartition, _Range],
    committed: Mapping[TopicPartition, Committed],
    *,
    is_dry_run: bool,
) -> list[OffsetChange]:
    """The changes in the order of partitions. A partition whose offset stays is among them."""
    changes = []
    for at, (new, note) in sorted(offsets.items()):
        start, end = limits[at]
        old = committed[at].offset if at in committed else None
        reads_from = None if old is None else min(max(old, start), end)  # without the reset
        changes.append(
            OffsetChange(
                group=group,
                topic=at.topic,
                partition=at.partition,
                old_offset=old,
                new_offset=new,
                skipped=0 if reads_from is None else max(0, new - reads_from),
                read_again=0 if reads_from is None else max(0, reads_from - new),
                note=note,
                is_dry_run=is_dry_run,
            )
        )
    return changes


def _limits(cluster: AdminCluster, places: list[TopicPartition]) -> dict[TopicPartition, _Range]:
    starts = _asked(cluster, dict.fromkeys(places, EARLIEST))
    ends = _asked(cluster, dict.fromkeys(places, LATEST))
    return {at: (starts[at], ends[at]) for at in places}


def _asked(cluster: AdminCluster, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    found, problems = offsets_at(cluster, timestamps)
    for at, problem in problems.items():
        raise CommandError(f"{at} {problem}; leave it out by --topics", FAILED)
    return found
