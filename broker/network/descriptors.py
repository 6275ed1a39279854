"""Connections must not take the last file descriptors: then no segment could be rolled, and nobody be told."""

import asyncio
import resource
from typing import cast

__all__ = ["leaves_descriptors", "leaves_many_descriptors", "reserved"]


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
