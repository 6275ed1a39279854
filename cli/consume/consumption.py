"""Reads batches, selects records, and prints them until there are enough."""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice

from ...client.fetching.fetches import MAX_PLAIN_BYTES
from ...client.fetching.partition_reader import Batches
from ...client.pace import Pace
from ...client.record_filter.batch_search import BatchSearch
from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record, plain_payload, read_records
from ...protocol.records.value_split import split_values
from ..gentle_interrupt import Waiting
from .forms import Printer

__all__ = ["Consumption"]

_PARTS_A_SECOND = 10


class Consumption:
    """Prints at most `limit` records (None: no limit), those that `search` finds, at most `rate` a second.

    Attributes:
        next_offset: the offset behind the last record, when the limit was reached or there is a rate.
    """

    def __init__(self, printer: Printer, *, limit: int | None, search: BatchSearch | None, rate: float | None) -> None:
        self._printer = printer
        self._left = limit
        self._search = search
        self.next_offset: int | None = None
        self._pace = Pace(rate)
        self._at_once = None if rate is None else max(1, int(rate / _PARTS_A_SECOND))

    @property
    def is_full(self) -> bool:
        """Whether as many records were printed as are wanted."""
        return self._left == 0

    def take(self, found: Batches, waiting: Waiting = nullcontext) -> None:
        """Print the records of batches. Raises KafkaError for a broken batch.

        ``waiting``: a context in which the time for the next records is waited for, a second or less.
        """
        self.next_offset = None
        for batch in found.batches:
            if self.is_full:
                break
            if not batch.is_valid_crc():
                raise CorruptRecordError(
                    f"{found.at}: the checksum of the batch at offset {batch.base_offset} is wrong"
                )
            self._print(batch, found, waiting)
        self._printer.flush()

    def _print(self, batch: RecordBatch, found: Batches, waiting: Waiting) -> None:
        is_cut = self._left is not None and batch.record_count > self._left
        is_plain = self._search is None and self._at_once is None and self._printer.takes_values
        if is_plain and not is_cut and _is_whole(batch, found):
            values = split_values(plain_payload(batch, MAX_PLAIN_BYTES), batch.record_count)
            self._printer.print_values(values)
            if self._left is not None:
                self._left -= len(values)
            if self.is_full:
                self.next_offset = batch.next_offset
            return
        for records in self._parts(list(islice(self._records(batch, found), self._left)), waiting):
            self._printer.print_records(found.at, records)
            if records and (self.is_full or self._at_once is not None):
                self.next_offset = records[-1].offset + 1

    def _records(self, batch: RecordBatch, found: Batches) -> Iterator[Record]:
        if self._search is None:
            records = read_records(batch, MAX_PLAIN_BYTES)
        else:
            records = self._search.records(batch, found.at.partition, MAX_PLAIN_BYTES)
        return (record for record in records if found.start <= record.offset < found.end)

    def _parts(self, records: list[Record], waiting: Waiting) -> Iterator[list[Record]]:
        """Yields the records in lists that the rate allows."""
        at_once = self._at_once or max(len(records), 1)
        for begin in range(0, len(records), at_once):
            part = records[begin : begin + at_once]
            if self._at_once is not None:
                self._pace.wait_for(len(part), waiting)
            if self._left is not None:
                self._left -= len(part)
            yield part
            if self._at_once is not None:
                self._printer.flush()


def _is_whole(batch: RecordBatch, found: Batches) -> bool:
    return batch.magic >= 2 and found.start <= batch.base_offset and batch.last_offset < found.end
