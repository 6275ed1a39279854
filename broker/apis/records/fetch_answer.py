"""What fetch answers are made of, and those of consumers that are given the same results.

Of these answers all is the same but the correlation and the session: so what a partition adds to one is encoded once,
with its records read from the file, and the others are put together of such pieces.
"""

from struct import Struct

from ....protocol.codec import encode
from ....protocol.codec.varint import uvarint
from ....protocol.codec.wire import NULL_UUID
from ....protocol.errors import ErrorCode
from ....protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)
from ....replication.partition.fetch import FetchResult, PartitionFetch
from ....storage.files.files import NotCachedError
from ...requests.context import EncodedAnswer

__all__ = ["FIRST_SHARED_VERSION", "partition_data", "shared_answer"]

FIRST_SHARED_VERSION = 13
"""The first with topic ids: from there on an answer looks the same in all versions."""

_MOST_SHARED_BYTES = 256 * 1024
"""Of records in an answer that is put together: more go from file to socket."""

_HEAD = Struct(">ihi")  # throttle time, error, session id; a count of topics follows
_NO_TAGS = b"\0"
_BEFORE_PIECE = _HEAD.size + 1 + 16 + 1  # with one topic: the count, its id, a count of partitions
_BEHIND_PIECE = 2  # no tags of the topic, no tags of the answer

# Shared by all answers that say nothing here; never changed.
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER_HINT = LeaderIdAndEpoch()
_NO_SNAPSHOT = SnapshotId()

_NEVER_READ = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
"""Answered with an empty list of aborted transactions in place of null, as Kafka does."""


def partition_data(index: int, result: FetchResult, version: int) -> PartitionData:
    """What a partition answers, as a message."""
    error = result.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and version <= 5:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # older clients do not know it, and would not ask for metadata
    aborted = result.aborted_transactions
    if error in _NEVER_READ:
        aborted = []
    # Below version 12 nobody asks, but for who goes on in an older version with a session that was begun in that one.
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


def shared_answer(
    version: int, error: ErrorCode, session_id: int, selected: list[tuple[PartitionFetch, FetchResult]]
) -> EncodedAnswer | None:
    """The answer with these results; None when it has to be encoded as a whole."""
    by_topic: list[tuple[bytes, list[bytes]]] = []
    last_identity: object = None
    if sum(result.size_bytes for _, result in selected) > _MOST_SHARED_BYTES:
        return None
    for fetch, result in selected:
        piece = _piece(fetch.key[1], result, version)
        if piece is None or fetch.topic_id is None:
            return None
        if fetch.key[0] != last_identity:
            last_identity = fetch.key[0]
            by_topic.append((fetch.topic_id.bytes, []))
        by_topic[-1][1].append(piece)
    parts = [_HEAD.pack(0, error, session_id), uvarint(len(by_topic) + 1)]
    for topic_id, pieces in by_topic:
        parts += (topic_id, uvarint(len(pieces) + 1))
        parts += pieces
        parts.append(_NO_TAGS)
    parts.append(_NO_TAGS)
    return EncodedAnswer(parts)


def _piece(index: int, result: FetchResult, version: int) -> bytes | None:
    """What the partition adds to an answer; None when it has an error, or its records cannot be read at once."""
    if result.encoded is not None:
        return result.encoded
    region = result.records
    if result.error:
        return None
    data = partition_data(index, result, version)
    if region is not None:
        try:
            records = region.read_cached()
        except (NotCachedError, OSError):  # who sends it waits for the disk, or finds out what is wrong
            return None
        if len(records) < region.size_bytes:
            return None
        data.records = records
    topic = FetchableTopicResponse(topic_id=NULL_UUID, partitions=[data])
    piece = encode(FetchResponse(responses=[topic]), version)[_BEFORE_PIECE:-_BEHIND_PIECE]
    result.encoded = piece
    return piece
