"""Reads that several fetchers want alike: groups, or followers, that keep up are woken by the same append and are at
the same offset.

They are answered in one turn of the loop, so what one of them was given is kept for the others until that turn has
ended, and no longer: it holds a file open.
"""

from collections.abc import Callable
from typing import NamedTuple

from ...storage.log.log_view import LogView
from ..partition.fetch import FetchParams, FetchResult, PartitionFetch
from ..partition.hosted_partition import HostedPartition
from ..partition.isolation import Isolation
from ..partition.reads_at_end import is_plain

__all__ = ["SharedReads"]


class _SharedRead(NamedTuple):
    """Up to the end of what such a reader may see, of a partition with this ``view`` and ``high_watermark``."""

    view: LogView
    high_watermark: int
    fetch_offset: int
    isolation: Isolation
    result: FetchResult


class SharedReads:
    """``call_soon`` is the loop's. The results are not to be changed."""

    __slots__ = ("_call_soon", "_reads")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._reads: dict[HostedPartition, _SharedRead] = {}

    def __len__(self) -> int:
        return len(self._reads)

    def find(
        self, hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams, max_bytes: int
    ) -> FetchResult | None:
        """What a fetcher would read with room for ``max_bytes``, when another one just has."""
        read = self._reads.get(hosted)
        if (
            read is None
            or read.fetch_offset != fetch.fetch_offset
            or read.isolation is not params.isolation
            or read.result.size_bytes >= max_bytes
            or read.high_watermark != hosted.partition.high_watermark
            or read.view is not hosted.log.view
            or not is_plain(hosted, fetch)
        ):
            return None
        return read.result

    def keep(self, hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams, result: FetchResult) -> None:
        """A fetcher just read this. What was cut by its limits is for it alone."""
        if not result.size_bytes or result.is_cut:
            return
        if not self._reads:
            self._call_soon(self._reads.clear)
        is_follower = params.isolation is Isolation.LOG_END
        waiting = hosted.waiting_followers if is_follower else hosted.waiting_consumers
        result.is_shared = bool(waiting)  # their turn comes behind it, most likely
        self._reads[hosted] = _SharedRead(
            hosted.log.view, hosted.partition.high_watermark, fetch.fetch_offset, params.isolation, result
        )
