"""Live tails: one fetch for each broker, four times a second, serves all tails of a session.

**Why.** Fifty tails that each wait for new records would wake fifty requests in the broker at every append.
**How.** The hub asks for the partitions of all tails together, decodes each batch once, and hands records to the tails.
**Limits.** A tail shows at most `_SHOWN_A_TICK` records a tick; it counts the others as skipped. A hub that falls
behind by `_TOO_FAR` records goes on near the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...client.fetching.fetches import Fetched, fetch_request, fetched_in
from ...client.record_filter import Candidate
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record, read_records
from ...protocol.sentinels import LATEST
from ..http.json_text import json_text
from .masking import Masks
from .record_json import IN_LISTS, record_json

logger = logging.getLogger(__name__)

TICK_S = 0.25
_PARTITION_BYTES = 256 << 10
_RESPONSE_BYTES = 1 << 20
_MAX_PLAIN_BYTES = 64 << 20
_SHOWN_A_TICK = 125
_KEPT = 250
_TOO_FAR = 20_000
_NEAR_END = 100
_DECODED_A_TICK = 20_000


class Tail:
    """One reader: the records that wait for it, and how many were left out."""

    def __init__(self, partitions: frozenset[TopicPartition], matches: Callable[[Candidate], bool] | None) -> None:
        self.partitions = partitions
        self.matches = matches
        self.starts: dict[TopicPartition, int] = {}
        self.waiting: deque[str] = deque()
        self.skipped = 0
        self.matched = 0
        self.seen = 0
        self.failure: Exception | None = None
        self.changed = asyncio.Event()

    def give(self, records: list[str], *, seen: int, skipped: int) -> None:
        """Add records, each as JSON. When the reader is slow, the oldest that wait are skipped."""
        self.seen += seen
        self.matched += len(records)
        self.skipped += skipped
        self.waiting.extend(records)
        while len(self.waiting) > _KEPT:
            self.waiting.popleft()
            self.skipped += 1
        if seen or skipped:
            self.changed.set()

    def fail(self, failure: Exception) -> None:
        """End the tail."""
        self.failure = failure
        self.changed.set()

    async def take(self, most: int) -> list[str]:
        """Wait for news; returns the next records, each as JSON. Raises what ended the tail."""
        await self.changed.wait()
        if self.failure is not None:
            raise self.failure
        taken = [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]
        if not self.waiting:
            self.changed.clear()
        return taken


class TailHub:
    """All tails of a session. Used on the event loop only."""

    def __init__(self, cluster: AsyncCluster, masks: Masks) -> None:
        self._cluster = cluster
        self._masks = masks
        self._tails: set[Tail] = set()
        self._positions: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def open(self, topic: str, partitions: list[int], matches: Callable[[Candidate], bool] | None) -> Tail:
        """A tail from the end on. Raises KafkaError, ConnectionError, TimeoutError."""
        wanted = frozenset(TopicPartition(topic, partition) for partition in partitions)
        ends = await self._cluster.offsets(dict.fromkeys(wanted, LATEST), partial=True)
        if not ends:
            ends = await self._cluster.offsets(dict.fromkeys(wanted, LATEST))
        tail = Tail(frozenset(ends), matches)
        for at, end in ends.items():
            tail.starts[at] = max(end, self._positions.setdefault(at, end))
        self._tails.add(tail)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return tail

    def leave(self, tail: Tail) -> None:
        """Close a tail."""
        self._tails.discard(tail)
        wanted = {at for each in self._tails for at in each.partitions}
        for at in self._positions.keys() - wanted:
            del self._positions[at]
        if not self._tails and self._task is not None:
            self._task.cancel()
            self._task = None

    def close(self) -> None:
        """End all tails."""
        for tail in self._tails:
            tail.fail(ConnectionError("the session has ended"))
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                await self._tick()
            except (KafkaError, OSError) as error:
                retriable = isinstance(error, OSError) or error.retriable
                for tail in list(self._tails):
                    if not retriable:
                        tail.fail(error)
            except Exception as error:
                logger.exception("live tails ended by an error of the console")
                for tail in list(self._tails):
                    tail.fail(ConnectionError(f"the console failed: {error}"))

    async def _tick(self) -> None:
        led = await self._cluster.leaders(self._positions)
        asked = []
        for leader, partitions in led.items():
            positions = {at: self._positions[at] for at in partitions}
            request = fetch_request(positions, partition_bytes=_PARTITION_BYTES, max_bytes=_RESPONSE_BYTES)
            asked.append(self._cluster.ask_broker(leader, request))
        for response in await asyncio.gather(*asked):
            for fetched in fetched_in(response):
                if fetched.at in self._positions:
                    await self._take(fetched)

    async def _take(self, fetched: Fetched) -> None:
        at = fetched.at
        tails = [tail for tail in self._tails if at in tail.partitions]
        if fetched.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._positions[at] = (await self._cluster.offsets({at: LATEST}))[at]
            return
        if fetched.error_code:
            error = error_for(fetched.error_code, f"{at} cannot be read: {ErrorCode(fetched.error_code).name}")
            if error.retriable:
                await self._cluster.topic(at.topic, is_fresh=True)
                return
            for tail in tails:
                tail.fail(error)
            return
        if not fetched.records:
            return
        position = self._positions[at]
        read = await asyncio.to_thread(_decode, fetched, position)
        if at not in self._positions:
            return
        behind = fetched.high_watermark - read.position
        skipped = 0
        if behind > _TOO_FAR:
            skipped, read.position = behind - _NEAR_END, fetched.high_watermark - _NEAR_END
        self._positions[at] = read.position
        shown: dict[int, str] = {}  # the JSON of each record is made once for all tails
        for tail in tails:
            self._give(tail, at, read, shown, skipped + read.left_out)

    def _give(self, tail: Tail, at: TopicPartition, read: _Decoded, shown: dict[int, str], skipped: int) -> None:
        start = tail.starts[at]
        new = [each for each in read.records if each[1].offset >= start]
        if tail.matches is None:
            matched = new
        else:
            matches = tail.matches
            matched = [each for each in new if matches(self._candidate(at, each[1]))]
        records = []
        for batch, record in matched[-_SHOWN_A_TICK:]:
            if record.offset not in shown:
                value = self._masks.masked(record.value)
                shown[record.offset] = json_text(record_json(at.topic, at.partition, batch, record, value, IN_LISTS))
            records.append(shown[record.offset])
        tail.give(records, seen=len(new), skipped=skipped + len(matched) - len(records))

    def _candidate(self, at: TopicPartition, record: Record) -> Candidate:
        if not self._masks:
            return Candidate(at.partition, record)
        value = self._masks.masked(record.value)
        return Candidate(at.partition, Record(record.offset, record.timestamp_ms, record.key, value, record.headers))


class _Decoded:
    """The records of a response. `left_out`: those that were not decoded."""

    __slots__ = ("left_out", "position", "records")

    def __init__(self, position: int) -> None:
        self.records: list[tuple[RecordBatch, Record]] = []
        self.position = position
        self.left_out = 0


def _decode(fetched: Fetched, position: int) -> _Decoded:
    read = _Decoded(position)
    for batch in fetched.batches():
        if not batch.is_control:
            if len(read.records) + max(batch.record_count, 1) > _DECODED_A_TICK:
                read.left_out += max(batch.record_count, 1)
            else:
                try:
                    found = read_records(batch, _MAX_PLAIN_BYTES)
                    read.records += [(batch, record) for record in found if record.offset >= position]
                except KafkaError:
                    read.left_out += max(batch.record_count, 1)
        read.position = max(read.position, batch.next_offset)
    return read
