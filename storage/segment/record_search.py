"""Search for a record by its timestamp inside a batch."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.records.batch import RecordBatch
from ..inline_limits import InlineLimits
from ..workers.big_batches import run_big_batch
from ..workers.unpacking import BigBatchError, unpack_records

__all__ = ["FoundOffset", "first_between"]


class FoundOffset(NamedTuple):
    """An offset by time. ``timestamp`` is -1 for the ends of a log; ``leader_epoch`` is -1 when it is not known."""

    timestamp: int
    offset: int
    leader_epoch: int


def first_between(
    batch: RecordBatch, earliest: int, latest: int, least_offset: int, max_decompressed_bytes: int, inline: InlineLimits
) -> FoundOffset | None:
    """Return the first record with a timestamp in [earliest, latest] and an offset >= `least_offset`, or None.

    Raises InvalidRecordError, CorruptRecordError, and RequestTimedOutError for a big batch.
    """
    try:
        return _first_between(batch, earliest, latest, least_offset, max_decompressed_bytes, inline)
    except BigBatchError:
        plain = bytes(batch.view())
        return run_big_batch(
            _first_between_in_child, plain, earliest, latest, least_offset, max_decompressed_bytes, inline
        )


def _first_between_in_child(
    data: bytes, earliest: int, latest: int, least_offset: int, max_decompressed_bytes: int, inline: InlineLimits
) -> FoundOffset | None:
    return _first_between(RecordBatch(data, 0), earliest, latest, least_offset, max_decompressed_bytes, inline)


def _first_between(
    batch: RecordBatch, earliest: int, latest: int, least_offset: int, max_decompressed_bytes: int, inline: InlineLimits
) -> FoundOffset | None:
    for record in unpack_records(batch, max_decompressed_bytes, inline):
        if earliest <= record.timestamp_ms <= latest and record.offset >= least_offset:
            return FoundOffset(record.timestamp_ms, record.offset, batch.partition_leader_epoch)
    return None
