"""Which committed offsets of a group have expired (KIP-211)."""

from collections.abc import Collection

from ....base.topic_partition import TopicPartition
from .offsets import CommitRecord, GroupOffsets

__all__ = ["expired_offsets"]


def expired_offsets(
    offsets: GroupOffsets, now_ms: int, retention_ms: int, *, kept: Collection[str] = (), since_ms: int | None = None
) -> list[TopicPartition]:
    """Partitions whose committed offsets are past their retention, but for those of ``kept`` topics.

    ``since_ms``: when the retention of all offsets began; None when that of each began at its commit. Offsets that are
    being committed do not expire.
    """
    return [
        partition
        for partition, record in offsets.committed.items()
        if partition.topic not in kept
        and not offsets.is_pending(partition)
        and _is_expired(record, since_ms, now_ms, retention_ms)
    ]


def _is_expired(record: CommitRecord, since_ms: int | None, now_ms: int, retention_ms: int) -> bool:
    """The commit's own expiry time (OffsetCommit v2-4) goes before the broker's retention."""
    value = record.value
    if value.expire_timestamp_ms is not None:
        return now_ms >= value.expire_timestamp_ms
    start_ms = value.commit_timestamp_ms if since_ms is None else since_ms
    return now_ms - start_ms >= retention_ms
