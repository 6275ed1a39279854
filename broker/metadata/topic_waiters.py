"""Requests that wait for a topic to appear or vanish (Kafka's topic purgatory)."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from .metadata_cache import MetadataCache

__all__ = ["TopicWaiters"]

Item = TypeVar("Item")


class TopicWaiters:
    """Conditions that are checked again after each metadata update and by `recheck`.

    The broker calls `recheck` when the controller finished a topic's deletion, when leaderships here change, and when
    this broker could not take the role of a partition.
    """

    def __init__(self, cache: MetadataCache) -> None:
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}
        cache.on_update(lambda _update: self.recheck())

    async def wait(self, condition: Callable[[], bool], timeout_ms: int) -> bool:
        """Whether ``condition`` became true within ``timeout_ms``. With 0 it is checked once."""
        if condition():
            return True
        if timeout_ms <= 0:
            return False
        fulfilled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[fulfilled] = condition
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await fulfilled
        except TimeoutError:
            return condition()
        finally:
            self._waiting.pop(fulfilled, None)
        return True

    async def wait_for_all(self, items: Iterable[Item], is_settled: Callable[[Item], bool], timeout_ms: int) -> None:
        """Wait until each item was settled once, or for ``timeout_ms``.

        There may be thousands of items that settle one by one. A settled item is not checked again, and of the others
        only one is checked at a time.
        """
        unsettled = list(items)

        def all_settled() -> bool:
            while unsettled and is_settled(unsettled[-1]):
                unsettled.pop()
            return not unsettled

        await self.wait(all_settled, timeout_ms)

    def recheck(self) -> None:
        for fulfilled, condition in list(self._waiting.items()):
            if not fulfilled.done() and condition():
                fulfilled.set_result(None)
