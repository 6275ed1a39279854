"""Which batches a region of a log has. Runs on a worker, because it reads the file."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.records.batch import read_header
from ...storage.files.files import FileRegion
from ...storage.segment.transaction_index import AbortedTransaction
from .record_runs import OffsetSpan
from .share_partition import SharePartition

__all__ = ["ReadBatches", "RegionToRead", "read_batches", "region_to_read"]

_CHUNK_BYTES = 64 * 1024
_HEADER_BYTES = 61
_FIRST_OFFSET = attrgetter("first_offset")


class RegionToRead(NamedTuple):
    """``stop_offset``: batches from there on are not needed. ``aborted``: transactions whose records to leave out."""

    region: FileRegion
    stop_offset: int
    aborted: Sequence[AbortedTransaction]


class ReadBatches(NamedTuple):
    """The whole batches of a region: their offsets, where each ends in it, and those of aborted transactions."""

    spans: list[OffsetSpan]
    ends: list[int]
    aborted: list[OffsetSpan]

    def part(self, region: FileRegion, first: int, last: int) -> FileRegion:
        """The part of the region with the batches that have offsets from ``first`` to ``last``."""
        begin = end = 0
        for span, batch_end in zip(self.spans, self.ends, strict=True):
            if span.last < first:
                begin = batch_end
            if span.first <= last:
                end = batch_end
        return FileRegion(region.file, region.position + begin, end - begin)


def region_to_read(
    region: FileRegion, records: SharePartition | None, max_records: int, aborted: Sequence[AbortedTransaction] | None
) -> RegionToRead:
    """The region with a limit, so that the records in flight and up to ``max_records`` new ones are known."""
    stop_offset = 0 if records is None else records.end_offset + min(max_records, records.max_locks)
    return RegionToRead(region, stop_offset, aborted or ())


def read_batches(to_read: Sequence[RegionToRead]) -> list[ReadBatches | ErrorCode]:
    """The batches of each region, or an error."""
    results: list[ReadBatches | ErrorCode] = []
    for each in to_read:
        try:
            results.append(_batches_of(each))
        except KafkaError as error:
            results.append(error.code)
        except OSError:
            results.append(ErrorCode.KAFKA_STORAGE_ERROR)
    return results


class _AbortedSpans:
    """The offsets of the aborted transactions of each producer, up to the batch that was looked up last."""

    def __init__(self, transactions: Sequence[AbortedTransaction], stop_offset: int) -> None:
        begun = [each for each in transactions if each.first_offset < stop_offset]
        begun.sort(key=_FIRST_OFFSET, reverse=True)
        self._to_come = begun
        self._last_offsets: dict[int, int] = {}

    def has(self, producer_id: int, span: OffsetSpan) -> bool:
        """Whether a batch is part of an aborted transaction. Batches are looked up in order."""
        to_come, last_offsets = self._to_come, self._last_offsets
        while to_come and to_come[-1].first_offset <= span.first:
            begun = to_come.pop()
            last_offsets[begun.producer_id] = max(begun.last_offset, last_offsets.get(begun.producer_id, -1))
        return span.last <= last_offsets.get(producer_id, -1)


def _batches_of(to_read: RegionToRead) -> ReadBatches:
    region, stop_offset, transactions = to_read
    aborted = _AbortedSpans(transactions, stop_offset)
    found = ReadBatches([], [], [])
    chunk, begin, position = b"", 0, 0
    while position < region.size_bytes:
        if position + _HEADER_BYTES > begin + len(chunk):
            begin, chunk = (
                position,
                region.file.read_at(region.position + position, min(_CHUNK_BYTES, region.size_bytes - position)),
            )
        batch = read_header(chunk, position - begin, len(chunk))
        if batch is None:
            break
        span = OffsetSpan(batch.base_offset, batch.last_offset)
        position += batch.size_bytes
        if position > region.size_bytes or span.first >= stop_offset:
            break  # a batch that is cut off, or not needed
        found.spans.append(span)
        found.ends.append(position)
        if batch.is_transactional and not batch.is_control and aborted.has(batch.producer_id, span):
            found.aborted.append(span)
    return found
