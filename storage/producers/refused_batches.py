"""The batches of idempotent producers that a log refused for a passing reason, until they are sent again.

Why: a producer has several batches in flight. If the batch behind a refused one were OUT_OF_ORDER_SEQUENCE_NUMBER,
librdkafka would begin a new epoch and store again the records whose answers it missed. A log without a state of the
producer would even accept it, and never the refused one. (Kafka does both.)
How: the batches behind a refused one get the same error, until it comes again.
Limits: in memory only, as many producers as the log remembers, for a minute after the refusal.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

from ...base.buffer import Buffer
from ...protocol.errors import CorruptRecordError, ErrorCode, KafkaError, error_for
from ...protocol.records.batch import read_header

__all__ = ["FORGOTTEN_AFTER_MS", "RefusedBatch", "RefusedBatches", "is_reached", "refused_batch"]

_PASSING = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,  # on its way
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors after which clients send the same batch again."""

FORGOTTEN_AFTER_MS = 60_000
_SEQUENCES = 1 << 31
_HALF = 1 << 30


class RefusedBatch(NamedTuple):
    """A refused batch: its producer, its first sequence, and the error that the producer was told.

    The exception itself is not kept, because its traceback refers to the batch's records.
    """

    producer_id: int
    producer_epoch: int
    first_sequence: int
    error: ErrorCode
    reason: str
    refused_ms: int

    def is_expired(self, now_ms: int) -> bool:
        return now_ms - self.refused_ms >= FORGOTTEN_AFTER_MS


def refused_batch(records: Buffer, error: KafkaError, now_ms: int) -> RefusedBatch | None:
    """Return the batch to remember after `error`; None when its producer is not idempotent or won't send it again."""
    if error.code not in _PASSING:
        return None
    try:
        batch = read_header(records, 0, len(records))
    except CorruptRecordError:
        return None
    if batch is None or batch.magic < 2 or batch.producer_id < 0 or batch.base_sequence < 0:
        return None
    return RefusedBatch(batch.producer_id, batch.producer_epoch, batch.base_sequence, error.code, str(error), now_ms)


class RefusedBatches:
    """The earliest refused batch of each producer of one log. Any thread may call the methods."""

    __slots__ = ("_batches", "_lock")

    def __init__(self) -> None:
        self._batches: dict[int, RefusedBatch] = {}
        """By producer id, in the order of their last refusals."""
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[RefusedBatch]:
        return iter(list(self._batches.values()))

    def note(self, refused: RefusedBatch, most: int) -> None:
        """Remember a refused batch, unless an earlier one of the same producer epoch is remembered.

        At most `most` batches are remembered: the ones refused longest ago go, and so do expired ones.
        """
        with self._lock:
            batches, now_ms = self._batches, refused.refused_ms
            known = batches.get(refused.producer_id)
            if known is not None and not known.is_expired(now_ms) and not _replaces(refused, known):
                return
            batches.pop(refused.producer_id, None)
            batches[refused.producer_id] = refused
            self._remove_oldest(len(batches) - most, now_ms)

    def check(
        self, producer_id: int, producer_epoch: int, first_sequence: int, last_sequence: int, now_ms: int
    ) -> None:
        """Raise the error of a refused batch that must come before this one.

        `last_sequence` is the producer's last one in the log under this epoch; -1 when the log has none.
        """
        refused = self._batches.get(producer_id)
        if refused is None or refused.producer_epoch != producer_epoch or refused.is_expired(now_ms):
            return
        if not _is_behind(first_sequence, refused.first_sequence) or is_reached(refused, last_sequence):
            return
        raise error_for(
            refused.error,
            f"producer {producer_id} sent sequence {first_sequence}, but the batch with sequence "
            f"{refused.first_sequence} must come first, which was refused: {refused.reason}",
        )

    def appended(self, producer_id: int, producer_epoch: int, last_sequence: int) -> None:
        """Forget the producer's refused batch if it is in the log now, or of an older epoch."""
        with self._lock:
            refused = self._batches.get(producer_id)
            if refused is not None and (
                refused.producer_epoch < producer_epoch
                or (refused.producer_epoch == producer_epoch and is_reached(refused, last_sequence))
            ):
                del self._batches[producer_id]

    def remove_expired(self, now_ms: int) -> None:
        """Forget batches that were refused a minute ago or longer, and not again since."""
        with self._lock:
            self._remove_oldest(0, now_ms)

    def _remove_oldest(self, count: int, now_ms: int) -> None:
        """Remove the `count` oldest, and the expired ones behind them."""
        oldest: list[int] = []
        for producer_id, refused in self._batches.items():
            if len(oldest) >= count and not refused.is_expired(now_ms):
                break
            oldest.append(producer_id)
        for producer_id in oldest:
            del self._batches[producer_id]


def _replaces(refused: RefusedBatch, known: RefusedBatch) -> bool:
    if refused.producer_epoch != known.producer_epoch:
        return refused.producer_epoch > known.producer_epoch
    return not _is_behind(refused.first_sequence, known.first_sequence)


def _is_behind(sequence: int, other: int) -> bool:
    """Whether `sequence` comes after `other`; sequences begin again at 0 after 2^31 - 1."""
    return 0 < (sequence - other) % _SEQUENCES < _HALF


def is_reached(refused: RefusedBatch, last_sequence: int) -> bool:
    """Whether the batch is in a log with this last sequence of its producer; -1: the log has none."""
    return last_sequence >= 0 and (last_sequence - refused.first_sequence) % _SEQUENCES < _HALF
