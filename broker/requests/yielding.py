"""Requests that name very many things, of which each is little work, leave the loop to others in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

__all__ = ["BETWEEN_PAUSES", "with_pauses"]

BETWEEN_PAUSES = 100
"""Things: a millisecond's work, where one takes ten microseconds."""

T = TypeVar("T")


async def with_pauses(things: Iterable[T]) -> AsyncIterator[T]:
    """``things``, one after the other."""
    for number, thing in enumerate(things, 1):
        yield thing
        if not number % BETWEEN_PAUSES:
            await asyncio.sleep(0)
