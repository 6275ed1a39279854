"""A search: reads partitions one after another, and tells hits and progress while it runs.

**How.** While a thread searches one response, the next is fetched on a connection of the search's own. **Limits.** A
search ends after a time, a number of records or of bytes, and says where to go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...client.asynchronous.connection import AsyncConnection
from ...client.fetching.fetches import Fetched, fetch_request, fetched_in
from ...client.record_filter import BatchSearch, Candidate, Query, compile_query
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record, read_records
from ..http.event_stream import event
from .masking import Masks
from .places import Bounds, at_text
from .record_json import IN_LISTS, record_json

FETCH_BYTES = 4 << 20
PROGRESS_S = 0.25
_MAX_PLAIN_BYTES = 128 << 20
_RECORDS_BETWEEN_LOOKS = 4_096


@frozen
class Budget:
    """Where a search ends."""

    seconds: float = 10.0
    records: int = 10_000_000
    bytes: int = 2 << 30


@dataclass(slots=True)
class SearchState:
    """The progress of a search. `positions`: where each partition is read next."""

    positions: dict[int, int]
    total: int
    searched: int = 0
    bytes: int = 0
    hits: int = 0
    broken: int = 0
    reason: str | None = None


@frozen
class _Found:
    """The hits of one response."""

    hits: list[dict[str, Any]] = field(default_factory=list)


class Search:
    """One search in the partitions of a topic, from `positions` to `ends`."""

    def __init__(
        self,
        cluster: AsyncCluster,
        topic: str,
        query: Query,
        bounds: dict[int, Bounds],
        *,
        limit: int,
        masks: Masks,
        executor: Executor,
        budget: Budget,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._matcher = _Matcher(query, masks)
        self._ends = {partition: bound.end for partition, bound in bounds.items()}
        self._limit = limit
        self._executor = executor
        self._budget = budget
        self._clock_s = clock_s
        self._began_s = clock_s()
        self._is_cancelled = False
        positions = {partition: bound.start for partition, bound in bounds.items()}
        self.state = SearchState(positions, sum(bound.end - bound.start for bound in bounds.values()))

    async def events(self) -> AsyncIterator[bytes]:
        """Yields hits, progress, and at the end `done` or `problem`."""
        told_s = self._began_s
        try:
            async for found in self._responses():
                for hit in found.hits:
                    yield event("hit", hit)
                now_s = self._clock_s()
                if now_s - told_s >= PROGRESS_S:
                    told_s = now_s
                    yield event("progress", self._progress())
        except KafkaError as error:
            yield event("problem", {"error": str(error), "code": ErrorCode(error.code).name})
            return
        except (OSError, TimeoutError) as error:
            yield event("problem", {"error": str(error), "code": None})
            return
        finally:
            self._is_cancelled = True
        left = {each: at for each, at in self.state.positions.items() if at < self._ends[each]}
        reason = self.state.reason or "end"
        yield event("done", {**self._progress(), "reason": reason, "resume": at_text(left)})

    def _progress(self) -> dict[str, Any]:
        state = self.state
        return {
            "searched": state.searched,
            "total": state.total,
            "bytes": state.bytes,
            "hits": state.hits,
            "broken": state.broken,
            "seconds": round(self._clock_s() - self._began_s, 3),
        }

    async def _responses(self) -> AsyncIterator[_Found]:
        connections: dict[int, AsyncConnection] = {}
        try:
            for partition in sorted(self.state.positions):
                at = TopicPartition(self._topic, partition)
                if self.state.positions[partition] >= self._ends[partition]:
                    continue
                leader = await self._cluster.leader(at)
                if leader not in connections:
                    connections[leader] = await self._cluster.open_own_connection(leader)
                async for found in self._partition(connections[leader], at):
                    yield found
                    if self.state.reason is not None:
                        return
        finally:
            for connection in connections.values():
                connection.close()

    async def _partition(self, connection: AsyncConnection, at: TopicPartition) -> AsyncIterator[_Found]:
        loop = asyncio.get_running_loop()
        position, end = self.state.positions[at.partition], self._ends[at.partition]
        fetching: asyncio.Future[Fetched] | None = asyncio.ensure_future(self._fetch(connection, at, position))
        try:
            while fetching is not None:
                fetched = await fetching
                batches = fetched.batches()
                position = max([position, *(batch.next_offset for batch in batches)])
                is_last = not batches or position >= end
                fetching = None if is_last else asyncio.ensure_future(self._fetch(connection, at, position))
                yield await loop.run_in_executor(self._executor, self._look_through, batches, at.partition)
                if self.state.reason is not None:
                    return
            self.state.positions[at.partition] = end
        finally:
            if fetching is not None:
                fetching.cancel()

    async def _fetch(self, connection: AsyncConnection, at: TopicPartition, position: int) -> Fetched:
        request = fetch_request({at: position}, partition_bytes=FETCH_BYTES, max_bytes=FETCH_BYTES)
        (fetched,) = fetched_in(await connection.ask(request, self._cluster.settings.request_timeout_ms))
        if fetched.error_code:
            raise error_for(fetched.error_code, f"{at} cannot be read: {ErrorCode(fetched.error_code).name}")
        return fetched

    def _look_through(self, batches: list[RecordBatch], partition: int) -> _Found:
        """Search batches. Runs on a thread, while the loop leaves the state alone."""
        found, state, end = _Found(), self.state, self._ends[partition]
        for batch in batches:
            if self._is_over():
                break
            position = state.positions[partition]
            if batch.next_offset <= position:
                continue
            if batch.base_offset >= end and batch.magic >= 2:
                state.positions[partition] = end
                break
            if not batch.is_control:
                self._look_into(batch, partition, found)
            if state.reason is None:
                state.positions[partition] = min(end, batch.next_offset)
        return found

    def _look_into(self, batch: RecordBatch, partition: int, found: _Found) -> None:
        state = self.state
        position, end = state.positions[partition], self._ends[partition]
        try:
            for record, value in self._matcher.matches(batch, partition, self._is_over):
                if position <= record.offset < end:
                    found.hits.append(record_json(self._topic, partition, batch, record, value, IN_LISTS))
                    state.hits += 1
                    state.positions[partition] = record.offset + 1
                    if state.hits >= self._limit:
                        state.reason = "limit"
                        return
        except KafkaError:
            state.broken += 1
        state.searched += max(batch.record_count, 1)
        state.bytes += batch.size_bytes

    def _is_over(self) -> bool:
        state, budget = self.state, self._budget
        if state.reason is None:
            if self._is_cancelled:
                state.reason = "cancelled"
            elif self._clock_s() - self._began_s >= budget.seconds:
                state.reason = "time"
            elif state.searched >= budget.records:
                state.reason = "records"
            elif state.bytes >= budget.bytes:
                state.reason = "bytes"
        return state.reason is not None


class _Matcher:
    """Finds records that match, and what may be shown of their values.

    With masks the masked values are compared: else a query could tell what the masks hide.
    """

    def __init__(self, query: Query, masks: Masks) -> None:
        self._masks = masks
        self._search = BatchSearch(query)
        self._condition = compile_query(query)

    def matches(self, batch: RecordBatch, partition: int, is_over: Callable[[], bool]) -> Any:
        """Yields records and their shown values. Raises KafkaError for a broken batch."""
        if not self._masks:
            for record in self._search.records(batch, partition, _MAX_PLAIN_BYTES, is_over):
                yield record, record.value
            return
        for number, record in enumerate(read_records(batch, _MAX_PLAIN_BYTES)):
            if number % _RECORDS_BETWEEN_LOOKS == 0 and is_over():
                return
            value = self._masks.masked(record.value)
            shown = Record(record.offset, record.timestamp_ms, record.key, value, record.headers, record.sequence)
            if self._condition(Candidate(partition, shown)):
                yield record, value
