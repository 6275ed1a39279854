"""Lets tests look into a running cluster: records from the leaders, groups from their coordinators."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from ..base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ..base.topic_partition import TopicPartition
from ..broker.apis.broker_parts import BrokerParts
from ..broker.faults.words import MAX_INT64, partition_word, seconds, text_word, whole_number
from ..broker.library.cluster.blocking_cluster import BlockingCluster
from ..broker.library.cluster.thread_broker import ThreadBroker
from ..broker.library.inspection.appending import append_records, check_creation, placed_records, records_of
from ..broker.library.inspection.record_files import line_of, read_file
from ..broker.library.inspection.record_parts import headers_of
from ..broker.library.inspection.stored_record import StoredRecord
from ..broker.library.inspection.topic_logs import read_topic
from ..broker.library.inspection.waiting import wait_assigned, wait_committed, wait_loaded
from ..protocol.records.record import Record
from .led_partitions import LedPartitions, led_here, until_changed
from .outside_topics import create_topic_outside

__all__ = ["ClusterInspection"]

_LIMIT_S = 10.0
_ROUND_S = 1.0
"""After this time a wait looks again which brokers run."""
Answer = TypeVar("Answer")


class ClusterInspection:
    """Methods are awaited on the loop of the cluster, and have the meaning of those of `Inspection`.

    They raise RuntimeError when no broker runs, and LookupError when no running broker leads a partition.
    """

    def __init__(self, cluster: BlockingCluster) -> None:
        self._cluster = cluster

    # -- topics and records

    async def topics(self) -> list[str]:
        """As `Inspection.topics`."""
        known = await self._on_each(_topics_of)
        return sorted({name for names in known.values() for name in names if not name.startswith("__")})

    async def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str | int | float] | None = None
    ) -> None:
        """As `Inspection.create_topic`; all brokers know the leaders then."""
        servers = self._cluster.bootstrap_servers
        await asyncio.to_thread(create_topic_outside, servers, topic, partitions, settings or {})

    async def records(
        self, topic: str, partition: int | None = None, *, committed_only: bool = True
    ) -> list[StoredRecord]:
        """As `Inspection.records`, from the leaders. An election is waited for."""
        text_word(topic, "topic")
        partition_word(partition)
        led = await self._led(topic)
        if partition is not None and partition not in led:
            raise LookupError(f"topic {topic!r} has no partition {partition}; it has {len(led)}")
        found: list[StoredRecord] = []
        for index in sorted(led) if partition is None else (partition,):
            found += await self._on(led[index], _reading(topic, index, committed_only=committed_only))
        return found

    async def append(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> list[StoredRecord]:
        """As `Inspection.append`, on the leaders."""
        text_word(topic, "topic")
        partition_word(partition)
        if timestamp_ms is not None:
            whole_number(timestamp_ms, "timestamp_ms", 0, MAX_INT64)
        now_ms = self._now_ms() if timestamp_ms is None else timestamp_ms
        records = records_of(values, now_ms, key=key, headers=headers_of(headers))
        await self._require_topic(topic, None)
        placed = placed_records(records, partition, len(await self._led(topic)))
        return await self._append(topic, placed, now_ms)

    async def load(self, file: str | Path, topic: str | None = None) -> int:
        """As `Inspection.load`."""
        if topic is not None:
            text_word(topic, "topic")
        found = await asyncio.to_thread(read_file, Path(file), topic, self._now_ms())
        for name, placed in found.items():
            await self._require_topic(name, max(index for index, _ in placed) + 1)
            await self._append(name, placed, self._now_ms())
        return sum(map(len, found.values()))

    async def dump(self, file: str | Path, *topics: str, committed_only: bool = True) -> int:
        """As `Inspection.dump`."""
        lines: list[str] = []
        for name in topics or await self.topics():
            lines += map(line_of, await self.records(name, committed_only=committed_only))
        await asyncio.to_thread(Path(file).write_text, "".join(lines))
        return len(lines)

    # -- waiting

    def wait_records(
        self, topic: str, count: int, *, timeout: float = 10.0, committed_only: bool = True
    ) -> Coroutine[Any, Any, list[StoredRecord]]:
        """As `Inspection.wait_records`: an event on any leader ends the wait."""
        text_word(topic, "topic")
        whole_number(count, "count", 0)
        seconds(timeout, "timeout")
        return self._until_records(topic, count, timeout, committed_only=committed_only)

    async def _until_records(
        self, topic: str, count: int, limit_s: float, *, committed_only: bool
    ) -> list[StoredRecord]:
        seen: Mapping[int, LedPartitions] = {}
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    seen = await self._on_each(_led_of(topic, committed_only=committed_only))
                    if sum(_sizes(seen).values()) >= count and _is_complete(seen):
                        found = await self.records(topic, committed_only=committed_only)
                        if len(found) >= count:
                            return found
                    await self._changed(topic, seen, committed_only=committed_only)
        except TimeoutError:
            sizes = ", ".join(f"partition {index}: {size}" for index, size in sorted(_sizes(seen).items()))
            there = f"records of {sizes}" if sizes else "no running broker leads a partition of it"
            raise TimeoutError(f"topic {topic!r} has not {count} records within {limit_s:g} s: {there}") from None

    def wait_assigned(self, group: str, members: int = 1, *, timeout: float = 10.0) -> Coroutine[Any, Any, None]:
        """As `Inspection.wait_assigned`, on the coordinator."""
        text_word(group, "group", may_be_empty=True)
        whole_number(members, "members", 0)
        seconds(timeout, "timeout")
        return self._first(lambda parts: wait_assigned(parts, group, members, timeout))

    def wait_committed(
        self, group: str, topic: str, partition: int, offset: int, *, timeout: float = 10.0
    ) -> Coroutine[Any, Any, None]:
        """As `Inspection.wait_committed`, on the coordinator."""
        text_word(group, "group", may_be_empty=True)
        text_word(topic, "topic")
        whole_number(partition, "partition", 0)
        whole_number(offset, "offset", 0, MAX_INT64)
        seconds(timeout, "timeout")
        at = TopicPartition(topic, partition)
        return self._first(lambda parts: wait_committed(parts, group, at, offset, timeout))

    async def lag(self, group: str, topic: str | None = None) -> int:
        """As `Inspection.lag`: offsets from the coordinator, ends from the leaders."""
        text_word(group, "group", may_be_empty=True)
        answers = await self._on_each(lambda parts: _committed_of(parts, group))
        committed = {at: offset for each in answers.values() for at, offset in each.items()}
        wanted = {at: offset for at, offset in committed.items() if topic is None or at.topic == topic}
        if not wanted:
            where = "" if topic is None else f" for topic {topic!r}"
            raise LookupError(f"group {group!r} has committed no offsets{where}")
        lag = 0
        for name in {at.topic for at in wanted}:
            ends = await self._ends(name)
            for at, offset in wanted.items():
                if at.topic == name:
                    start, end = ends[at.partition]
                    lag += max(end - max(offset, start), 0)
        return lag

    # -- internal

    def _now_ms(self) -> int:
        return self._cluster.test_clock.clock_ms()

    def _running(self) -> list[ThreadBroker]:
        brokers = [self._cluster.thread_broker(id_) for id_ in self._cluster.broker_ids]
        running = [each for each in brokers if each.is_responsive]
        if not running:
            raise RuntimeError("no broker of the cluster runs")
        return running

    async def _on(self, broker: int, work: Callable[[BrokerParts], Coroutine[Any, Any, Answer]]) -> Answer:
        found = await self._answers([self._cluster.thread_broker(broker)], work, _LIMIT_S)
        if broker not in found:
            raise RuntimeError(f"broker {broker} ended, or did not answer within {_LIMIT_S:g} s")
        return found[broker]

    async def _on_each(self, work: Callable[[BrokerParts], Coroutine[Any, Any, Answer]]) -> dict[int, Answer]:
        """The results of the brokers that run, by id."""
        return await self._answers(self._running(), work, _LIMIT_S)

    async def _answers(
        self, brokers: list[ThreadBroker], work: Callable[[BrokerParts], Coroutine[Any, Any, Answer]], limit_s: float
    ) -> dict[int, Answer]:
        asked = {asyncio.wrap_future(each.begin_work(work)): each.broker_id for each in brokers}
        try:
            done, _ = await asyncio.wait(asked, timeout=limit_s)
        finally:
            _cancel(asked)
        return {asked[each]: each.result() for each in done if not _has_ended(each)}

    async def _first(self, work: Callable[[BrokerParts], Coroutine[Any, Any, None]]) -> None:
        """Return when ``work`` succeeds on one broker. Raises the error of the broker that knows most."""
        asked = {asyncio.wrap_future(each.begin_work(work)) for each in self._running()}
        errors = []
        left = set(asked)
        try:
            while left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    if _has_ended(each):
                        continue
                    error = each.exception()
                    if error is None:
                        return
                    errors.append(error)
        finally:
            _cancel(asked)
        if not errors:
            raise RuntimeError("the brokers ended during the wait")
        raise min(errors, key=lambda error: "there is no such group" in str(error))

    async def _led(self, topic: str) -> dict[int, int]:
        """The leader of each partition. Elections are waited for."""
        until_s = asyncio.get_running_loop().time() + _LIMIT_S
        while True:
            seen = await self._on_each(_led_of(topic, committed_only=False))
            if all(each.total is None for each in seen.values()):
                raise LookupError(f"there is no topic {topic!r}; topics: {', '.join(await self.topics()) or 'none'}")
            if _is_complete(seen):
                return {index: broker for broker, each in seen.items() for index in each.spans}
            if asyncio.get_running_loop().time() > until_s:
                raise LookupError(f"no running broker leads some partitions of topic {topic!r}")
            await self._changed(topic, seen, committed_only=False)

    async def _changed(self, topic: str, seen: Mapping[int, LedPartitions], *, committed_only: bool) -> None:
        """Return when the topic is another on a broker than ``seen``, and after a second."""

        def watching(broker: int) -> Callable[[BrokerParts], Coroutine[Any, Any, None]]:
            last = seen.get(broker)
            return lambda parts: until_changed(parts, topic, last, _ROUND_S, committed_only=committed_only)

        asked = [asyncio.wrap_future(each.begin_work(watching(each.broker_id))) for each in self._running()]
        try:
            await asyncio.wait(asked, timeout=_ROUND_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            _cancel(asked)

    async def _ends(self, topic: str) -> dict[int, tuple[int, int]]:
        await self._led(topic)
        seen = await self._on_each(_led_of(topic, committed_only=False))
        return {index: span for each in seen.values() for index, span in each.spans.items()}

    async def _require_topic(self, topic: str, partitions: int | None) -> None:
        seen = await self._on_each(lambda parts: _creation_of(parts, topic))
        least = max((each for each in seen.values() if each is not None), default=None)
        if len(seen) and all(each is not None for each in seen.values()):
            count = None if partitions is None else max(partitions, least or 1)
            await self.create_topic(topic, count)

    async def _append(self, topic: str, placed: Iterable[tuple[int, Record]], now_ms: int) -> list[StoredRecord]:
        led = await self._led(topic)
        ordered = sorted(placed, key=lambda each: each[0])
        for index, _ in ordered:
            if index not in led:
                raise LookupError(f"topic {topic!r} has no partition {index}; it has {len(led)}")
        found: list[StoredRecord] = []
        for index, records in groupby(ordered, key=lambda each: each[0]):
            found += await self._on(led[index], _appending(topic, list(records), now_ms))
        return found


def _cancel(futures: Iterable[asyncio.Future[Any]]) -> None:
    for each in futures:
        each.cancel()


def _has_ended(done: asyncio.Future[Any]) -> bool:
    """Whether a broker ended before it had a result."""
    return done.cancelled() or isinstance(done.exception(), RuntimeError)


def _sizes(seen: Mapping[int, LedPartitions]) -> dict[int, int]:
    return {index: end - start for each in seen.values() for index, (start, end) in each.spans.items()}


def _is_complete(seen: Mapping[int, LedPartitions]) -> bool:
    counts = [each.total for each in seen.values() if each.total is not None]
    return bool(counts) and len(_sizes(seen)) == max(counts)


def _reading(
    topic: str, partition: int, *, committed_only: bool
) -> Callable[[BrokerParts], Coroutine[Any, Any, list[StoredRecord]]]:
    return lambda parts: read_topic(parts, topic, partition, committed_only=committed_only)


def _appending(
    topic: str, records: list[tuple[int, Record]], now_ms: int
) -> Callable[[BrokerParts], Coroutine[Any, Any, list[StoredRecord]]]:
    return lambda parts: append_records(parts, topic, records, now_ms)


def _led_of(topic: str, *, committed_only: bool) -> Callable[[BrokerParts], Coroutine[Any, Any, LedPartitions]]:
    async def led(parts: BrokerParts) -> LedPartitions:
        return led_here(parts, topic, committed_only=committed_only)

    return led


async def _topics_of(parts: BrokerParts) -> list[str]:
    return list(parts.cache.topics)


async def _creation_of(parts: BrokerParts, topic: str) -> int | None:
    """The default number of partitions when the topic is missing; None when it is there. Raises LookupError."""
    if parts.cache.has_topic(topic):
        return None
    check_creation(parts, topic)
    return parts.config.int("num.partitions")


async def _committed_of(parts: BrokerParts, group_id: str) -> dict[TopicPartition, int]:
    """The offsets that the group has committed, when this broker coordinates it."""
    registry = parts.coordinators.groups.registry
    partition = registry.partition_for(group_id)
    if not parts.partitions.is_leader(TopicPartition(CONSUMER_OFFSETS_TOPIC, partition)):
        return {}
    await wait_loaded(parts, partition)
    group = registry.get(group_id)
    return {} if group is None else {at: record.value.offset for at, record in group.offsets.committed.items()}
