"""Creates topics and appends records inside a running broker, without a producer."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby

from ....base.topic_partition import TopicPartition
from ....client.producing.murmur2 import partition_of_key
from ....controller.topics.topic_admin import USE_DEFAULT, NewTopic
from ....protocol.errors import TopicExistsError, error_for
from ....protocol.records.record import BatchBuilder, Headers, Record
from ....replication.partition.append_request import AppendRequest
from ....replication.partition.append_result import AppendResult
from ...apis.broker_parts import BrokerParts
from .record_parts import data_of
from .stored_record import StoredRecord
from .topic_logs import partitions_of
from .waiting import wait_topic

__all__ = [
    "append_records",
    "append_values",
    "check_creation",
    "create_topic",
    "in_batches",
    "placed_records",
    "records_of",
    "require_topic",
]

_ALL = -1
_AUTO_CREATION = "auto.create.topics.enable"
_LEADERS_LIMIT_S = 10.0
_BATCH_BYTES = 512 << 10


async def create_topic(
    parts: BrokerParts, topic: str, partitions: int | None, settings: Mapping[str, str | int | float]
) -> None:
    """Create a topic and wait until it has leaders. Raises KafkaError."""
    texts = {name: str(value) for name, value in settings.items()}
    count = USE_DEFAULT if partitions is None else partitions
    await parts.metadata.topics.create(NewTopic(topic, partition_count=count, settings=texts))
    await wait_topic(parts, topic, _LEADERS_LIMIT_S)


def check_creation(parts: BrokerParts, topic: str) -> None:
    """Raises LookupError when the broker would not create a missing topic for a producer."""
    if not parts.config.boolean(_AUTO_CREATION):
        near = get_close_matches(topic, parts.cache.topics, 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise LookupError(f"there is no topic {topic!r}, and {_AUTO_CREATION} is false{hint}")


async def require_topic(parts: BrokerParts, topic: str, partitions: int | None = None) -> None:
    """Create a missing topic, if the broker would do it for a producer. Raises LookupError and KafkaError."""
    if not parts.cache.has_topic(topic):
        check_creation(parts, topic)
        try:
            await create_topic(parts, topic, partitions, {})
        except TopicExistsError:  # another task was quicker
            await wait_topic(parts, topic, _LEADERS_LIMIT_S)


async def append_values(
    parts: BrokerParts,
    topic: str,
    values: Sequence[bytes | str | None],
    partition: int | None,
    now_ms: int,
    *,
    key: bytes | str | None,
    headers: Headers,
) -> list[StoredRecord]:
    """Append values to a topic, see `require_topic`. Raises ValueError, KafkaError and LookupError.

    A record with a key goes to the partition that Kafka's Java client chooses; others go to the partitions in turn.
    """
    records = records_of(values, now_ms, key=key, headers=headers)
    await require_topic(parts, topic)
    placed = placed_records(records, partition, parts.cache.partition_count(topic) or 1)
    return await append_records(parts, topic, placed, now_ms)


def records_of(
    values: Sequence[bytes | str | None], now_ms: int, *, key: bytes | str | None, headers: Headers
) -> list[Record]:
    """Return records with these values. Raises ValueError for a value or key that is no bytes, text or None."""
    raw_key = data_of(key, "key")
    return [Record(0, now_ms, raw_key, data_of(value, "a value"), headers) for value in values]


def placed_records(records: Sequence[Record], partition: int | None, count: int) -> list[tuple[int, Record]]:
    """Return the records with their partitions: those with a key by Kafka's hash, others in turn."""
    found = []
    for number, record in enumerate(records):
        if partition is not None:
            index = partition
        else:
            index = number % count if record.key is None else partition_of_key(record.key, count)
        found.append((index, record))
    return found


async def append_records(
    parts: BrokerParts, topic: str, records: Iterable[tuple[int, Record]], now_ms: int
) -> list[StoredRecord]:
    """Append records to partitions; return them with their offsets, by partition. Raises KafkaError, LookupError."""
    found: list[StoredRecord] = []
    for index, group in groupby(sorted(records, key=lambda each: each[0]), key=lambda each: each[0]):
        partitions_of(parts, topic, index)
        at = TopicPartition(topic, index)
        for batch in in_batches([record for _, record in group]):
            base = await _append(parts, at, batch, now_ms)
            found += [
                StoredRecord(topic, index, base + each.offset, each.timestamp_ms, each.key, each.value, each.headers)
                for each in batch
            ]
    return found


def in_batches(records: Sequence[Record]) -> Iterable[list[Record]]:
    """Number the records of each batch from 0. A batch has up to 512 KiB, or one record."""
    batch: list[Record] = []
    size = 0
    for each in records:
        size += len(each.key or b"") + len(each.value or b"") + 100
        if batch and size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(Record(len(batch), each.timestamp_ms, each.key, each.value, each.headers))
    if batch:
        yield batch


async def _append(parts: BrokerParts, at: TopicPartition, batch: Sequence[Record], now_ms: int) -> int:
    """Return the base offset, once the batch is committed."""
    builder = BatchBuilder()
    for each in batch:
        builder.append(each.offset, each.timestamp_ms, each.key, each.value, each.headers)
    future: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()

    def done(result: AppendResult) -> None:
        if not future.done():
            future.set_result(result)

    limit_ms = int(_LEADERS_LIMIT_S * 1000)
    parts.partitions.append(AppendRequest(at, bytearray(builder.build()), _ALL, limit_ms, now_ms), done)
    result = await future
    if result.error:
        raise error_for(result.error, result.message)
    return result.base_offset
