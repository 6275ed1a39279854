"""Writes committed offsets, and the tombstones of offsets and groups, to ``__consumer_offsets``."""

import logging
from collections.abc import Iterable, Mapping

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from ..internal_log import AppendDone, AppendOutcome
from .offset_batch import TransactionalProducer
from .offsets import OffsetAndMetadata
from .record_keys import encode_offset_key
from .record_log import MOVED, TOO_LARGE, UNAVAILABLE, RecordLog
from .records import encode_offset

__all__ = ["OffsetLog", "commit_error"]

logger = logging.getLogger(__name__)


def commit_error(code: ErrorCode) -> ErrorCode:
    """The error code for a client whose offsets were not stored."""
    if code in UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in MOVED:
        return ErrorCode.NOT_COORDINATOR
    if code in TOO_LARGE:
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    if code is ErrorCode.NETWORK_EXCEPTION:  # the coordinator of the transaction was unreachable: the client retries
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code


class OffsetLog:
    """Writes by ``log``."""

    def __init__(self, log: RecordLog) -> None:
        self._log = log

    def store_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        done: AppendDone,
        producer: TransactionalProducer | None = None,
    ) -> None:
        """Write committed offsets, in the transaction of ``producer`` when given."""
        records = [(encode_offset_key(group_id, key), encode_offset(value)) for key, value in offsets.items()]
        self._log.append(group_id, records, done, producer)

    def store_tombstones(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        group_keys: Iterable[bytes],
        done: AppendDone | None = None,
    ) -> None:
        """Write tombstones for offsets and for the other keys of the group.

        ``done`` gets the outcome; None: no request waits for it. Then, as in Kafka, they are written even when too few
        replicas are in sync: lost tombstones are written again when the offsets expire again.
        """
        records = [(key, None) for key in (*(encode_offset_key(group_id, p) for p in partitions), *group_keys)]

        def finish(outcome: AppendOutcome) -> None:
            if isinstance(outcome, KafkaError):
                logger.warning("group %s: tombstones not written: %s", group_id, outcome.code.name)
            if done is not None:
                done(outcome)

        if records:
            self._log.append(group_id, records, finish, awaits_replicas=done is not None)
