"""The result of a fetch at the end of a partition: no records, only the offsets.

Why: it is the most frequent result. A consumer's session names all its partitions and most have nothing new; each fetch
of a follower reads all partitions it follows.
How: the result is made once whenever the log or the high watermark has changed, and is the same object for everyone.
A fetch session compares by identity and sees that the result is no news.
"""

from ...protocol.errors import ErrorCode
from ...storage.log.log_view import LogView
from .fetch import FetchResult

__all__ = ["EndOfPartition"]


class EndOfPartition:
    """Valid as long as the partition has this ``view`` and this ``high_watermark``. Nobody may change its results."""

    __slots__ = ("_committed", "high_watermark", "uncommitted", "view")

    def __init__(self, view: LogView, high_watermark: int, last_stable_offset: int) -> None:
        self.view = view
        self.high_watermark = high_watermark
        self.uncommitted = FetchResult(ErrorCode.NONE, high_watermark, last_stable_offset, view.log_start_offset)
        self._committed: FetchResult | None = None

    @property
    def committed(self) -> FetchResult | None:
        """For read_committed consumers; None when an open transaction keeps them from reading to the high watermark."""
        known, plain = self._committed, self.uncommitted
        if known is None and plain.last_stable_offset == plain.high_watermark:
            known = self._committed = FetchResult(
                ErrorCode.NONE,
                plain.high_watermark,
                plain.last_stable_offset,
                plain.log_start_offset,
                aborted_transactions=[],
            )
        return known
