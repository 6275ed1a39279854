"""Label texts of partitions, made once a scrape."""

from ...base.topic_partition import TopicPartition
from .labels import labels

__all__ = ["PartitionLabels"]


class PartitionLabels(dict[TopicPartition, str]):
    """The text ``{topic="a",partition="3"}`` by partition, made when first wanted. Labels ``before`` come first."""

    def __init__(self, **before: str) -> None:
        super().__init__()
        self._before = before

    def __missing__(self, topic_partition: TopicPartition) -> str:
        topic, partition = topic_partition
        text = self[topic_partition] = labels(**self._before, topic=topic, partition=partition)
        return text
