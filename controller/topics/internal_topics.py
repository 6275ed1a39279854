"""The settings with which the internal topics of coordinators are created."""

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ...config.config import Config
from .topic_admin import NewTopic

__all__ = ["auto_created_topic"]


def auto_created_topic(name: str, config: Config) -> NewTopic:
    """The topic to create when ``name`` is missing: internal topics with their own settings, others with the broker's
    defaults."""
    match name:
        case "__consumer_offsets":
            return _consumer_offsets(config)
        case "__transaction_state":
            return _transaction_state(config)
        case "__share_group_state":
            return _share_group_state(config)
        case _:
            return NewTopic(name)


def _consumer_offsets(config: Config) -> NewTopic:
    return NewTopic(
        CONSUMER_OFFSETS_TOPIC,
        partition_count=config.int("offsets.topic.num.partitions"),
        replication_factor=config.int("offsets.topic.replication.factor"),
        settings={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.int("offsets.topic.segment.bytes")),
        },
    )


def _transaction_state(config: Config) -> NewTopic:
    return NewTopic(
        TRANSACTION_STATE_TOPIC,
        partition_count=config.int("transaction.state.log.num.partitions"),
        replication_factor=config.int("transaction.state.log.replication.factor"),
        settings={
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(config.int("transaction.state.log.min.isr")),
            "segment.bytes": str(config.int("transaction.state.log.segment.bytes")),
        },
    )


def _share_group_state(config: Config) -> NewTopic:
    """The share coordinator deletes old records itself."""
    return NewTopic(
        SHARE_GROUP_STATE_TOPIC,
        partition_count=config.int("share.coordinator.state.topic.num.partitions"),
        replication_factor=config.int("share.coordinator.state.topic.replication.factor"),
        settings={
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(config.int("share.coordinator.state.topic.min.isr")),
            "retention.ms": "-1",
            "segment.bytes": str(config.int("share.coordinator.state.topic.segment.bytes")),
        },
    )
