"""The memory of fetches that wait for records, over all connections (``pybroker.fetch.waiting.max.bytes``).

A parked fetch drops its frame, but its decoded request stays for as long as the client likes; Kafka has no limit here.
When all fetches together take too much, those that have waited longest are answered with the records that are there. To
their clients that is an early timeout.
"""

from collections import OrderedDict
from typing import Protocol

__all__ = ["ParkedFetches", "WaitingFetch", "fetch_bytes"]

_OF_A_FETCH = 4000
_OF_A_PARTITION = 500
"""For a partition that a parked fetch reads: its entry in the partition's list of fetches, and in the session. The
session may be evicted, and no longer be counted, while the fetch waits."""
_OF_A_NAMED_PARTITION = 400
"""For a partition that the request names and no session remembers."""
_USUAL_FRAME = 1000
_USUAL_NAMED_PARTITION = 100
"""Bytes in the frame. Bytes beyond that are texts, or unknown tagged fields."""
_OF_AN_UNUSUAL_BYTE = 4


def fetch_bytes(partitions: int, named_partitions: int, frame_bytes: int = 0) -> int:
    """The approximate memory of a parked fetch. ``named_partitions`` includes partitions to forget, and topics without
    any."""
    unusual_bytes = max(0, frame_bytes - _USUAL_FRAME - named_partitions * _USUAL_NAMED_PARTITION)
    said_bytes = named_partitions * _OF_A_NAMED_PARTITION + unusual_bytes * _OF_AN_UNUSUAL_BYTE
    return _OF_A_FETCH + partitions * _OF_A_PARTITION + said_bytes


class WaitingFetch(Protocol):
    """The part of a parked fetch that is used here."""

    def answer_early(self) -> None:
        """Respond with the records that are there; calls `ParkedFetches.remove`."""


class ParkedFetches:
    """The fetches that wait, and the sum of their memory."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.used_bytes = 0
        self._waiting: OrderedDict[WaitingFetch, int] = OrderedDict()  # in order of arrival

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, fetch: WaitingFetch, size_bytes: int) -> None:
        """Add a fetch. It may complete older ones to stay below the limit; a fetch that is too large by itself is
        completed instead."""
        if size_bytes > self._max_bytes:
            fetch.answer_early()
            return
        self._waiting[fetch] = size_bytes
        self.used_bytes += size_bytes
        while self.used_bytes > self._max_bytes:
            oldest = next(iter(self._waiting))
            oldest.answer_early()
            self.remove(oldest)

    def remove(self, fetch: WaitingFetch) -> None:
        """Remove a fetch that does not wait any more; may be called twice."""
        self.used_bytes -= self._waiting.pop(fetch, 0)
