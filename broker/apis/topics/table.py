"""The APIs that create, delete and describe topics, with their handlers."""

from collections.abc import Mapping

from ....base.topic_partition import TopicPartition
from ....config.config_entries import topic_entries
from ....protocol.apis import ApiKey
from ...requests.between_brokers import listeners_between_brokers
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from .create_partitions import CreatePartitions
from .create_topics import CreateTopics
from .delete_topics import DeleteTopics
from .describe_topic_partitions import DescribeTopicPartitions
from .metadata import Metadata

__all__ = ["topic_apis"]

_SETTLES_WITHIN_MS = 100


def topic_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    config, cache, metadata, waiters = parts.config, parts.cache, parts.metadata, parts.waiters
    create_missing = metadata.auto_creation.create if config.boolean("auto.create.topics.enable") else None
    dynamic = parts.settings.dynamic

    def is_election_over(broker_id: int, partition: TopicPartition) -> bool:
        """Whether there is nothing to wait for after the broker was elected. This broker then opens the log, which may
        fail; other brokers are not asked."""
        if broker_id != metadata.identity.broker_id:
            return True
        return parts.partitions.is_leader(partition) or parts.orders.has_refused(partition)

    return {
        ApiKey.METADATA: Metadata(
            cache, parts.addresses, metadata.identity.cluster_id, create_missing, parts.throttling
        ),
        ApiKey.CREATE_TOPICS: CreateTopics(
            metadata.topics,
            lambda: metadata.controller.is_active,
            cache,
            waiters,
            lambda topic: topic_entries(dynamic.config, topic),
            is_election_over,
            parts.throttling,
            listeners_between_brokers(parts.config) if parts.is_in_cluster else (),
        ),
        ApiKey.DELETE_TOPICS: DeleteTopics(
            metadata.topics,
            metadata.controller,
            cache,
            waiters,
            lambda: config.boolean("delete.topic.enable"),
            parts.throttling,
            settles_within_ms=_SETTLES_WITHIN_MS if parts.is_in_cluster else None,
        ),
        ApiKey.CREATE_PARTITIONS: CreatePartitions(
            metadata.growth, metadata.controller, cache, waiters, parts.throttling
        ),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: DescribeTopicPartitions(
            cache, config.int("max.request.partition.size.limit")
        ),
    }
