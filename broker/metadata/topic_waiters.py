"""Requests that wait for a topic to appear or vanish (Kafka's topic purgatory)."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from .metadata_cache import MetadataCache

__all__ = ["TopicWaiters"]

Item = TypeVar("Item")


class TopicWaiters:
    """Conditions that are looked at again after each update of the metadata, and when `recheck` is called (by the
    controller, when a topic's deletion is settled)."""

    def __init__(self, cache: MetadataCache) -> None:
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}
        cache.on_update(lambda _update: self.recheck())

    async def wait(self, condition: Callable[[], bool], timeout_ms: int) -> bool:
        """Whether ``condition`` held before ``timeout_ms`` were over. At 0 it is only looked at."""
        if condition():
            return True
        if timeout_ms <= 0:
            return False
        held: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[held] = condition
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await held
        except TimeoutError:
            return condition()
        finally:
            self._waiting.pop(held, None)
        return True

    async def wait_for_all(self, items: Iterable[Item], is_settled: Callable[[Item], bool], timeout_ms: int) -> None:
        """Until each was settled once, or ``timeout_ms`` are over. There may be thousands, settled one by one: what was
        settled is not looked at again, and of the others one at a time."""
        unsettled = list(items)

        def all_settled() -> bool:
            while unsettled and is_settled(unsettled[-1]):
                unsettled.pop()
            return not unsettled

        await self.wait(all_settled, timeout_ms)

    def recheck(self) -> None:
        for held, condition in list(self._waiting.items()):
            if not held.done() and condition():
                held.set_result(None)
