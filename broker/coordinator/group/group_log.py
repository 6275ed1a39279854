"""Writes groups and offsets to ``__consumer_offsets`` and maps append errors to the codes that clients expect."""

import logging
from collections.abc import Callable, Iterable, Mapping

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.records.compression import Codec
from ..internal_log import AppendDone, AppendOutcome, InternalAppend, RecordSink
from .group import Group
from .offset_batch import TransactionalProducer, build_records
from .offsets import OffsetAndMetadata
from .records import encode_group, encode_group_key, encode_offset, encode_offset_key

__all__ = ["GroupLog", "commit_error", "store_group_error"]

logger = logging.getLogger(__name__)

StoreDone = Callable[[ErrorCode], None]

_UNAVAILABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)
_MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})
_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE})


def store_group_error(code: ErrorCode) -> ErrorCode:
    """The error code for members whose group's generation was not stored."""
    if code in _UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _MOVED:
        return ErrorCode.NOT_COORDINATOR
    if code is ErrorCode.REQUEST_TIMED_OUT:
        return ErrorCode.REBALANCE_IN_PROGRESS
    if code in _TOO_LARGE:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return code


def commit_error(code: ErrorCode) -> ErrorCode:
    """The error code for a client whose offsets were not stored."""
    if code in _UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _MOVED:
        return ErrorCode.NOT_COORDINATOR
    if code in _TOO_LARGE:
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    if code is ErrorCode.NETWORK_EXCEPTION:  # the coordinator of the transaction was unreachable: the client retries
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code


class GroupLog:
    """Writes to ``__consumer_offsets``."""

    def __init__(
        self,
        sink: RecordSink,
        partition_for: Callable[[str], int],
        now_ms: Callable[[], int],
        codec: Codec = Codec.NONE,
    ) -> None:
        self._sink = sink
        self._partition_for = partition_for
        self._now_ms = now_ms
        self._codec = codec

    def store_group(self, group: Group, assignments: Mapping[str, bytes], done: StoreDone) -> None:
        """Write the group's generation with the assignments of all members."""
        generation_id = group.generation_id

        def finish(outcome: AppendOutcome) -> None:
            if not isinstance(outcome, KafkaError):
                done(ErrorCode.NONE)
                return
            error = store_group_error(outcome.code)
            level = logging.INFO if error is ErrorCode.NOT_COORDINATOR else logging.WARNING
            logger.log(
                level,
                "group %s: generation %d not stored: %s",
                group.group_id,
                generation_id,
                outcome.code.name,
            )
            done(error)

        record = (encode_group_key(group.group_id), encode_group(group, assignments))
        self._append(group.group_id, [record], finish)

    def store_offsets(
        self,
        group: Group,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        done: AppendDone,
        producer: TransactionalProducer | None = None,
    ) -> None:
        """Write committed offsets, in the transaction of ``producer`` when given."""
        records = [(encode_offset_key(group.group_id, key), encode_offset(value)) for key, value in offsets.items()]
        self._append(group.group_id, records, done, producer)

    def store_tombstones(self, group: Group, partitions: Iterable[TopicPartition], *, whole_group: bool) -> None:
        """Write tombstones for offsets, and for the group when ``whole_group``.

        No request waits for them. As in Kafka they are written even when too few replicas are in sync: lost tombstones
        are written again when the offsets expire again.
        """
        records: list[tuple[bytes, bytes | None]] = [(encode_offset_key(group.group_id, p), None) for p in partitions]
        # A group that never had a generation was never written either.
        if whole_group and group.generation_id > 0:
            records.append((encode_group_key(group.group_id), None))
        if records:
            self._append(
                group.group_id,
                records,
                lambda outcome: _log_lost_tombstones(group.group_id, outcome),
                awaits_replicas=False,
            )

    def _append(
        self,
        group_id: str,
        records: list[tuple[bytes, bytes | None]] | list[tuple[bytes, bytes]],
        done: AppendDone,
        producer: TransactionalProducer | None = None,
        *,
        awaits_replicas: bool = True,
    ) -> None:
        batch = build_records(records, self._now_ms(), self._codec, producer)
        guard = None if producer is None else producer.guard
        self._sink.append(InternalAppend(self._partition_for(group_id), batch, awaits_replicas, guard), done)


def _log_lost_tombstones(group_id: str, outcome: AppendOutcome) -> None:
    if isinstance(outcome, KafkaError):
        logger.warning("group %s: tombstones not written: %s", group_id, outcome.code.name)
