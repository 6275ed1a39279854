"""Limits up to which a record batch is unpacked in the broker's own process (see `workers/unpacking.py`)."""

from __future__ import annotations

from ..base.frozen import frozen

DEFAULT_INLINE_BYTES = 2 * 1024 * 1024
"""Default of `pybroker.batch.inline.max.bytes`."""
DEFAULT_INLINE_RECORDS = 100_000
"""Default of `pybroker.batch.inline.max.records`."""


@frozen
class InlineLimits:
    """The largest unpacked size and the largest number of records. Larger batches go to the big-batch process."""

    max_bytes: int = DEFAULT_INLINE_BYTES
    max_records: int = DEFAULT_INLINE_RECORDS
