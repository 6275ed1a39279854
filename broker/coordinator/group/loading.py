"""Reads partitions of ``__consumer_offsets`` back into groups, a few at once and in small steps.

A broker may become leader of many of them at the same moment. Each may hold a lot: nobody else is to wait while one is
gone through, and what is read is not to be in memory for all of them.
"""

import asyncio
from collections.abc import Callable, Iterable

from ....protocol.records.batch import iter_batches
from .group import Group
from .ports import OffsetsLog
from .replay import Replay

__all__ = ["PartitionReading"]

_AT_ONCE = 4
"""A log directory that hangs holds up no more than these; each takes ``offsets.load.buffer.size`` of memory."""
_STEPS_BETWEEN_PAUSES = 100
"""Some 10 microseconds each."""


class PartitionReading:
    """``now_ms`` is the wall clock."""

    def __init__(self, log: OffsetsLog, now_ms: Callable[[], int]) -> None:
        self._log = log
        self._now_ms = now_ms
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def groups_of(self, partition: int, replay: Replay, is_wanted: Callable[[], bool]) -> list[Group] | None:
        """The groups that the partition's log amounts to; None when they are not wanted any more. Raises KafkaError."""
        async with self._places:
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
    """Counts the steps that were taken since others had their turn."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self._is_wanted = is_wanted
        self._count = 0

    async def take(self, steps: Iterable[None]) -> bool:
        """All of them, with pauses; False when it turned out in one that they are not wanted."""
        for _ in steps:
            self._count += 1
            if self._count % _STEPS_BETWEEN_PAUSES == 0:
                await asyncio.sleep(0)
                if not self._is_wanted():
                    return False
        return True
