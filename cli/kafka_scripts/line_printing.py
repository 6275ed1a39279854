"""Prints records until there are enough, or until none came for too long."""

import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.fetching.fetches import MAX_PLAIN_BYTES
from ...client.fetching.partition_reader import NO_END, Batches, PartitionReader
from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import read_records
from ..gentle_interrupt import Waiting
from .record_formatters import RecordFormatter
from .record_lines import PropertyError

__all__ = ["IdleError", "LinePrinting", "WatchedReader"]


class IdleError(Exception):
    """No record came within the time of ``--timeout-ms``."""


class LinePrinting:
    """`limit` and `timeout_ms` below 0: none. `skips`: pass over records that cannot be printed.

    Attributes:
        count: how many records were printed.
        next_offset: the offset behind the last record, when the limit was reached.
    """

    def __init__(self, lines: RecordFormatter, limit: int, timeout_ms: int, *, skips: bool) -> None:
        self._lines = lines
        self._limit = limit
        self._timeout_s = None if timeout_ms < 0 else timeout_ms / 1000
        self._skips = skips
        self._heard_s = time.monotonic()
        self.count = 0
        self.next_offset: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether as many records were printed as are wanted."""
        return 0 <= self._limit <= self.count

    def take(self, found: Batches, _waiting: Waiting = nullcontext) -> None:
        """Print the records of batches. Raises KafkaError for a broken batch, PropertyError."""
        try:
            for batch in found.batches:
                if not batch.is_valid_crc():
                    raise CorruptRecordError(
                        f"{found.at}: the checksum of the batch at offset {batch.base_offset} is wrong"
                    )
                self._print(batch, found)
                if self.is_full:
                    break
        finally:
            sys.stdout.buffer.flush()
            self._heard_s = time.monotonic()

    def check_idle(self) -> None:
        """Raises IdleError when no record came for too long."""
        if self._timeout_s is not None and time.monotonic() - self._heard_s > self._timeout_s:
            raise IdleError

    def _print(self, batch: RecordBatch, found: Batches) -> None:
        write = sys.stdout.buffer.write
        for record in read_records(batch, MAX_PLAIN_BYTES):
            if not found.start <= record.offset < found.end:
                continue
            try:
                write(self._lines.line(found.at.partition, batch, record))
            except PropertyError as error:
                if not self._skips:
                    raise
                sys.stderr.write(f"{found.at}, offset {record.offset}: {error}\n")
            self.count += 1
            if self.is_full:
                self.next_offset = record.offset + 1
                return


class WatchedReader(PartitionReader):
    """Reads on and on. Raises IdleError from `poll` when no record came for too long.

    ``resets_to_start``: where reading goes on when an offset does not exist any more, at the end otherwise.
    """

    def __init__(
        self,
        cluster: AdminCluster,
        starts: Mapping[TopicPartition, int],
        printing: LinePrinting,
        *,
        resets_to_start: bool,
    ) -> None:
        ends = dict.fromkeys(starts, NO_END)
        super().__init__(cluster, starts, ends, lambda line: print(line, file=sys.stderr))
        self._printing = printing
        self._resets_to_start = resets_to_start

    def poll(self) -> list[Batches]:
        found = super().poll()
        if not found:
            self._printing.check_idle()
        return found

    def resumed_at(self, position: int, start: int, last: int) -> int:
        return start if self._resets_to_start else last
