"""What the system knows of many sockets at once that nobody reads from."""

import select
import sys
from collections.abc import Iterable

__all__ = ["hung_up", "readable"]


def hung_up(descriptors: Iterable[int]) -> set[int]:
    """Those of which the system has heard the end of the stream, or a reset, also when bytes stand unread before it.
    None where the system cannot tell (it can on Linux)."""
    if sys.platform != "linux":
        return set()
    return _polled(descriptors, select.POLLRDHUP, select.POLLRDHUP | select.POLLHUP | select.POLLERR)


def readable(descriptors: Iterable[int]) -> set[int]:
    """Those of which bytes, or the end, have come and were not read."""
    return _polled(descriptors, select.POLLIN, select.POLLIN | select.POLLHUP | select.POLLERR)


def _polled(descriptors: Iterable[int], asked_for: int, wanted: int) -> set[int]:
    """Negative descriptors, and closed ones, are passed over."""
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, asked_for)
    return {descriptor for descriptor, events in poll.poll(0) if events & wanted}
