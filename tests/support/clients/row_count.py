"""How many records are in a topic, as everybody sees them."""

from __future__ import annotations

from collections.abc import Callable

from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.client.target_cluster import TargetCluster
from pybroker.pipeline.options.kafka_settings import reader_settings

__all__ = ["RowCount"]


class RowCount:
    """Of a topic with so many partitions. A broker that is not there at the moment is waited for."""

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
        """Than there are now."""
        return self.reached(self.now() + rows)
