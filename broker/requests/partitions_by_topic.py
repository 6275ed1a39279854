"""Groups the results of partitions by topic, as most responses list them."""

from collections.abc import Mapping
from typing import TypeVar

from ...base.topic_partition import TopicPartition

__all__ = ["partitions_by_topic"]

T = TypeVar("T")


def partitions_by_topic(results: Mapping[TopicPartition, T]) -> dict[str, list[tuple[int, T]]]:
    """Topic → (partition index, result), in the order of ``results``."""
    topics: dict[str, list[tuple[int, T]]] = {}
    for (topic, index), result in results.items():
        topics.setdefault(topic, []).append((index, result))
    return topics
