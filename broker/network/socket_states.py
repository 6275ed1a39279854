"""What the system knows of sockets that nobody reads from."""

import fcntl
import select
import struct
import sys
import termios
from collections.abc import Iterable

__all__ = ["hung_up", "unread_bytes"]

_INT = struct.Struct("i")


def hung_up(descriptors: Iterable[int]) -> set[int]:
    """Those of which the system has heard the end of the stream, or a reset, also when bytes stand unread before it.
    None where the system cannot tell (it can on Linux). Negative descriptors, and closed ones, are passed over."""
    if sys.platform != "linux":
        return set()
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, select.POLLRDHUP)
    wanted = select.POLLRDHUP | select.POLLHUP | select.POLLERR
    return {descriptor for descriptor, events in poll.poll(0) if events & wanted}


def unread_bytes(descriptor: int) -> int:
    """How many have come, of a stream that may have ended since.

    :raises OSError: there is no such socket
    """
    (count,) = _INT.unpack(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(_INT.size)))
    return int(count)
