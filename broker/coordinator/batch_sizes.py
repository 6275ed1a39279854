"""How large batches of records in internal topics are, and how tombstones are cut into batches that the log takes."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["BATCH_BYTES", "RECORD_BYTES", "tombstone_batches"]

BATCH_BYTES = 61
"""The size of a batch without its records."""
RECORD_BYTES = 32
"""More than a record takes beside its key and value: lengths, attributes, deltas."""

T = TypeVar("T")


def tombstone_batches(items: Iterable[T], key_of: Callable[[T], bytes], max_bytes: int | None) -> Iterator[list[T]]:
    """The items whose keys get a tombstone, in batches that are not too large unless a single key is.

    ``max_bytes``: of a batch; None: no limit is known.
    """
    batch: list[T] = []
    size_bytes = BATCH_BYTES
    for item in items:
        record_bytes = len(key_of(item)) + RECORD_BYTES
        if batch and max_bytes is not None and size_bytes + record_bytes > max_bytes:
            yield batch
            batch, size_bytes = [], BATCH_BYTES
        batch.append(item)
        size_bytes += record_bytes
    if batch:
        yield batch
