"""Reading back what a partition holds, by a stock consumer."""

from kafka import KafkaConsumer, TopicPartition

__all__ = ["read_all"]


def read_all(servers: str, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Offsets and values from the log's beginning to its end."""
    consumer = KafkaConsumer(bootstrap_servers=servers)
    place = TopicPartition(topic, partition)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    found: list[tuple[int, bytes]] = []
    while consumer.position(place) < end:
        for batch in consumer.poll(timeout_ms=1000).values():
            found.extend((record.offset, record.value) for record in batch)
    consumer.close()
    return found
