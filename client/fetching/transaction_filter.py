"""Tells which batches a reader with `read_committed` must skip."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ...protocol.records.batch import RecordBatch
from ...protocol.records.control import read_marker


class TransactionFilter:
    """Gets the batches of a partition in order and tells which belong to aborted transactions (KIP-98)."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        """`aborted`: first offset and producer id of each aborted transaction in the range."""
        self._to_come = list(aborted)
        heapq.heapify(self._to_come)
        self._aborting: set[int] = set()

    def hides(self, batch: RecordBatch) -> bool:
        """Returns whether the batch belongs to an aborted transaction. Raises InvalidRecordError
        for a broken marker."""
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
