"""Which batches a region of a log has. Runs on a worker, because it reads the file."""

from collections.abc import Sequence
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
_NO_PRODUCER_ID = -1


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


def _batches_of(to_read: RegionToRead) -> ReadBatches:
    region, stop_offset, transactions = to_read
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
        if batch.producer_id != _NO_PRODUCER_ID and batch.is_transactional and not batch.is_control:
            for transaction in transactions:
                if (
                    transaction.producer_id == batch.producer_id
                    and transaction.first_offset <= span.first
                    and span.last <= transaction.last_offset
                ):
                    found.aborted.append(span)
                    break
    return found
