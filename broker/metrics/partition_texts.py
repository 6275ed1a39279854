"""Labels of partitions as text. The text of a topic is made once."""

from ...base.topic_partition import TopicPartition
from .labels import labels

__all__ = ["PartitionTexts"]


class PartitionTexts:
    """For one walk over partitions."""

    def __init__(self) -> None:
        self._topics: dict[str, str] = {}

    def of(self, topic_partition: TopicPartition) -> str:
        """The text ``topic="a",partition="3"}``, which a brace or other labels come before."""
        topic, partition = topic_partition
        head = self._topics.get(topic)
        if head is None:
            head = self._topics[topic] = labels(topic=topic)[1:-1]
        return f'{head},partition="{partition}"}}'
