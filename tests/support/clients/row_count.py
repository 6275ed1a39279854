"""Counts the records of a topic."""

from __future__ import annotations

from collections.abc import Callable

from pybroker.base.topic_partition import TopicPartition
from pybroker.client.target_cluster import TargetCluster
from pybroker.pipeline.options.kafka_settings import reader_settings

__all__ = ["RowCount"]


class RowCount:
    """The number of records of a topic; waits for unavailable brokers."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._cluster = TargetCluster(reader_settings({"bootstrap.servers": servers}))
        self._places = [TopicPartition(topic, number) for number in range(partitions)]

    def close(self) -> None:
        self._cluster.close()

    def now(self) -> int:
        return sum(self._cluster.high_watermark(place) for place in self._places)

    def reached(self, rows: int) -> Callable[[], bool]:
        return lambda: self.now() >= rows

    def more(self, rows: int) -> Callable[[], bool]:
        """Returns a condition: the topic has at least `rows` more records than now."""
        return self.reached(self.now() + rows)
