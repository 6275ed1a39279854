"""Socket calls past the transport: peers that have closed, file descriptors in use, and reset at close."""

import contextlib
import resource
import select
import socket
import struct
import sys
from collections.abc import Iterable
from typing import cast

from .transport import Transport

__all__ = ["closed_by_peer", "descriptor_of", "leaves_descriptors", "leaves_many_descriptors", "reserved",
           "reset_at_close"]  # fmt: skip

_LINGER_NOT = struct.pack("ii", 1, 0)


def closed_by_peer(descriptors: Iterable[int]) -> set[int]:
    """The descriptors whose peers have closed or reset the connection, also when bytes before that are unread.

    Always empty except on Linux. Negative and closed descriptors are skipped.
    """
    if sys.platform != "linux":
        return set()
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, select.POLLRDHUP)
    wanted = select.POLLRDHUP | select.POLLHUP | select.POLLERR
    return {descriptor for descriptor, events in poll.poll(0) if events & wanted}


def reserved(limit: int) -> int:
    """The number of descriptors, of ``limit``, that connections must not use."""
    return max(32, limit // 16)


def leaves_descriptors(transport: Transport) -> bool:
    """Whether enough descriptors are left for the rest of the broker, now that this connection has one."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return descriptor_of(transport) < limit - reserved(limit) or limit == resource.RLIM_INFINITY


def leaves_many_descriptors(transport: Transport) -> bool:
    """Whether less than half of the descriptors were in use when this connection came."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return descriptor_of(transport) < limit // 2 or limit == resource.RLIM_INFINITY


def descriptor_of(transport: Transport) -> int:
    """The socket's descriptor; negative when it is closed, or there is none.

    The system assigns the lowest free number, so it tells how many are in use.
    """
    connection = transport.get_extra_info("socket")
    return -1 if connection is None else cast("int", connection.fileno())


def reset_at_close(transport: Transport) -> None:
    """Let the peer see a reset when the transport is aborted, also when no response is unsent."""
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        with contextlib.suppress(OSError):  # it may be gone already
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
