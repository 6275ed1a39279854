"""Remembers when the first unread record of an offset was written, so that only what moved is looked up in the log.

**How.** By partition and offset, as long as the log has the same segments: compaction, retention, truncation and rolls
change them. The other offsets of a batch whose header was read need no look-up. A look-up that would wait for the disk
runs in the worker pool; until it is done, the time is unknown. Times are dropped when no reader asked for them during
a generation, which lasts a minute or 100,000 look-ups.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ...storage.files.files import NotCachedError
from ...storage.log.first_record_time import RecordTime, first_record_time
from ...storage.log.log import Log
from ...storage.segment.segment import Segment
from .batch_times import BatchTime, BatchTimes

__all__ = ["UnreadTimes"]

logger = logging.getLogger(__name__)

_GENERATION_S = 60.0
_GENERATION_LOOK_UPS = 100_000
_MAX_COLD = 20_000
_COLD_AT_A_TIME = 500


class _LookUp(NamedTuple):
    """``times``: of the segments that the log had when the question came."""

    times: "_Times"
    topic_partition: TopicPartition
    log: Log
    offset: int
    end: int


class _Times:
    """The times of one partition, by offset. A negative value −e: below offset e there is no record to read."""

    __slots__ = ("batches", "earlier", "earlier_batches", "generation", "recent", "segments")

    def __init__(self, segments: tuple[Segment, ...], generation: int) -> None:
        self.segments = segments
        self.generation = generation
        self.recent: dict[int, int] = {}
        self.earlier: dict[int, int] = {}
        self.batches = BatchTimes()
        self.earlier_batches: BatchTimes | None = None

    def of(self, offset: int, generation: int) -> int | None:
        """The time for an offset; it stays known for this generation and the next. None when it is not known."""
        self.advance_to(generation)
        written = self.recent.get(offset)
        if written is None:
            written = self.earlier.pop(offset, None)
            if written is not None:
                self.recent[offset] = written
        return written

    def batch_of(self, offset: int) -> BatchTime | None:
        """The batch of an offset, if the offset of a look-up was in the same batch. It stays known likewise."""
        found = self.batches.of(offset)
        if found is None and self.earlier_batches is not None:
            found = self.earlier_batches.of(offset)
            if found is not None:
                self.batches.add(found)
        return found

    def add(self, batch: BatchTime) -> None:
        """A batch of one offset is found by the offset."""
        if batch[0] < batch[1]:
            self.batches.add(batch)

    def advance_to(self, generation: int) -> None:
        """Drop the times that no reader asked for in the generation before ``generation``."""
        passed = generation - self.generation
        if passed:
            self.earlier = self.recent if passed == 1 else {}
            self.earlier_batches = self.batches if passed == 1 else None
            self.recent = {}
            self.batches = BatchTimes()
            self.generation = generation


class UnreadTimes:
    """``clock_ms``: the wall clock, as in the records. ``now_s``: a monotonic clock."""

    def __init__(
        self,
        clock_ms: Callable[[], int],
        now_s: Callable[[], float],
        run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._clock_ms = clock_ms
        self._now_s = now_s
        self._run_in_pool = run_in_pool
        self._times: dict[TopicPartition, _Times] = {}
        self._generation = 0
        self._generation_began_s = now_s()
        self._look_ups = 0
        self._to_sweep: list[TopicPartition] = []
        self._cold: dict[tuple[TopicPartition, int], _LookUp] = {}
        self._reading: asyncio.Task[None] | None = None
        self._is_closed = False

    def known(self, topic_partition: TopicPartition, log: Log) -> Mapping[int, int]:
        """The times by offset that are known without a look-up, for very many questions at about the same moment.

        For an offset that is not there, or whose time is negative, ask `seconds`.
        """
        times = self._times_of(topic_partition, log)
        times.advance_to(self._generation)
        return times.recent

    def seconds(self, topic_partition: TopicPartition, log: Log, offset: int, end: int, now_ms: int) -> float | None:
        """The age of the first record in [``offset``, ``end``); 0 when there is none, None while it is unknown."""
        times = self._times_of(topic_partition, log)
        written = times.of(offset, self._generation)
        if written is None or (written < 0 and written != -end):
            written = self._look_up(_LookUp(times, topic_partition, log, offset, end), now_ms)
            if written is None:
                return None
        return age_s(written, now_ms) if written >= 0 else 0.0

    async def settled(self) -> None:
        """Wait until the look-ups in the worker pool are done."""
        while self._reading is not None:
            await asyncio.shield(self._reading)

    def kill(self) -> None:
        """Read no more cold pages."""
        self._is_closed = True
        self._cold.clear()
        if self._reading is not None:
            self._reading.cancel()

    def _times_of(self, topic_partition: TopicPartition, log: Log) -> _Times:
        """The times that are right for the log's segments."""
        segments = log.view.segments
        times = self._times.get(topic_partition)
        if times is None or times.segments is not segments:
            times = self._times[topic_partition] = _Times(segments, self._generation)
        return times

    def _look_up(self, wanted: _LookUp, now_ms: int) -> int | None:
        """The time of an offset that is not known, None when it cannot be read now; see `_Times` for negative ones."""
        times, topic_partition, log, offset, end = wanted
        batch = times.batch_of(offset)
        if batch is None:
            try:
                found = first_record_time(log.view, offset, end, now_ms, cached_only=True)
            except NotCachedError:
                self._look_up_later(wanted)
                return None
            except (OSError, IndexError, KafkaError) as error:
                logger.debug("%s: no time of the record at offset %d: %s", topic_partition, offset, error)
                return None
            if found is not None and found.may_change:
                return found.written_ms
            batch = _batch_time(found, offset, end)
            times.add(batch)
        self._remember(times, offset, batch)
        return batch[2]

    def _remember(self, times: _Times, offset: int, batch: BatchTime) -> None:
        """The offset is in the batch."""
        self._begin_generation_when_due()
        if self._to_sweep:
            self._sweep()
        times.advance_to(self._generation)
        times.recent[offset] = batch[2]

    def _begin_generation_when_due(self) -> None:
        self._look_ups += 1
        now_s = self._now_s()
        if self._look_ups >= _GENERATION_LOOK_UPS or now_s - self._generation_began_s >= _GENERATION_S:
            self._generation += 1
            self._generation_began_s = now_s
            self._look_ups = 0
            self._to_sweep = list(self._times)

    def _sweep(self) -> None:
        """Forget two partitions that no reader asks for any more. All at once would hold the loop too long."""
        for _ in range(min(2, len(self._to_sweep))):
            topic_partition = self._to_sweep.pop()
            times = self._times.get(topic_partition)
            if times is not None and self._generation - times.generation > 1:
                del self._times[topic_partition]

    # -- pages that are not in the cache

    def _look_up_later(self, cold: _LookUp) -> None:
        if len(self._cold) < _MAX_COLD and not self._is_closed:
            self._cold[cold.topic_partition, cold.offset] = cold
        if self._reading is None and self._cold:
            self._reading = asyncio.get_running_loop().create_task(self._read_cold())

    async def _read_cold(self) -> None:
        try:
            while self._cold:
                some = [self._cold.popitem()[1] for _ in range(min(len(self._cold), _COLD_AT_A_TIME))]
                found = await self._run_in_pool(partial(_read_all, some, self._clock_ms()))
                for cold, batch in zip(some, found, strict=True):
                    if batch is not None:
                        cold.times.add(batch)
                        self._remember(cold.times, cold.offset, batch)
        finally:
            self._reading = None


def age_s(written_ms: int, now_ms: int) -> float:
    """The age in seconds; 0 when the clock was set back behind the time."""
    return (now_ms - written_ms) / 1000 if written_ms <= now_ms else 0.0


def _read_all(cold: list[_LookUp], now_ms: int) -> list[BatchTime | None]:
    """Look up all, in a worker; None where it failed."""
    return [_read(each, now_ms) for each in cold]


def _read(cold: _LookUp, now_ms: int) -> BatchTime | None:
    try:
        found = first_record_time(cold.log.view, cold.offset, cold.end, now_ms)
    except (OSError, IndexError, KafkaError) as error:
        logger.debug("%s: no time of the record at offset %d: %s", cold.topic_partition, cold.offset, error)
        return None
    return _batch_time(found, cold.offset, cold.end)


def _batch_time(found: RecordTime | None, offset: int, end: int) -> BatchTime:
    """See `_Times` for the time when no record was found."""
    return (offset, offset, -end) if found is None else (found.first, found.last, found.written_ms)
