"""Reading back what a partition holds, by a stock consumer."""

from contextlib import suppress

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaTimeoutError
from support.time.patience import READS, await_answer

__all__ = ["read_all"]

_CONSUMERS = 3


def read_all(servers: str, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Offsets and values from the log's beginning to its end."""
    place = TopicPartition(topic, partition)
    consumer, end = _at_beginning(servers, place)
    found: list[tuple[int, bytes]] = []

    def next_records() -> list[tuple[int, bytes]]:
        batches = consumer.poll(timeout_ms=1000).values()
        return [(record.offset, record.value) for batch in batches for record in batch]

    while consumer.position(place) < end:
        found += await_answer(
            next_records,
            lambda records: bool(records) or consumer.position(place) >= end,  # of no record: a transaction's marker
            f"more of {topic}-{partition} than {len(found)} records, up to offset {end}",
            READS,
        )
    consumer.close()
    return found


def _at_beginning(servers: str, place: TopicPartition) -> tuple[KafkaConsumer, int]:
    """A consumer, and where the log ends. One whose metadata names a leader that has just ceased to be one asks that
    broker for the end until its time is up, and never who leads now (kafka-python 3.0.12): then another is taken."""
    for _ in range(_CONSUMERS):
        consumer = KafkaConsumer(bootstrap_servers=servers)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        with suppress(KafkaTimeoutError):
            return consumer, consumer.end_offsets([place])[place]
        consumer.close()
    raise AssertionError(f"{_CONSUMERS} consumers were not told where {place} ends")
