"""Coordinators of transactions in a cluster of which some brokers are Kafka's: those have them, pybroker does not yet.

The leader of a transactional id's partition of ``__transaction_state`` is its coordinator. Where that is another
broker, clients are sent there, and refused there if it is a pybroker; where it is this one, they are refused at once.
"""

from collections.abc import Awaitable, Callable

from ..coordinator.coordinator_directory import CoordinatorDirectory
from ..coordinator.group.partitioning import partition_for_key
from ..coordinator.offsets_topic import CoordinatorPlaces

__all__ = ["coordinators_elsewhere"]


def coordinators_elsewhere(
    broker_id: int, places: CoordinatorPlaces, configured_count: int, meets_kafka: Callable[[], Awaitable[bool | None]]
) -> CoordinatorDirectory:
    """``places`` are those of ``__transaction_state``. Where it is missing, and ``meets_kafka`` finds no broker of
    Kafka, nobody is there to serve transactions: then it is not made. Where it finds out nothing (None), who asks is to
    ask again: a broker that has just started may know neither the topic nor the others yet."""

    async def ensure_topic() -> bool:
        if not places.exists:
            is_mixed = await meets_kafka()
            if is_mixed is not True:
                return is_mixed is None or places.exists
        return await places.ensure_topic()

    return CoordinatorDirectory(
        lambda key: partition_for_key(key, places.partition_count or configured_count),
        places.node_of,
        ensure_topic,
        lambda node_id: node_id != broker_id,
    )
