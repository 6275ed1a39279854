"""The partitions of the topic of a console, which brokers may create on demand."""

import time

from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

__all__ = ["partitions_on_demand"]


def partitions_on_demand(cluster: AdminCluster, topic: str, wait_ms: int | None) -> list[int]:
    """The numbers of the topic's partitions, sorted; none after so many ms. None: wait on and on. Raises KafkaError."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
    began = time.monotonic()
    while True:
        (found,) = cluster.retried(lambda: cluster.ask_any(request)).topics
        if found.error_code in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE) and found.partitions:
            return sorted(each.partition_index for each in found.partitions)
        error = error_for(found.error_code, f"topic {topic}: {error_for(found.error_code)}")
        if found.error_code and not error.retriable:
            raise error
        if wait_ms is not None and time.monotonic() - began >= wait_ms / 1000:
            return []
        time.sleep(cluster.settings.retry_backoff_ms / 1000)
