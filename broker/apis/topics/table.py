"""The APIs that create, delete and describe topics, with their handlers."""

from collections.abc import Mapping

from ....base.topic_partition import TopicPartition
from ....config.config_entries import topic_entries
from ....protocol.apis import ApiKey
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

    def leads(broker_id: int, partition: TopicPartition) -> bool:
        """Whether the broker leads the partition. Other brokers do once they are elected; this broker only once it has
        the log."""
        return broker_id != metadata.identity.broker_id or parts.partitions.is_leader(partition)

    return {
        ApiKey.METADATA: Metadata(cache, parts.addresses, metadata.identity.cluster_id, create_missing),
        ApiKey.CREATE_TOPICS: CreateTopics(
            metadata.topics,
            lambda: metadata.controller.is_active,
            cache,
            waiters,
            lambda topic: topic_entries(dynamic.config, topic),
            leads,
        ),
        ApiKey.DELETE_TOPICS: DeleteTopics(
            metadata.topics,
            metadata.controller,
            cache,
            waiters,
            lambda: config.boolean("delete.topic.enable"),
            settles_within_ms=_SETTLES_WITHIN_MS if parts.is_in_cluster else None,
        ),
        ApiKey.CREATE_PARTITIONS: CreatePartitions(metadata.growth, metadata.controller, cache, waiters),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: DescribeTopicPartitions(
            cache, config.int("max.request.partition.size.limit")
        ),
    }
