"""Finds transaction coordinators in a mixed cluster: only Apache Kafka's brokers can be one.

The leader of a transactional id's partition of ``__transaction_state`` is its coordinator. If another broker leads it,
clients are sent there (a pybroker refuses them). If this broker leads it, clients are refused at once.
"""

from collections.abc import Awaitable, Callable

from ..coordinator.coordinator_directory import CoordinatorDirectory
from ..coordinator.coordinator_topic import CoordinatorTopic
from ..coordinator.partitioning import partition_for_key

__all__ = ["coordinators_elsewhere"]


def coordinators_elsewhere(
    broker_id: int, topic: CoordinatorTopic, configured_count: int, meets_kafka: Callable[[], Awaitable[bool | None]]
) -> CoordinatorDirectory:
    """``topic``: ``__transaction_state``. ``meets_kafka``: whether the cluster has brokers of Kafka; None: unknown.

    A missing topic is created only when one of Kafka's brokers can serve transactions. When that is unknown, the client
    is told to retry: a broker that has just started may know neither the topic nor the other brokers yet.
    """

    async def ensure_topic() -> bool:
        if not topic.exists:
            is_mixed = await meets_kafka()
            if is_mixed is not True:
                return is_mixed is None or topic.exists
        return await topic.ensure_topic()

    return CoordinatorDirectory(
        lambda key: partition_for_key(key, topic.partition_count or configured_count),
        topic.node_of,
        ensure_topic,
        lambda node_id: node_id != broker_id,
    )
