"""Reads a partition back by a stock consumer."""

from contextlib import suppress

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaTimeoutError
from support.time.patience import READS, await_answer

__all__ = ["read_all"]

_CONSUMERS = 3


def read_all(servers: str, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Returns offsets and values of the whole log."""
    place = TopicPartition(topic, partition)
    consumer, end = _at_beginning(servers, place)
    found: list[tuple[int, bytes]] = []

    def next_records() -> list[tuple[int, bytes]]:
        batches = consumer.poll(timeout_ms=1000).values()
        return [(record.offset, record.value) for batch in batches for record in batch]

    while consumer.position(place) < end:
        found += await_answer(
            next_records,
            lambda records: bool(records) or consumer.position(place) >= end,  # not a record: a transaction's marker
            f"more of {topic}-{partition} than {len(found)} records, up to offset {end}",
            READS,
        )
    consumer.close()
    return found


def _at_beginning(servers: str, place: TopicPartition) -> tuple[KafkaConsumer, int]:
    """Returns a consumer at the log's start, and the log's end. kafka-python 3.0.12 with outdated metadata asks a
    former leader until its timeout, without refreshing them; then a new consumer is made.
    """
    for _ in range(_CONSUMERS):
        consumer = KafkaConsumer(bootstrap_servers=servers)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        with suppress(KafkaTimeoutError):
            return consumer, consumer.end_offsets([place])[place]
        consumer.close()
    raise AssertionError(f"{_CONSUMERS} consumers were not told where {place} ends")
