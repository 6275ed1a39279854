"""Reading back what a partition holds, by a stock consumer."""

from kafka import KafkaConsumer, TopicPartition
from support.patience import READS, await_answer

__all__ = ["read_all"]


def read_all(servers: str, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Offsets and values from the log's beginning to its end."""
    consumer = KafkaConsumer(bootstrap_servers=servers)
    place = TopicPartition(topic, partition)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
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
