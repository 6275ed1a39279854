"""Reading the records of batches that may be bombs: a megabyte that unpacks to gigabytes, or to millions of records.

A batch that unpacks to no more than ``SMALL_BYTES`` is read where it stands. All others are read one at a time: one is
under way, a few wait, and further ones are refused until later, so that they can neither fill the memory nor keep every
worker. Whoever walks records gives the interpreter away now and then: the loop must not wait.

None of this is for the event loop's thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..protocol.errors import CorruptRecordError, RequestTimedOutError
from ..protocol.records.batch import RecordBatch
from ..protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from ..protocol.records.record import read_records
from ..protocol.records.walk import Record

__all__ = ["MAX_WAITING", "SMALL_BYTES", "BigBatches", "is_packed", "unpack_records"]

SMALL_BYTES = 2 * 1024 * 1024
MAX_WAITING = 2
_RECORDS_A_TURN = 1024


class BigBatches:
    """The turn to read a big batch: one has it, ``max_waiting`` may wait for it."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting = 0
        self._turn = threading.Lock()
        self._counting = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Raises RequestTimedOutError, which producers try again after, when enough wait already."""
        with self._counting:
            if self._waiting > self._max_waiting:
                raise RequestTimedOutError("Too many batches that are large when unpacked came at the same time.")
            self._waiting += 1  # who has the turn counts, too
        try:
            with self._turn:
                yield
        finally:
            with self._counting:
                self._waiting -= 1


_BIG = BigBatches()  # memory is the process's, and so is the turn


def is_packed(batch: RecordBatch) -> bool:
    """Whether reading its records means to decompress."""
    return batch.attributes & 7 != 0


def unpack_records(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, big: BigBatches = _BIG
) -> Iterator[Record]:
    """`read_records` within the bounds above.

    Raises what that raises, and RequestTimedOutError. Close it, or drop it, to end the turn of a big batch early.
    """
    if not is_packed(batch):
        yield from _in_turns(read_records(batch, max(max_bytes, batch.size_bytes)))
        return
    records = read_records(batch, min(SMALL_BYTES, max_bytes))
    try:
        first = next(records, None)  # all of the batch is decompressed for it
    except CorruptRecordError:  # broken, or too big for now
        if max_bytes <= SMALL_BYTES:
            raise
        with big.turn():
            yield from _in_turns(read_records(batch, max_bytes))
        return
    if first is not None:
        yield first
        yield from _in_turns(records)


def _in_turns(records: Iterator[Record]) -> Iterator[Record]:
    for number, record in enumerate(records, 1):
        if not number % _RECORDS_A_TURN:
            time.sleep(0)  # gives the interpreter to whoever waits for it
        yield record
