"""Waits until a cluster can serve topics that were just created."""

from __future__ import annotations

from ..protocol.errors import ErrorCode, error_for
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from .admin_cluster import AdminCluster

__all__ = ["wait_for_leaders"]


def wait_for_leaders(cluster: AdminCluster, names: list[str]) -> None:
    """Wait until every broker knows a leader of each partition. Raises KafkaError, if that takes too long."""
    topics = [MetadataRequestTopic(name=name) for name in names]

    def look() -> None:
        for broker in cluster.metadata().brokers:
            request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
            for topic in cluster.ask_broker(broker.node_id, request).topics:
                is_led = topic.partitions and all(each.leader_id >= 0 for each in topic.partitions)
                if topic.error_code or not is_led:
                    text = f"topic {topic.name} was created, but broker {broker.node_id} knows no leader for it yet"
                    raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, text)

    cluster.retried(look)
