"""Reads a partition's log as a read_committed consumer does: the verdict of every transactional batch."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.control import decode_marker
from pybroker.protocol.records.record import read_records
from pybroker.storage.log.log import Log

__all__ = ["CommittedRecord", "CommittedView", "LogBatch", "Marker", "batches_in", "committed_view"]


class Marker(NamedTuple):
    """The end marker in a batch. `has_ended`: it ended an open transaction of the partition."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int
    offset: int = -1
    has_ended: bool = False


class LogBatch(NamedTuple):
    """One batch of a log. `records`: offset, key and value of each. `marker`: of a control batch."""

    base_offset: int
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    records: tuple[tuple[int, bytes | None, bytes | None], ...]
    marker: Marker | None = None
    leader_epoch: int = -1


class CommittedRecord(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    producer_id: int


class CommittedView(NamedTuple):
    """The content of a partition for read_committed consumers.

    Attributes:
        committed: records of committed transactions, and of no transaction, in the order of offsets.
        open_from: the first offset of each transaction that has no marker, by producer id.
        markers: all end markers.
        end_offset: of the log.
    """

    committed: list[CommittedRecord]
    open_from: dict[int, int]
    markers: list[Marker]
    end_offset: int

    @property
    def stable_end(self) -> int:
        """The last stable offset, if the whole log is replicated."""
        return min(self.open_from.values(), default=self.end_offset)


def committed_view(batches: Iterable[LogBatch], end_offset: int) -> CommittedView:
    """Judge every batch by the next marker of its producer."""
    committed: list[CommittedRecord] = []
    undecided: dict[int, list[CommittedRecord]] = {}
    markers: list[Marker] = []
    for batch in batches:
        if batch.marker is not None:
            records = undecided.pop(batch.producer_id, None)
            markers.append(batch.marker._replace(offset=batch.base_offset, has_ended=records is not None))
            if records is not None and batch.marker.is_commit:
                committed += records
            continue
        records = [CommittedRecord(*each, batch.producer_id) for each in batch.records]
        if batch.is_transactional:
            undecided.setdefault(batch.producer_id, []).extend(records)
        else:
            committed += records
    open_from = {producer_id: records[0].offset for producer_id, records in undecided.items()}
    return CommittedView(sorted(committed, key=lambda each: each.offset), open_from, markers, end_offset)


def batches_in(log: Log, begin: int = 0) -> Iterator[LogBatch]:
    """The batches of a log from the one with the offset ``begin`` to its end."""
    view = log.view
    offset = max(begin, view.log_start_offset)
    while offset < view.log_end_offset:
        region = view.read(offset, 1 << 30, view.log_end_offset, True, False).region
        batches = list(iter_batches(region.read())) if region is not None else []
        if not batches:
            return
        yield from map(_log_batch, batches)
        offset = batches[-1].next_offset


def _log_batch(batch: RecordBatch) -> LogBatch:
    records = list(read_records(batch))
    marker = None
    if batch.is_control:
        end = decode_marker(records[0])
        if end is not None:
            marker = Marker(batch.producer_id, batch.producer_epoch, end.is_commit, end.coordinator_epoch)
    return LogBatch(
        batch.base_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.is_transactional,
        tuple((each.offset, each.key, each.value) for each in records),
        marker,
        batch.partition_leader_epoch,
    )
