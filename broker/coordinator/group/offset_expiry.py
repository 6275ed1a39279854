"""Which committed offsets of a group have expired (KIP-211)."""

from ....base.topic_partition import TopicPartition
from .group import Group
from .offsets import CommitRecord
from .states import GroupState

__all__ = ["expired_offsets"]


def expired_offsets(group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """Partitions whose committed offsets are past their retention. Offsets that are being committed do not expire.

    - Group without members: the retention begins when the group became empty.
    - Stable consumer group: offsets of topics that members read do not expire; for others it begins at the commit.
    - Group without a protocol type (offsets committed without a group): it begins at the commit.
    - Any other group: no offset expires.
    """
    kept: frozenset[str] = frozenset()
    empty_since_ms: int | None = None
    if group.protocol_type is not None and group.state is GroupState.EMPTY:
        empty_since_ms = group.state_timestamp_ms
    elif group.is_consumer_group and group.state is GroupState.STABLE and group.subscribed_topics is not None:
        kept = group.subscribed_topics
    elif group.protocol_type is not None:
        return []
    return [
        partition
        for partition, record in group.offsets.committed.items()
        if partition.topic not in kept
        and not group.offsets.is_pending(partition)
        and _is_expired(record, empty_since_ms, now_ms, retention_ms)
    ]


def _is_expired(record: CommitRecord, empty_since_ms: int | None, now_ms: int, retention_ms: int) -> bool:
    """The commit's own expiry time (OffsetCommit v2-4) goes before the broker's retention."""
    value = record.value
    if value.expire_timestamp_ms is not None:
        return now_ms >= value.expire_timestamp_ms
    start_ms = value.commit_timestamp_ms if empty_since_ms is None else empty_since_ms
    return now_ms - start_ms >= retention_ms
