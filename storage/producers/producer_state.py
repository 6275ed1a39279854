"""The state of a log's idempotent and transactional producers (KIP-98): sequences, epochs, open transactions.

How: a batch is checked against the state, then written to the log, then applied to the state, so a refused or failed
write changes nothing. A producer without state may start at any sequence, because its state may have expired or been
deleted with its records. Pure: `ProducerSnapshots` reads and writes the files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ...base.invariant import invariant
from ...base.topic_partition import TopicPartition
from ...protocol.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from ...protocol.records.batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, decrement_sequence
from ..segment.transaction_index import AbortedTransaction
from .refused_batches import RefusedBatch, RefusedBatches, is_reached
from .verification_guards import VerificationGuard, VerificationGuards

BATCHES_TO_KEEP = 5
MAX_PRODUCERS = 10_000
"""Default of ``pybroker.producer.ids.max.per.partition``."""
NO_OFFSET = -1
_MAX_SEQUENCE = (1 << 31) - 1
_HIGHEST_EPOCH = (1 << 15) - 1


class AppendOrigin(IntEnum):
    """Where an append comes from. This determines which checks apply."""

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2
    BUMPING_COORDINATOR = 3
    """The end marker of a transaction whose producer gets a new epoch with it (transaction version 2)."""


class BatchMetadata(NamedTuple):
    """One of a producer's last batches. `offset_delta` is last minus first offset."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


