"""Connections must not take the last file descriptors: then no segment could be rolled, and nobody be told."""

import asyncio
import resource

__all__ = ["leaves_descriptors", "reserved"]


def reserved(limit: int) -> int:
    """How many of ``limit`` descriptors connections have to leave alone."""
    return max(32, limit // 16)


def leaves_descriptors(transport: asyncio.Transport) -> bool:
    """Whether enough are left, now that this connection has one.

    The system gives the lowest number that is free, so the number tells how many are in use.
    """
    connection = transport.get_extra_info("socket")
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if connection is None or limit == resource.RLIM_INFINITY:
        return True
    number: int = connection.fileno()
    return number < limit - reserved(limit)
