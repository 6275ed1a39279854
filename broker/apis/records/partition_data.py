"""A partition's part of a Fetch response."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)
from ....replication.partition.fetch import FetchResult

__all__ = ["partition_data"]

# All responses share these when they have no such information; nobody may change them.
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER_HINT = LeaderIdAndEpoch()
_NO_SNAPSHOT = SnapshotId()

_NEVER_READ = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
"""Errors whose list of aborted transactions is empty in place of null, as in Kafka."""


def partition_data(index: int, result: FetchResult, version: int) -> PartitionData:
    """``result`` as the message of ``version``."""
    error = result.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and version <= 5:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # older clients do not know it and would not refresh their metadata
    aborted = result.aborted_transactions
    if error in _NEVER_READ:
        aborted = []
    # Only a client that continues a session of version 12 or later in an older version has a divergence here.
    diverging = result.diverging_epoch if version >= 12 else None
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        diverging_epoch=_NO_DIVERGENCE
        if diverging is None
        else EpochEndOffset(epoch=diverging.leader_epoch, end_offset=diverging.end_offset),
        current_leader=_NO_LEADER_HINT,
        snapshot_id=_NO_SNAPSHOT,
        aborted_transactions=None
        if aborted is None
        else [AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in aborted],
        preferred_read_replica=result.preferred_read_replica,
        records=b"" if result.records is None else result.records,
    )
