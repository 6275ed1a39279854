"""Tracks open transactions during a compaction pass and decides which records and markers may go. Pure.

Records of an aborted transaction go at once. A marker's delete horizon starts only when no record of its transaction is
left before it (Kafka's CleanedTransactionMetadata).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from ...protocol.records.batch import RecordBatch
from ...protocol.records.control import ControlType, control_type
from ...protocol.records.record import read_records
from ..segment.transaction_index import AbortedTransaction

_MAX_CONTROL_BYTES = 1 << 20


class _Aborted:
    """An aborted transaction that is open at the current offset, and whether the pass has met a batch of it."""

    __slots__ = ("has_batches", "transaction")

    def __init__(self, transaction: AbortedTransaction) -> None:
        self.transaction = transaction
        self.has_batches = False


class CleanedTransactions:
    """Is given each batch in order. `retained`: aborted transactions with remaining batches, for the new transaction
    index, whose writer takes them out."""

    def __init__(self) -> None:
        self.retained: list[AbortedTransaction] = []
        self._ahead: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()

    def expect(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Add aborted transactions that overlap the next batches. Adding one twice is harmless."""
        for transaction in aborted:
            heappush(self._ahead, (transaction.first_offset, transaction))

    def _begin_up_to(self, offset: int) -> None:
        ahead = self._ahead
        while ahead and ahead[0][0] <= offset:
            _, transaction = heappop(ahead)
            self._aborted.setdefault(transaction.producer_id, _Aborted(transaction))

    def on_data(self, batch: RecordBatch) -> bool:
        """Whether the batch belongs to an aborted transaction and may go."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        aborted = self._aborted.get(batch.producer_id)
        if aborted is None:
            self._committed.add(batch.producer_id)
            return False
        aborted.has_batches = True
        return True

    def on_control(self, batch: RecordBatch) -> bool:
        """Whether no record of the transaction that the marker ends is left, so that the marker may go in time."""
        self._begin_up_to(batch.last_offset)
        kind = _kind_of(batch)
        if kind is None:
            return True  # emptied by an earlier pass
        if kind is ControlType.ABORT:
            aborted = self._aborted.pop(batch.producer_id, None)
            if aborted is None or not aborted.has_batches:
                return True
            self.retained.append(aborted.transaction)
            return False
        if kind is ControlType.COMMIT:
            if batch.producer_id not in self._committed:
                return True
            self._committed.remove(batch.producer_id)
        return False


def _kind_of(batch: RecordBatch) -> ControlType | None:
    """None for a batch without a record."""
    for record in read_records(batch, _MAX_CONTROL_BYTES):
        return control_type(record.key)
    return None
