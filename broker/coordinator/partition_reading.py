"""Reads partitions of ``__consumer_offsets`` back into groups, a few at a time and in small steps.

Why: a broker may become leader of many partitions at the same moment, and each may be large. Small steps keep the event
loop free; a few at a time bound the memory.
"""

import asyncio
from collections.abc import Callable, Iterable

from ...protocol.records.batch import iter_batches
from .group.group import Group
from .group.replay import Replay
from .internal_log import OffsetsLog

__all__ = ["PartitionReading"]

_MAX_CONCURRENT_LOADS = 4
"""Each takes ``offsets.load.buffer.size`` of memory. A log directory that hangs blocks no more loads than these."""
_STEPS_BETWEEN_YIELDS = 100
"""A step takes about 10 microseconds."""


class PartitionReading:
    """``now_ms``: the wall clock."""

    def __init__(self, log: OffsetsLog, now_ms: Callable[[], int]) -> None:
        self._log = log
        self._now_ms = now_ms
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_LOADS)

    async def groups_of(self, partition: int, replay: Replay, is_wanted: Callable[[], bool]) -> list[Group] | None:
        """The groups in the partition's log; None when ``is_wanted`` has become False. Raises KafkaError."""
        async with self._slots:
            if not is_wanted():
                return None
            steps = _Steps(is_wanted)
            async for chunk in self._log.read(partition):
                for batch in iter_batches(chunk):
                    if not await steps.take(replay.steps(batch)):
                        return None
                if not is_wanted():
                    return None
            groups: list[Group] = []
            return groups if await steps.take(map(groups.append, replay.groups(self._now_ms()))) else None


class _Steps:
    """Runs steps and yields to the event loop every so many of them."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self._is_wanted = is_wanted
        self._count = 0

    async def take(self, steps: Iterable[None]) -> bool:
        """Run all steps. False when ``is_wanted`` has become False meanwhile."""
        for _ in steps:
            self._count += 1
            if self._count % _STEPS_BETWEEN_YIELDS == 0:
                await asyncio.sleep(0)
                if not self._is_wanted():
                    return False
        return True
