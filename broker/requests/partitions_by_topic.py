"""What was found for partitions, in the shape of most answers: topic by topic, each once."""

from collections.abc import Mapping
from typing import TypeVar

from ...base.topic_partition import TopicPartition

__all__ = ["partitions_by_topic"]

T = TypeVar("T")


def partitions_by_topic(results: Mapping[TopicPartition, T]) -> dict[str, list[tuple[int, T]]]:
    """Topic → (partition index, what was found for it), in the order in which they came."""
    topics: dict[str, list[tuple[int, T]]] = {}
    for (topic, index), result in results.items():
        topics.setdefault(topic, []).append((index, result))
    return topics
