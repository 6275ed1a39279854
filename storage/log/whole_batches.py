"""Reads the whole batches of a log one after another, while its records may be deleted."""

from ...protocol.errors import OffsetOutOfRangeError
from ...protocol.records.batch import iter_batches
from .log import Log

__all__ = ["read_whole_batches"]


def read_whole_batches(log: Log, offset: int, max_bytes: int) -> tuple[memoryview | None, int]:
    """The batches from ``offset`` or the log start offset on, and the offset behind them; None when there are none.

    Not for the event loop. Raises OffsetOutOfRangeError behind the log end offset, KafkaStorageError.
    """
    start = max(offset, log.log_start_offset)
    try:
        region = log.read(start, max_bytes, log.log_end_offset, True).region
    except OffsetOutOfRangeError:
        if log.log_start_offset <= start:
            raise
        return read_whole_batches(log, offset, max_bytes)  # records were deleted meanwhile
    data = memoryview(b"" if region is None else log.read_region(region))
    end, behind = 0, start
    for batch in iter_batches(data):
        end, behind = batch.end, batch.next_offset
    return (data[:end] if end else None), behind
