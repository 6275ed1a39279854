"""Creates and changes topics of a real broker."""

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

__all__ = ["admin_client", "create_topic", "delete_records", "grow_topic"]


def admin_client(servers: str) -> AdminClient:
    """Returns an admin client with a short metadata refresh: a new Kafka may not know its controller, and librdkafka
    would retry only at the next refresh (five minutes by default) but give up after one.
    """
    return AdminClient({"bootstrap.servers": servers, "topic.metadata.refresh.interval.ms": 500})


def create_topic(servers: str, topic: str, partitions: int, configs: dict[str, str] | None = None) -> None:
    admin = admin_client(servers)
    admin.create_topics([NewTopic(topic, partitions, 1, config=configs or {})])[topic].result()


def grow_topic(servers: str, topic: str, partitions: int) -> None:
    """Adds partitions; `partitions` is the new total."""
    admin = admin_client(servers)
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()


def delete_records(servers: str, topic: str, partition: int, before: int) -> None:
    """Deletes the records below offset `before`."""
    admin = admin_client(servers)
    (deletion,) = admin.delete_records([TopicPartition(topic, partition, before)]).values()
    deletion.result()
