"""Compares two replicas of a partition, record by record, below the high watermark of both.

A follower stores the exact batches of its leader, so comparing headers is nearly always enough. Where headers differ
(each broker compacts its log by itself), the records of that stretch of offsets are compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ...protocol.errors import KafkaError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record, read_records
from ...storage.files.files import Files
from ...storage.segment.segment_reader import SegmentReader
from ...storage.verify.fault import Findings
from .replica import BatchPlace, Replica, batch_places

MOST_STRETCH_BYTES = 64 << 20
"""Maximum size of a stretch that is compared by record; a longer stretch is one fault."""

_Records = dict[int, tuple[Record, int]]
"""Records and their leader epochs, by offset."""


class _Side:
    """The batches of one replica from offset `low`, with one batch of look-ahead."""

    def __init__(self, files: Files, replica: Replica, low: int) -> None:
        self._files = files
        self._places: Iterator[BatchPlace] = (place for place in batch_places(files, replica) if place.last >= low)
        self.next: BatchPlace | None = next(self._places, None)

    def take(self) -> BatchPlace:
        place = self.next
        assert place is not None
        self.next = next(self._places, None)
        return place

    def take_until(self, limit: int) -> list[BatchPlace]:
        """Takes the batches that begin at or below `limit`."""
        taken = []
        while self.next is not None and self.next.first <= limit:
            taken.append(self.take())
        return taken

    def records_of(self, places: list[BatchPlace]) -> _Records:
        """Reads the records of the batches. Raises OSError, and KafkaError for an unreadable batch."""
        found: _Records = {}
        for place in places:
            size = place.header.size_bytes
            with SegmentReader(self._files, place.path) as reader:
                batch = RecordBatch(reader.read(place.position, size), 0)
            epoch = batch.partition_leader_epoch if batch.magic >= 2 else -1
            found |= {record.offset: (record, epoch) for record in read_records(batch)}
        return found


def compare_replicas(files: Files, one: Replica, other: Replica, found: Findings) -> None:
    """Adds a fault for each difference, located in the files of `other`. Both high watermarks must be known. Raises
    OSError.
    """
    assert one.high_watermark is not None
    assert other.high_watermark is not None
    low, high = max(one.start, other.start), min(one.high_watermark, other.high_watermark)
    compacted_to = max(one.compacted_to, other.compacted_to)
    ours, theirs = _Side(files, one, low), _Side(files, other, low)
    while _is_below(ours.next, high) or _is_below(theirs.next, high):
        if ours.next is not None and theirs.next is not None and ours.next.is_copy_of(theirs.next):
            ours.take()
            theirs.take()
            continue
        mine, its = _stretch(ours, theirs)
        end = min(high, 1 + max(place.last for place in chain(mine, its)))
        begin = max(low, min(place.first for place in chain(mine, its)))
        path, position = (its[0].path, its[0].position) if its else (other.directory, None)
        if sum(place.header.size_bytes for place in chain(mine, its)) > MOST_STRETCH_BYTES:
            found.add(path, f"from offset {begin} on, no batch is the same as in {one.directory}", position)
            return
        try:
            my_records, its_records = ours.records_of(mine), theirs.records_of(its)
        except KafkaError:  # reported by the check of that replica
            continue
        for offset in sorted(my_records.keys() | its_records.keys()):
            if begin <= offset < end:
                what = _difference(my_records.get(offset), its_records.get(offset), offset < compacted_to)
                if what is not None:
                    found.add(path, f"offset {offset} {what} {one.directory}", position)


def _is_below(place: BatchPlace | None, high: int) -> bool:
    return place is not None and place.first < high


def _stretch(ours: _Side, theirs: _Side) -> tuple[list[BatchPlace], list[BatchPlace]]:
    """Takes the next batches of both replicas, up to an offset at which batches begin in both."""
    following = [place for place in (ours.next, theirs.next) if place is not None]
    limit = min(place.last for place in following)
    mine: list[BatchPlace] = []
    its: list[BatchPlace] = []
    while True:
        size = len(mine) + len(its)
        mine += ours.take_until(limit)
        its += theirs.take_until(limit)
        limit = max([limit, *(place.last for place in chain(mine[-1:], its[-1:]))])
        is_long = sum(place.header.size_bytes for place in chain(mine, its)) > MOST_STRETCH_BYTES
        if len(mine) + len(its) == size or is_long:
            return mine, its


def _difference(mine: tuple[Record, int] | None, its: tuple[Record, int] | None, may_be_compacted: bool) -> str | None:
    if mine is None or its is None:
        if may_be_compacted:
            return None
        return "is missing, but exists in" if its is None else "exists here, but not in"
    if mine[0] != its[0]:
        return "has another record than in"
    return None if mine[1] == its[1] else f"has leader epoch {its[1]}, not {mine[1]} as in"
