"""Produces records by librdkafka for tests of readers, with the offsets they got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from confluent_kafka import KafkaError, Message, Producer

__all__ = ["KEEPS_OLD_RECORDS", "START_MS", "Produced", "numbered", "produce"]

START_MS = 1_700_000_000_000
"""An old timestamp: brokers of such records must not delete old records (KEEPS_OLD_RECORDS)."""
KEEPS_OLD_RECORDS = {"log.retention.ms": "-1"}


class Produced(NamedTuple):
    """A record as a reader must find it. Timestamps in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def produce(servers: str, records: Iterable[Produced], **settings: str) -> list[Produced]:
    """Produces the records; returns them with their offsets, by partition. Settings are librdkafka's with underscores
    for dots.
    """
    found: list[Produced] = []
    producer = Producer(
        {"bootstrap.servers": servers, **{name.replace("_", "."): value for name, value in settings.items()}}
    )
    for record in records:

        def delivered(error: KafkaError | None, message: Message, record: Produced = record) -> None:
            assert error is None, error
            offset = message.offset()
            assert offset is not None
            found.append(record._replace(offset=offset))

        producer.produce(
            record.topic,
            key=record.key,
            value=record.value,
            partition=record.partition,
            timestamp=record.timestamp,
            headers=list(record.headers) or None,
            on_delivery=delivered,
        )
        producer.poll(0)
    assert producer.flush() == 0
    return sorted(found, key=lambda record: (record.topic, record.partition, record.offset))


def numbered(topic: str, partitions: Sequence[int], count: int, first: int = 0) -> list[Produced]:
    """Returns records with keys, values and timestamps, distributed to the partitions in turn."""
    return [
        Produced(topic, partitions[number % len(partitions)], -1, START_MS + number, b"k%d" % number, b"v%d" % number)
        for number in range(first, first + count)
    ]
