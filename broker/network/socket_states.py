"""What the system knows of sockets that are not read, and how many descriptors are left."""

import asyncio
import resource
import select
import sys
from collections.abc import Iterable
from typing import cast

__all__ = ["closed_by_peer", "leaves_descriptors", "leaves_many_descriptors", "reserved"]


def closed_by_peer(descriptors: Iterable[int]) -> set[int]:
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


def reserved(limit: int) -> int:
    """How many of ``limit`` descriptors connections have to leave alone."""
    return max(32, limit // 16)


def leaves_descriptors(transport: asyncio.Transport) -> bool:
    """Whether enough are left, now that this connection has one."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _number(transport) < limit - reserved(limit) or limit == resource.RLIM_INFINITY


def leaves_many_descriptors(transport: asyncio.Transport) -> bool:
    """Whether less than half of them were in use when this connection came."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _number(transport) < limit // 2 or limit == resource.RLIM_INFINITY


def _number(transport: asyncio.Transport) -> int:
    """The system gives the lowest number that is free, so it tells how many are in use."""
    connection = transport.get_extra_info("socket")
    return -1 if connection is None else cast("int", connection.fileno())
