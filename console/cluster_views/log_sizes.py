"""Sizes of logs and log directories, as brokers tell principals that may describe the cluster."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.client import UnsupportedApiError
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest


@dataclass(slots=True)
class BrokerLogs:
    """The logs on one broker."""

    directories: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    lags: dict[TopicPartition, int] = field(default_factory=dict)
    places: dict[TopicPartition, str] = field(default_factory=dict)


async def logs_of_brokers(
    cluster: AsyncCluster, broker_ids: list[int], topic: str | None = None, partitions: int = 0
) -> dict[int, BrokerLogs]:
    """Logs by broker, of one topic or of all. A broker that refuses or does not answer is left out."""
    topics = None
    if topic is not None:
        topics = [DescribableLogDirTopic(topic=topic, partitions=list(range(partitions)))]
    request = DescribeLogDirsRequest(topics=topics)
    answers = await asyncio.gather(*(_ask(cluster, broker, request) for broker in broker_ids))
    return {broker: logs for broker, logs in zip(broker_ids, answers, strict=True) if logs is not None}


async def _ask(cluster: AsyncCluster, broker: int, request: DescribeLogDirsRequest) -> BrokerLogs | None:
    try:
        answer = await cluster.ask_broker(broker, request)
    except (KafkaError, OSError, UnsupportedApiError):
        return None
    if answer.error_code or not answer.results:
        return None
    logs = BrokerLogs()
    for result in answer.results:
        size = 0
        for topic in result.topics:
            for partition in topic.partitions:
                if partition.is_future_key:
                    continue
                at = TopicPartition(topic.name, partition.partition_index)
                logs.sizes[at] = partition.partition_size
                logs.lags[at] = partition.offset_lag
                logs.places[at] = result.log_dir
                size += partition.partition_size
        logs.directories.append(
            {
                "path": result.log_dir,
                "is_online": not result.error_code,
                "error": str(error_for(result.error_code)) if result.error_code else None,
                "partitions": sum(len(topic.partitions) for topic in result.topics),
                "size_bytes": size,
                "free_bytes": result.usable_bytes if result.usable_bytes >= 0 else None,
                "total_bytes": result.total_bytes if result.total_bytes >= 0 else None,
            }
        )
    return logs
