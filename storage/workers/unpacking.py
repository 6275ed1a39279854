"""Bounded reading of records: a batch of one megabyte may unpack to gigabytes, or to millions of records."""

# How: a batch within `InlineLimits` is read in the calling thread, which regularly yields the interpreter to the event
# loop. For a larger batch BigBatchError is raised before its first record. The caller then repeats all of its work on
# the batch in the big-batch process (`big_batches.py`):
#
#     try:
#         return do(batch, …)
#     except BigBatchError:
#         return run_big_batch(do, bytes(batch.view()), …)
#
# Limits: not for the event loop's thread.

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, check_claims
from ...protocol.records.message_set import check_inner_crcs
from ...protocol.records.output_buffer import PayloadTooLargeError
from ...protocol.records.record import plain_payload, read_records
from ...protocol.records.walk import Record
from ..inline_limits import InlineLimits

__all__ = [
    "BigBatchError",
    "all_read_in_this_process",
    "check_count",
    "check_wrapped",
    "read_all_in_this_process",
    "unpack_payload",
    "unpack_records",
    "yield_interpreter",
]

_RECORDS_BETWEEN_YIELDS = 1024

_reads_every_batch = False
"""Batches of any size are read in this process: it is the big-batch process, or a simulation."""


_INLINE = InlineLimits()


class BigBatchError(Exception):
    """The batch is too large to be read in this process."""


def read_all_in_this_process() -> None:
    """Read batches of any size in this process from now on, because it has no event loop that would wait."""
    global _reads_every_batch
    _reads_every_batch = True


@contextmanager
def all_read_in_this_process() -> Iterator[None]:
    """Read batches of any size in this process inside the `with` block. For simulations, which have one process."""
    global _reads_every_batch
    before, _reads_every_batch = _reads_every_batch, True
    try:
        yield
    finally:
        _reads_every_batch = before


def unpack_records(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, inline: InlineLimits = _INLINE
) -> Iterator[Record]:
    """Yield the records of a batch within the limits.

    Raises the errors of `read_records`, and BigBatchError before the first record.
    """
    if _reads_every_batch:
        yield from read_records(batch, max_bytes)
        return
    if batch.magic >= 2 and batch.record_count > inline.max_records:
        _check_size(batch, max_bytes)
        raise BigBatchError
    if not batch.is_compressed:
        yield from _with_yields(read_records(batch, max(max_bytes, batch.size_bytes)))
        return
    records = read_records(batch, min(inline.max_bytes, max_bytes))
    try:
        first = next(records, None)  # decompresses the whole batch
    except PayloadTooLargeError:
        _refuse_or_delegate(batch, max_bytes, inline)
    if first is not None:
        yield first
        yield from _with_yields(records)


def unpack_payload(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, inline: InlineLimits = _INLINE
) -> bytes:
    """Return the decompressed records of a magic 2 batch within the limits.

    Raises the errors of `plain_payload`, and BigBatchError.
    """
    if _reads_every_batch:
        return plain_payload(batch, max_bytes)
    if batch.record_count > inline.max_records:
        _check_size(batch, max_bytes)
        raise BigBatchError
    if not batch.is_compressed:
        return plain_payload(batch, max(max_bytes, batch.size_bytes))
    try:
        return plain_payload(batch, min(inline.max_bytes, max_bytes))
    except PayloadTooLargeError:
        _refuse_or_delegate(batch, max_bytes, inline)


def yield_interpreter() -> None:
    """Let another thread run, if one waits for the interpreter lock."""
    time.sleep(0)


def check_count(count: int, inline: InlineLimits) -> None:
    """Raise BigBatchError when an old message set has more messages than the limit. `count`: messages so far."""
    if count > inline.max_records and not _reads_every_batch:
        raise BigBatchError


def check_wrapped(
    batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES, inline: InlineLimits = _INLINE
) -> None:
    """Check the checksums inside a compressed message within the limits.

    Raises the errors of `check_inner_crcs`, and BigBatchError.
    """
    if _reads_every_batch:
        check_inner_crcs(batch, max_bytes)
        return
    try:
        check_inner_crcs(batch, min(inline.max_bytes, max_bytes))
    except PayloadTooLargeError:
        _refuse_or_delegate(batch, max_bytes, inline)


def _refuse_or_delegate(batch: RecordBatch, max_bytes: int, inline: InlineLimits) -> NoReturn:
    """Raise CorruptRecordError for a batch over `max_bytes`, BigBatchError for one too large for this process."""
    _check_size(batch, max_bytes)
    if max_bytes <= inline.max_bytes:
        raise CorruptRecordError(f"Batch of {batch.size_bytes} bytes unpacks to more than {max_bytes}")
    raise BigBatchError


def _check_size(batch: RecordBatch, max_bytes: int) -> None:
    if batch.magic >= 2:
        check_claims(batch.compression, batch.payload(), max_bytes)


def _with_yields(records: Iterator[Record]) -> Iterator[Record]:
    for number, record in enumerate(records, 1):
        if not number % _RECORDS_BETWEEN_YIELDS:
            yield_interpreter()
        yield record
