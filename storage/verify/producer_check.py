"""The check of a log's producer snapshots and transaction indexes against its batches.

Limits: the log has less information than when the files were written, because retention removes its start, compaction
removes batches and markers, and producers expire. So only a contradiction is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...protocol.errors import KafkaError
from ...protocol.records.batch import RecordBatch
from ..files.files import Files
from ..producers.prepared_append import producer_update
from ..producers.producer_snapshots import CorruptSnapshotError
from ..producers.producer_state import NO_OFFSET, EndMarker, ProducerEntry
from ..producers.snapshot_reader import read_snapshot
from ..segment.transaction_index import AbortedTransaction
from .fault import Findings


@dataclass(slots=True)
class _ProducerInLog:
    """A producer as the batches so far show it: its last batch in its epoch, and its open transaction."""

    epoch: int
    last_offset: int = NO_OFFSET
    last_sequence: int = -1
    open_since: int = NO_OFFSET
    marker_offset: int = NO_OFFSET
    """Offset of the last marker. Kafka 0.11 counts a marker as the producer's last record in a snapshot."""


class ProducerCheck:
    """Takes a log's batches in order."""

    def __init__(self, files: Files, snapshots: Mapping[int, str], found: Findings) -> None:
        """`snapshots`: paths by offset, sorted."""
        self._files = files
        self._snapshots = dict(snapshots)
        self._found = found
        self._producers: dict[int, _ProducerInLog] = {}
        self._has_gaps = False
        self._aborted: list[AbortedTransaction] = []
        """Aborted transactions with a marker in the current segment and records in the log."""
        self._abort_markers: dict[int, int] = {}
        """Abort markers of the current segment: producer by offset.

        Compaction removes the records before the marker.
        """

    def note_gap(self) -> None:
        """Note that offsets are missing, possibly with markers: by compaction, or deleted by a running broker."""
        self._has_gaps = True
        for seen in self._producers.values():
            seen.open_since = NO_OFFSET

    def add_batch(self, batch: RecordBatch) -> None:
        """Take the next batch, which has a valid checksum."""
        self._compare_snapshots(batch.base_offset)
        if batch.producer_id < 0:
            return
        try:
            update = producer_update(batch, batch.base_offset)
        except KafkaError:  # reported by the check of the batch
            return
        if update is None:
            return
        seen = self._producers.get(batch.producer_id)
        if seen is None or seen.epoch != update.producer_epoch:
            open_since = NO_OFFSET if seen is None else seen.open_since
            seen = self._producers[batch.producer_id] = _ProducerInLog(update.producer_epoch, open_since=open_since)
        if isinstance(update, EndMarker):
            if update.is_abort:
                self._abort_markers[update.offset] = update.producer_id
            if update.is_abort and seen.open_since >= 0:
                self._aborted.append(AbortedTransaction(update.producer_id, seen.open_since, update.offset, -1))
            seen.open_since = NO_OFFSET
            seen.marker_offset = update.offset
            return
        seen.last_offset, seen.last_sequence = update.last_offset, update.last_sequence
        if update.is_transactional and seen.open_since < 0:
            seen.open_since = update.first_offset

    def end_segment(self, path: str, entries: Sequence[AbortedTransaction] | None, *, may_be_unfinished: bool) -> None:
        """Compare with the segment's transaction index at `path` (None: there is none)."""
        aborted, self._aborted = self._aborted, []
        markers, self._abort_markers = self._abort_markers, {}
        if entries is None:
            if aborted and not may_be_unfinished:
                self._found.add(path, f"is missing, although producer {aborted[0].producer_id} aborted a transaction")
            return
        last = -1
        for entry in entries:
            if entry.last_offset <= last or not 0 <= entry.first_offset <= entry.last_offset:
                self._found.add(path, f"entries are out of order: {_text(entry)} after {last}")
                return
            last = entry.last_offset
        if may_be_unfinished:
            aborted = [transaction for transaction in aborted if transaction.last_offset <= last]
        by_marker = {entry.last_offset: entry for entry in entries}
        for transaction in aborted:
            known = by_marker.pop(transaction.last_offset, None)
            if known is None or known.producer_id != transaction.producer_id:
                self._found.add(path, f"lacks the {_text(transaction)}")
            elif known.first_offset > transaction.first_offset:
                self._found.add(
                    path,
                    f"has the {_text(known)} from {known.first_offset}, but it begins at {transaction.first_offset}",
                )
        for known in by_marker.values():
            if markers.get(known.last_offset) != known.producer_id:
                self._found.add(path, f"has the {_text(known)}, which is not in the log")

    def skip_index(self) -> None:
        """Skip the segment's transaction index, which cannot be compared. The reason was reported already."""
        self._aborted.clear()
        self._abort_markers.clear()

    def end(self, log_end: int | None) -> None:
        """Compare the snapshots after all segments. `log_end` is None when the log end is not known."""
        if log_end is None:
            return
        self._compare_snapshots(log_end)
        for offset, path in self._snapshots.items():
            self._found.add(path, f"is at offset {offset}, but the log ends at {log_end}")

    def _compare_snapshots(self, offset: int) -> None:
        while self._snapshots and (first := next(iter(self._snapshots))) <= offset:
            path = self._snapshots.pop(first)
            try:
                entries = read_snapshot(self._files, path)
            except CorruptSnapshotError as error:
                self._found.add(path, f"cannot be read: {error}")
                continue
            except FileNotFoundError:  # a running broker deleted it
                continue
            for entry in entries:
                what = self._contradiction(entry, first)
                if what is not None:
                    self._found.add(path, f"producer {entry.producer_id} {what}")

    def _contradiction(self, entry: ProducerEntry, snapshot_offset: int) -> str | None:
        last = entry.batches[-1] if entry.batches else None
        last_offset = NO_OFFSET if last is None else last.last_offset
        if last_offset >= snapshot_offset:
            return f"wrote offset {last_offset}, after the offset of the snapshot"
        seen = self._producers.get(entry.producer_id)
        if seen is None:
            return None
        if seen.epoch > entry.producer_epoch or (seen.epoch < entry.producer_epoch and not self._has_gaps):
            return f"has epoch {entry.producer_epoch}, {seen.epoch} in the log"
        if seen.epoch != entry.producer_epoch or seen.last_offset < 0:
            return None
        if seen.last_offset > last_offset:
            return f"last wrote offset {last_offset}, {seen.last_offset} in the log"
        if seen.last_offset < last_offset and last_offset != seen.marker_offset:
            return None if self._has_gaps else f"last wrote offset {last_offset}, {seen.last_offset} in the log"
        if last is not None and last.last_sequence != seen.last_sequence:
            return f"has the sequence {last.last_sequence}, {seen.last_sequence} in the log"
        return None if self._has_gaps else _open_contradiction(entry.current_txn_first_offset, seen.open_since)


def _open_contradiction(told: int, seen: int) -> str | None:
    """Return the contradiction between two first offsets of an open transaction.

    The snapshot's one may be earlier, because the first batches may be deleted.
    """
    if (told < 0) == (seen < 0) and told <= seen:
        return None
    in_snapshot, in_log = ("none" if offset < 0 else f"one since offset {offset}" for offset in (told, seen))
    return f"has an open transaction: {in_snapshot}; in the log: {in_log}"


def _text(entry: AbortedTransaction) -> str:
    return f"transaction of producer {entry.producer_id} that was aborted at offset {entry.last_offset}"
