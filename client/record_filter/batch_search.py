"""Searches record batches for records that match a query.

**How.** A batch is decompressed and searched for the needles as a whole. Only where one is found, the records around it
are decoded and compared. Without needles each record is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...protocol.errors import InvalidRecordError
from ...protocol.records.batch import RecordBatch, TimestampType
from ...protocol.records.record import Record, plain_payload, read_records
from ...protocol.records.value_split import leading
from ...protocol.records.varint import read_size
from ...protocol.records.walk import walk_records
from .conditions import Candidate, compile_query
from .needles import needles_of
from .syntax import Query

_RECORDS_BETWEEN_LOOKS = 4_096
_FEW = 8
"""With more spots than one in so many records, decoding all records in one walk is faster."""


class BatchSearch:
    """A compiled query."""

    def __init__(self, query: Query) -> None:
        needles = needles_of(query)
        self._needles = None if needles is None else needles.all()
        self._matches = compile_query(query)

    def matches(self, candidate: Candidate) -> bool:
        """Whether one record matches."""
        return self._matches(candidate)

    def records(
        self, batch: RecordBatch, partition: int, max_bytes: int, is_over: Callable[[], bool] = lambda: False
    ) -> Iterator[Record]:
        """Yields the records of a batch that match. Raises KafkaError for a broken batch, as `read_records` does.

        `is_over` is asked now and then whether to stop; a batch may contain millions of records.
        """
        if self._needles is None or batch.magic < 2:
            found: Iterator[Record] = read_records(batch, max_bytes)
        else:
            payload = plain_payload(batch, max_bytes)
            spots = _spots(payload, self._needles, batch.record_count // _FEW + 1)
            if not spots:
                return
            found = _records_at(batch, payload, spots)
        for number, record in enumerate(found, 1):
            if number % _RECORDS_BETWEEN_LOOKS == 0 and is_over():
                return
            if self._matches(Candidate(partition, record)):
                yield record


def _spots(payload: bytes, needles: tuple[bytes, ...], most: int) -> list[int]:
    """Some or all places of needles, sorted; all of them if there are no more than `most`."""
    spots: list[int] = []
    for needle in needles:
        spot = payload.find(needle)
        while spot >= 0 and len(spots) <= most:
            spots.append(spot)
            spot = payload.find(needle, spot + 1)
    return sorted(spots) if len(needles) > 1 else spots


def _records_at(batch: RecordBatch, payload: bytes, spots: list[int]) -> Iterator[Record]:
    """The records that contain a spot. Records without one are skipped by their sizes alone."""
    append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    bounds = batch.last_offset_delta, batch.base_timestamp, batch.base_sequence, append_time
    if len(spots) > batch.record_count // _FEW + 1:
        yield from walk_records(payload, batch.record_count, batch.base_offset, *bounds)
        return
    position, next_spot, end, stride = 0, 0, len(payload), 0
    try:
        while position < end and next_spot < len(spots):
            size, begins = read_size(payload, position)
            ends = begins + size
            if size <= 0 or ends > end:
                raise InvalidRecordError(f"Record at {position} of {size} bytes ends behind its batch")
            if spots[next_spot] < ends:
                yield from walk_records(payload[position:ends], 1, batch.base_offset, *bounds)
                while next_spot < len(spots) and spots[next_spot] < ends:
                    next_spot += 1
            elif ends - position == stride:
                ends += stride * _neighbours(payload, position, begins, stride, spots[next_spot])
            else:
                stride = ends - position
            position = ends
    except IndexError:
        raise InvalidRecordError(f"Batch ends inside a record, after {end} bytes") from None


def _neighbours(payload: bytes, position: int, begins: int, stride: int, spot: int) -> int:
    """How many records of the same size follow the record at `position`, whose size ends at `begins`, before `spot`."""
    count = (spot - position) // stride - 1
    for place in range(position, begins):
        count = leading(payload, place + stride, stride, count, payload[place : place + 1])
    return count
