"""What fetches take while they wait for records, over all connections (``pybroker.fetch.waiting.max.bytes``).

A fetch lets go of its frame when it is parked, but what it says stays, decoded, for as long as its client likes (Kafka
has no bound here). When all together take too much, those that have waited for longest are answered with what there is:
to their clients that is a time-out come early.
"""

from collections import OrderedDict
from typing import Protocol

__all__ = ["ParkedFetches", "WaitingFetch", "fetch_bytes"]

_OF_A_FETCH = 4000
_OF_A_PARTITION = 500
"""That a parked fetch reads: its place among those who wait for that partition, and what its session says of that. The
session may be gone, and count nowhere any more, while the fetch waits."""
_OF_A_NAMED_PARTITION = 400
"""That its request names, and no session remembers."""
_USUAL_FRAME = 1000
_USUAL_NAMED_PARTITION = 100
"""In the frame. What is beyond that are texts, or fields that are not known here."""
_OF_AN_UNUSUAL_BYTE = 4


def fetch_bytes(partitions: int, named_partitions: int, frame_bytes: int = 0) -> int:
    """What a fetch takes while it is parked, about. ``named_partitions`` are also those to be forgotten, and topics
    without any."""
    unusual_bytes = max(0, frame_bytes - _USUAL_FRAME - named_partitions * _USUAL_NAMED_PARTITION)
    said_bytes = named_partitions * _OF_A_NAMED_PARTITION + unusual_bytes * _OF_AN_UNUSUAL_BYTE
    return _OF_A_FETCH + partitions * _OF_A_PARTITION + said_bytes


class WaitingFetch(Protocol):
    """A fetch, as seen from here."""

    def answer_early(self) -> None:
        """Answer with what there is; calls `ParkedFetches.remove`."""


class ParkedFetches:
    """The account."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.used_bytes = 0
        self._waiting: OrderedDict[WaitingFetch, int] = OrderedDict()  # in the order they came

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, fetch: WaitingFetch, size_bytes: int) -> None:
        """It waits from now on, and those that came before it may have to be answered for that; when it is too much by
        itself, it is answered, and they wait on."""
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
        """It does not wait any more; may be told of twice."""
        self.used_bytes -= self._waiting.pop(fetch, 0)
