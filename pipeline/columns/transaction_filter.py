"""Which batches a reader of committed records does not see."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ...protocol.records.batch import RecordBatch
from ...protocol.records.control import read_marker


class TransactionFilter:
    """Fed with the batches of a partition in order, tells which belong to aborted transactions (KIP-98)."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        """`aborted`: first offset and producer id of the aborted transactions in what is read."""
        self._to_come = list(aborted)
        heapq.heapify(self._to_come)
        self._aborting: set[int] = set()

    def hides(self, batch: RecordBatch) -> bool:
        """Whether its records were never committed. Raises InvalidRecordError for a broken marker."""
        while self._to_come and self._to_come[0][0] <= batch.last_offset:
            self._aborting.add(heapq.heappop(self._to_come)[1])
        if not batch.is_transactional or batch.producer_id not in self._aborting:
            return False
        if batch.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.is_commit:
                self._aborting.discard(batch.producer_id)
            return False
        return True
