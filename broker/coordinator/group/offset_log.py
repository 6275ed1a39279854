"""Writes committed offsets, and the tombstones of offsets and groups, to ``__consumer_offsets``."""

import logging
from collections.abc import Iterable, Mapping

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from ..batch_sizes import tombstone_batches
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

    def refusal(self, group_id: str) -> ErrorCode:
        """Why the log would refuse a batch now; see `RecordLog`."""
        return self._log.refusal(group_id)

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
        """Write tombstones for offsets, then for the other keys of the group, in as many batches as they need.

        ``done`` gets the outcome when all batches have ended: an error if one was not written. None: no request waits
        for it. Then, as in Kafka, they are written even when too few replicas are in sync: lost tombstones are written
        again when the offsets expire again.
        """
        keys = (*(encode_offset_key(group_id, p) for p in partitions), *group_keys)
        batches = list(tombstone_batches(keys, bytes, self._log.max_batch_bytes(group_id)))
        ended = 0
        errors: list[KafkaError] = []

        def finish(outcome: AppendOutcome) -> None:
            nonlocal ended
            ended += 1
            if isinstance(outcome, KafkaError):
                if not errors:
                    logger.warning("group %s: tombstones not written: %s", group_id, outcome.code.name)
                errors.append(outcome)
            if ended == len(batches) and done is not None:
                done(errors[0] if errors else outcome)

        for batch in batches:
            if errors:  # refused at once: the group's own keys must not be deleted before its offsets
                finish(errors[0])
            else:
                self._log.append(group_id, [(key, None) for key in batch], finish, awaits_replicas=done is not None)
