"""The end of a transaction that committed offsets, as the writer of markers tells the group coordinator."""

from typing import NamedTuple

__all__ = ["TransactionEnd"]


class TransactionEnd(NamedTuple):
    """The end of a producer's transaction. ``marker_offset``: of the marker in a partition of ``__consumer_offsets``.

    The marker ends only what was written before it: a late copy may come when the next transaction has begun.
    """

    producer_id: int
    is_commit: bool
    marker_offset: int
