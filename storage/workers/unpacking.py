"""Reading the records of batches that may be bombs: a megabyte that unpacks to gigabytes, or to millions of records.

A batch that unpacks to no more bytes than ``InlineBounds`` say, and has no more records, is read where it stands;
whoever walks records gives the interpreter away now and then, for the loop must not wait. Any other batch is read by
another process, with all that is to be done with its records, in a function that is given to `apart.run_apart`:

    try:
        return do(batch, …)
    except BigBatchError:
        return run_apart(do, bytes(batch.view()), …)

None of this is for the event loop's thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, check_claims
from ...protocol.records.message_set import check_inner_crcs
from ...protocol.records.output_buffer import PayloadTooLargeError
from ...protocol.records.record import plain_payload, read_records
from ...protocol.records.walk import Record

__all__ = [
    "MANY_RECORDS",
    "SMALL_BYTES",
    "BigBatchError",
    "InlineBounds",
    "all_read_here",
    "check_count",
    "check_wrapped",
    "give_way",
    "read_all_here",
    "unpack_payload",
    "unpack_records",
]

SMALL_BYTES = 2 * 1024 * 1024
"""Default of ``pybroker.batch.inline.max.bytes``."""
MANY_RECORDS = 100_000
"""Default of ``pybroker.batch.inline.max.records``."""
_RECORDS_A_TURN = 1024

_is_apart = False
"""This process is there to read big batches."""


@dataclass(frozen=True, slots=True)
class InlineBounds:
    """Up to which size, unpacked, and up to how many records a batch is read in the broker's own process."""

    max_bytes: int = SMALL_BYTES
    max_records: int = MANY_RECORDS


_INLINE = InlineBounds()


class BigBatchError(Exception):
    """This batch is not to be read in this process."""


def read_all_here() -> None:
    """This is a process in which nobody waits."""
    global _is_apart
    _is_apart = True


@contextmanager
def all_read_here() -> Iterator[None]:
    """`read_all_here` for as long as this lasts: in a simulation nobody waits either, and there is no other process."""
    global _is_apart
    before, _is_apart = _is_apart, True
    try:
        yield
    finally:
        _is_apart = before


def unpack_records(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, inline: InlineBounds = _INLINE
) -> Iterator[Record]:
    """`read_records` within the bounds above.

    Raises what that raises, and BigBatchError before the first record comes.
    """
    if _is_apart:
        yield from read_records(batch, max_bytes)
        return
    if batch.magic >= 2 and batch.record_count > inline.max_records:
        _check_size(batch, max_bytes)
        raise BigBatchError
    if not batch.is_compressed:
        yield from _in_turns(read_records(batch, max(max_bytes, batch.size_bytes)))
        return
    records = read_records(batch, min(inline.max_bytes, max_bytes))
    try:
        first = next(records, None)  # all of the batch is decompressed for it
    except PayloadTooLargeError:
        _refuse_or_send_away(batch, max_bytes, inline)
    if first is not None:
        yield first
        yield from _in_turns(records)


def unpack_payload(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, inline: InlineBounds = _INLINE
) -> bytes:
    """`plain_payload` of a magic 2 batch within the bounds above. Raises what that raises, and BigBatchError."""
    if _is_apart:
        return plain_payload(batch, max_bytes)
    if batch.record_count > inline.max_records:
        _check_size(batch, max_bytes)
        raise BigBatchError
    if not batch.is_compressed:
        return plain_payload(batch, max(max_bytes, batch.size_bytes))
    try:
        return plain_payload(batch, min(inline.max_bytes, max_bytes))
    except PayloadTooLargeError:
        _refuse_or_send_away(batch, max_bytes, inline)


def give_way() -> None:
    """The interpreter, to whoever waits for it."""
    time.sleep(0)


def check_count(count: int, inline: InlineBounds) -> None:
    """Of messages of an old format that were met so far. Raises BigBatchError."""
    if count > inline.max_records and not _is_apart:
        raise BigBatchError


def check_wrapped(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, inline: InlineBounds = _INLINE
) -> None:
    """`check_inner_crcs` within the bounds above. Raises what that raises, and BigBatchError."""
    if _is_apart:
        check_inner_crcs(batch, max_bytes)
        return
    try:
        check_inner_crcs(batch, min(inline.max_bytes, max_bytes))
    except PayloadTooLargeError:
        _refuse_or_send_away(batch, max_bytes, inline)


def _refuse_or_send_away(batch: RecordBatch, max_bytes: int, inline: InlineBounds) -> NoReturn:
    """Of a batch that is too large to be read here. One too large for any place needs no other process to say so."""
    _check_size(batch, max_bytes)
    if max_bytes <= inline.max_bytes:
        raise CorruptRecordError(f"Batch of {batch.size_bytes} bytes unpacks to more than {max_bytes}")
    raise BigBatchError


def _check_size(batch: RecordBatch, max_bytes: int) -> None:
    if batch.magic >= 2:
        check_claims(batch.compression, batch.payload(), max_bytes)


def _in_turns(records: Iterator[Record]) -> Iterator[Record]:
    for number, record in enumerate(records, 1):
        if not number % _RECORDS_A_TURN:
            give_way()
        yield record
