"""Iteration that yields to the event loop now and then, for requests that name very many items."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

__all__ = ["ITEMS_BETWEEN_YIELDS", "with_yields"]

ITEMS_BETWEEN_YIELDS = 100
"""A millisecond's work, if an item takes ten microseconds."""

T = TypeVar("T")


async def with_yields(items: Iterable[T], at_once: int = ITEMS_BETWEEN_YIELDS) -> AsyncIterator[T]:
    """Iterate over ``items``; other tasks run after every ``at_once`` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if not number % at_once:
            await asyncio.sleep(0)
