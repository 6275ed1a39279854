"""Reads partitions of an internal topic back into a coordinator's entries, a few at a time and in small steps.

Why: a broker may become leader of many partitions at the same moment, and each may be large. Small steps keep the event
loop free; a few at a time bound the memory.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from ...protocol.records.batch import RecordBatch, iter_batches
from .internal_log import InternalLog

__all__ = ["PartitionReading", "Replaying"]

_MAX_CONCURRENT_LOADS = 4
"""Each takes as much memory as one read. A log directory that hangs blocks no more loads than these."""
_STEPS_BETWEEN_YIELDS = 100
"""A step takes about 10 microseconds."""

Entry = TypeVar("Entry", covariant=True)


class Replaying(Protocol[Entry]):
    """Takes the batches of a partition in the order of the log, then returns the entries that they give.

    Both work in steps, between which the caller yields to the event loop, because a partition may be large.
    """

    record_count: int

    def steps(self, batch: RecordBatch) -> Iterator[None]:
        """Apply one batch, one record for each step."""
        ...

    def entries(self) -> Iterator[Entry]:
        """The entries of the partition, such as its groups."""
        ...


class PartitionReading:
    """Reads by ``log``."""

    def __init__(self, log: InternalLog) -> None:
        self._log = log
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_LOADS)

    async def entries_of(
        self, partition: int, replay: Replaying[Entry], is_wanted: Callable[[], bool]
    ) -> list[Entry] | None:
        """The entries in the partition's log; None when ``is_wanted()`` has become False. Raises KafkaError."""
        await self._log.before_load()
        async with self._slots:
            entries = await self._read(partition, replay, is_wanted)
        if entries is None:
            return None
        await self._log.after_load(partition)  # without a slot, because it may take long while replicas are missing
        return entries if is_wanted() else None

    async def _read(
        self, partition: int, replay: Replaying[Entry], is_wanted: Callable[[], bool]
    ) -> list[Entry] | None:
        if not is_wanted():
            return None
        steps = _Steps(is_wanted)
        async for chunk in self._log.read(partition):
            for batch in iter_batches(chunk):
                if not await steps.take(replay.steps(batch)):
                    return None
            if not is_wanted():
                return None
        entries: list[Entry] = []
        return entries if await steps.take(map(entries.append, replay.entries())) else None


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