@dataclass(slots=True)
class ProducerEntry:
    """The state of one producer. `batches` are its last five batches in its current epoch.

    A list, because there may be very many producers: a list of one batch takes a tenth of the memory of a deque.
    """

    producer_id: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = NO_TIMESTAMP
    current_txn_first_offset: int = NO_OFFSET
    batches: list[BatchMetadata] = field(default_factory=list)
    marker_offset: int = field(default=NO_OFFSET, compare=False)
    """The last marker's offset; -1 when the entry comes from a snapshot."""

    @property
    def last_offset(self) -> int:
        """The offset of the producer's last batch or marker; -1 when unknown."""
        return max(self.batches[-1].last_offset if self.batches else NO_OFFSET, self.marker_offset)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def set_epoch(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch


class LastRecord(NamedTuple):
    """An active producer's last entry in a log: the last offset of its last batch, or -1 after a marker only."""

    last_data_offset: int
    producer_epoch: int


class DataBatch(NamedTuple):
    """A producer's batch of records, with its present or future offsets."""

    producer_id: int
    producer_epoch: int
    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    max_timestamp: int
    is_transactional: bool


class EndMarker(NamedTuple):
    """The marker that ends a transaction: the control batch at `offset`."""

    producer_id: int
    producer_epoch: int
    offset: int
    timestamp: int
    coordinator_epoch: int
    is_abort: bool


class CompletedTransaction(NamedTuple):
    """A transaction whose marker (at `last_offset`) is written, but may not be replicated yet."""

    first_offset: int
    last_offset: int


class UnstableOffsets(NamedTuple):
    """The offsets that bound the last stable offset.

    `first_undecided` is the first offset of the oldest open transaction, or -1. `completed` are the transactions whose
    markers may lie above the high watermark.
    """

    first_undecided: int = NO_OFFSET
    completed: tuple[CompletedTransaction, ...] = ()

    def first_unstable(self, high_watermark: int) -> int:
        """Return the first offset that a read_committed consumer must not see yet, or -1."""
        first = self.first_undecided
        for transaction in self.completed:
            if transaction.last_offset >= high_watermark and (first < 0 or transaction.first_offset < first):
                first = transaction.first_offset
        return first


class ProducerState:
    """The producers of one log. The state reflects the log up to `end_offset`."""

    def __init__(self, topic_partition: TopicPartition, expiration_ms: int, max_producers: int = MAX_PRODUCERS) -> None:
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        self.max_producers = max_producers
        self.end_offset = 0
        self.is_of_snapshot = False
        """The producers were loaded from a snapshot, each with its last batch only (see `recall_last_batches`)."""
        self.producers: dict[int, ProducerEntry] = {}
        self._open: dict[int, int] = {}  # first offset of an open transaction -> producer id, in order of offsets
        self._completed: tuple[CompletedTransaction, ...] = ()
        self.unstable = UnstableOffsets()
        """Replaced, never changed: any thread may read it."""
        self.guards = VerificationGuards()
        self.refused = RefusedBatches()

    # --- checks: nothing changes --------------------------------------------------------------------------------

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer has an open transaction in this epoch. From any thread."""
        entry = self.producers.get(producer_id)
        return entry is not None and entry.current_txn_first_offset >= 0 and entry.producer_epoch == producer_epoch

    def check(
        self,
        updates: Iterable[DataBatch | EndMarker],
        origin: AppendOrigin,
        now_ms: int,
        guard: VerificationGuard | None = None,
    ) -> BatchMetadata | None:
        """Raise unless a leader may append `updates`, in one append; return the stored batch that the append repeats.

        A batch that begins a transaction is refused unless the log still holds the given `guard`. Replicated batches
        are not checked. Raises what `check_batch` and `check_marker` raise.
        """
        if origin is AppendOrigin.REPLICATION:
            return None
        for update in updates:
            if isinstance(update, EndMarker):
                self.check_marker(update, origin)
                continue
            if origin is AppendOrigin.CLIENT:
                known = self.find_duplicate(update)
                if known is not None:
                    return known
            self.check_batch(update, origin, now_ms, guard)
        return None

    def find_duplicate(self, batch: DataBatch) -> BatchMetadata | None:
        """Return the stored batch that `batch` repeats, if it is among the last five of the same epoch."""
        entry = self.producers.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            return None
        for known in entry.batches:
            if known.last_sequence == batch.last_sequence and known.first_sequence == batch.first_sequence:
                return known
        return None

    def check_batch(
        self, batch: DataBatch, origin: AppendOrigin, now_ms: int, guard: VerificationGuard | None = None
    ) -> None:
        """Raise unless a leader may append `batch`. A late batch of an ended transaction has an older epoch.

        Raises InvalidProducerEpochError, OutOfOrderSequenceError, InvalidTxnStateError, and behind a refused batch its
        error.
        """
        entry = self.producers.get(batch.producer_id)
        if entry is not None:
            self._check_epoch(entry, batch.producer_epoch, batch.first_offset)
        if guard is not None and batch.is_transactional:
            self._check_guard(batch, guard)
        if self.refused and origin is AppendOrigin.CLIENT:
            last_sequence = self._last_sequence(batch.producer_id, batch.producer_epoch)
            self.refused.check(batch.producer_id, batch.producer_epoch, batch.first_sequence, last_sequence, now_ms)
        if self.guards and origin is AppendOrigin.CLIENT:
            self._check_guarded_sequence(batch)
        if entry is None:
            return
        if origin is AppendOrigin.CLIENT:
            self._check_sequence(entry, batch)
        if entry.current_txn_first_offset >= 0 and not batch.is_transactional:
            raise InvalidTxnStateError(
                f"{self.topic_partition}: producer {batch.producer_id} sent a batch outside of its open transaction"
            )

    def check_marker(self, marker: EndMarker, origin: AppendOrigin = AppendOrigin.COORDINATOR) -> None:
        """Raise unless a leader may append `marker`.

        With a new epoch in every marker, one of the open transaction's own epoch belongs to an earlier transaction. If
        none is open, it repeats the last marker (KAFKA-19999). After exhausted epochs the highest epoch may come twice.

        Raises InvalidProducerEpochError, TransactionCoordinatorFencedError.
        """
        entry = self.producers.get(marker.producer_id)
        if entry is None:
            return
        self._check_epoch(entry, marker.producer_epoch, marker.offset)
        is_late = entry.current_txn_first_offset >= 0 and marker.producer_epoch == entry.producer_epoch
        if origin is AppendOrigin.BUMPING_COORDINATOR and is_late and marker.producer_epoch < _HIGHEST_EPOCH:
            raise InvalidProducerEpochError(
                f"{self.topic_partition}: a marker of epoch {marker.producer_epoch} cannot end the transaction that "
                f"producer {marker.producer_id} has begun in that epoch"
            )
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"{self.topic_partition}: the marker of producer {marker.producer_id} has coordinator epoch "
                f"{marker.coordinator_epoch}, but the log has a marker of coordinator epoch {entry.coordinator_epoch}"
            )

    def _check_epoch(self, entry: ProducerEntry, producer_epoch: int, offset: int) -> None:
        if producer_epoch < entry.producer_epoch:
            raise InvalidProducerEpochError(
                f"{self.topic_partition}: epoch {producer_epoch} of producer {entry.producer_id} at offset {offset} "
                f"is older than its last epoch {entry.producer_epoch}"
            )

    def _check_guard(self, batch: DataBatch, guard: VerificationGuard) -> None:
        is_open = self.has_open_transaction(batch.producer_id, batch.producer_epoch)
        if not is_open and self.guards.get(batch.producer_id) is not guard:
            raise InvalidTxnStateError(
                f"{self.topic_partition}: the transaction of producer {batch.producer_id} is no longer open"
            )

    def _check_guarded_sequence(self, batch: DataBatch) -> None:
        """Raise when an earlier batch still waits for the verification, or must be sent again after it has failed.

        A producer that gets a new epoch with every transaction begins each with sequence 0.
        """
        guard = self.guards.get(batch.producer_id)
        if guard is None:
            return
        is_first = batch.producer_id not in self.producers
        if is_first and guard.bumps_epochs and batch.first_sequence:
            raise OutOfOrderSequenceError(
                f"{self.topic_partition}: producer {batch.producer_id} sent sequence {batch.first_sequence} as its "
                "first, expected 0"
            )
        if batch.first_sequence > guard.lowest_sequence:
            raise OutOfOrderSequenceError(
                f"{self.topic_partition}: producer {batch.producer_id} sent sequence {batch.first_sequence}, but the "
                f"batch with sequence {guard.lowest_sequence} must come first"
            )

    def _check_sequence(self, entry: ProducerEntry, batch: DataBatch) -> None:
        first = batch.first_sequence
        if entry.producer_epoch == NO_PRODUCER_EPOCH:
            return
        if batch.producer_epoch != entry.producer_epoch:
            if first == 0:
                return
            expected = 0
        else:
            last = entry.last_sequence
            if first == last + 1 or (first == 0 and last == _MAX_SEQUENCE):
                return
            expected = last + 1
        raise OutOfOrderSequenceError(
            f"{self.topic_partition}: producer {batch.producer_id} (epoch {batch.producer_epoch}) sent sequence "
            f"{first} at offset {batch.first_offset}, expected {expected}"
        )

    # --- changes, made after the bytes are in the log ----------------------------------------------------------------

    def apply_batch(self, batch: DataBatch) -> None:
        """Apply a batch that is in the log. A replicated batch is not checked, because its leader has checked it."""
        entry = self._entry_of(batch.producer_id)
        entry.set_epoch(batch.producer_epoch)
        delta = batch.last_offset - batch.first_offset
        if len(entry.batches) == BATCHES_TO_KEEP:
            del entry.batches[0]
        entry.batches.append(BatchMetadata(batch.last_sequence, batch.last_offset, delta, batch.max_timestamp))
        entry.last_timestamp = batch.max_timestamp
        if self.refused:
            self.refused.appended(batch.producer_id, batch.producer_epoch, batch.last_sequence)
        if batch.is_transactional:
            if entry.current_txn_first_offset < 0:
                entry.current_txn_first_offset = batch.first_offset
                self._open[batch.first_offset] = batch.producer_id
                self._publish()
            self.guards.end(batch.producer_id)

    def aborted_by(self, updates: Iterable[DataBatch | EndMarker]) -> list[AbortedTransaction]:
        """Return the transactions that these updates abort when applied in order, with the last stable offset then."""
        still_open = dict(self._open)
        first_offsets = {producer_id: first_offset for first_offset, producer_id in still_open.items()}
        aborted = []
        for update in updates:
            if isinstance(update, DataBatch):
                if update.is_transactional and update.producer_id not in first_offsets:
                    first_offsets[update.producer_id] = update.first_offset
                    still_open[update.first_offset] = update.producer_id
                continue
            first_offset = first_offsets.pop(update.producer_id, None)
            if first_offset is None:
                continue
            del still_open[first_offset]
            if update.is_abort:
                stable = next(iter(still_open), update.offset + 1)
                aborted.append(AbortedTransaction(update.producer_id, first_offset, update.offset, stable))
        return aborted

    def apply_marker(self, marker: EndMarker) -> None:
        """Apply a marker that is in the log."""
        self.guards.end_by_marker(marker.producer_id, marker.producer_epoch)
        entry = self._entry_of(marker.producer_id)
        first_offset = entry.current_txn_first_offset
        entry.set_epoch(marker.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = marker.timestamp
        entry.marker_offset = marker.offset
        entry.current_txn_first_offset = NO_OFFSET
        if first_offset >= 0:
            invariant(
                self._open.pop(first_offset, None) == marker.producer_id,
                f"{self.topic_partition}: producer {marker.producer_id} has no transaction from {first_offset}",
            )
            self._completed = (*self._completed, CompletedTransaction(first_offset, marker.offset))
            self._publish()

    def forget_replicated(self, high_watermark: int) -> None:
        """Forget completed transactions whose markers are below the high watermark: they no longer limit the LSO."""
        kept = tuple(transaction for transaction in self._completed if transaction.last_offset >= high_watermark)
        if len(kept) < len(self._completed):
            self._completed = kept
            self._publish()

    def _entry_of(self, producer_id: int) -> ProducerEntry:
        """The producer's entry, created if missing."""
        entry = self.producers.get(producer_id)
        if entry is None:
            if len(self.producers) >= self.max_producers:
                self._forget_some()
            entry = self.producers[producer_id] = ProducerEntry(producer_id)
        return entry

    def _forget_some(self) -> None:
        """Forget a tenth of the producers: those whose last batch or marker is the oldest in the log.

        Offsets decide the age, because clients choose the timestamps. Producers with an open transaction stay.
        """
        idle = [entry for entry in self.producers.values() if entry.current_txn_first_offset < 0]
        idle.sort(key=lambda entry: entry.last_offset)
        for entry in idle[: max(len(self.producers) - self.max_producers + self.max_producers // 10, 1)]:
            del self.producers[entry.producer_id]

    def note_refused(self, refused: RefusedBatch) -> None:
        """Remember a batch that was refused for a passing reason (see `RefusedBatches`). From any thread.

        A batch that is in the log is not remembered: it may be sent again because its response was late or lost.
        """
        last_sequence = self._last_sequence(refused.producer_id, refused.producer_epoch)
        if not is_reached(refused, last_sequence):
            self.refused.note(refused, self.max_producers)

    def _last_sequence(self, producer_id: int, producer_epoch: int) -> int:
        """The producer's last sequence in the log under this epoch; NO_SEQUENCE when the log has none."""
        entry = self.producers.get(producer_id)
        return entry.last_sequence if entry is not None and entry.producer_epoch == producer_epoch else NO_SEQUENCE

    def remove_expired(self, now_ms: int) -> None:
        """Forget producers that wrote nothing for `producer.id.expiration.ms` and have no open transaction."""
        expired = [entry.producer_id for entry in self.producers.values() if self._is_expired(entry, now_ms)]
        for producer_id in expired:
            del self.producers[producer_id]
        self.guards.remove_expired(now_ms, self.expiration_ms)
        self.refused.remove_expired(now_ms)

    @property
    def has_any_to_expire(self) -> bool:
        """Whether there are producers, guards or refused batches that can expire. From any thread."""
        return bool(self.producers) or bool(self.guards) or bool(self.refused)

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return entry.current_txn_first_offset < 0 and now_ms - entry.last_timestamp >= self.expiration_ms

    def clear(self, end_offset: int) -> None:
        self.producers = {}
        self._open = {}
        self._completed = ()
        self.end_offset = end_offset
        self.is_of_snapshot = False
        self._publish()

    def load(self, entries: Iterable[ProducerEntry], end_offset: int, now_ms: int) -> None:
        """Replace the state by the producers of a snapshot at `end_offset`, without the expired ones."""
        self.clear(end_offset)
        for entry in entries:
            if not self._is_expired(entry, now_ms):
                self.producers[entry.producer_id] = entry
        started = [
            (entry.current_txn_first_offset, entry.producer_id)
            for entry in self.producers.values()
            if entry.current_txn_first_offset >= 0
        ]
        self._open = dict(sorted(started))
        self.is_of_snapshot = True
        self._publish()

    def last_records(self) -> dict[int, LastRecord]:
        """Return what compaction must keep of each producer, by producer id, so that its state can be rebuilt."""
        return {
            producer_id: LastRecord(entry.batches[-1].last_offset if entry.batches else NO_OFFSET, entry.producer_epoch)
            for producer_id, entry in self.producers.items()
        }

    @property
    def producer_count(self) -> int:
        """From any thread."""
        return len(self.producers)

    @property
    def is_empty(self) -> bool:
        return not self.producers and not self._completed

    def _publish(self) -> None:
        first_undecided = next(iter(self._open), NO_OFFSET)
        self.unstable = UnstableOffsets(first_undecided, self._completed)
