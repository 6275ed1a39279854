"""Assigns the replicas of new partitions to brokers (Kafka's AdminUtils). Pure; randomness is passed in.

The first replicas go round-robin over the brokers from a random start. The other replicas follow at a distance that
starts at random and grows by one each round, so that the followers of one broker's partitions spread over all others.
If brokers have racks, the brokers are first ordered so that racks alternate; a broker whose rack already has a replica
is skipped while another rack has none.
"""

from collections.abc import Callable, Sequence

from ..base.frozen import frozen
from .errors import InvalidPartitionsError, InvalidReplicationFactorError

__all__ = ["BrokerRack", "IncompleteRacksError", "assign_replicas", "rack_alternated"]

RandomBelow = Callable[[int], int]
"""A random number from 0 up to, not including, its argument: ``random.Random(seed).randrange``."""


class IncompleteRacksError(Exception):
    """Some brokers have a rack and some have none."""


@frozen
class BrokerRack:
    broker_id: int
    rack: str | None = None


def assign_replicas(
    brokers: Sequence[BrokerRack],
    partition_count: int,
    replication_factor: int,
    random_below: RandomBelow,
    *,
    start_index: int | None = None,
    first_partition: int = 0,
) -> dict[int, tuple[int, ...]]:
    """Partition → broker ids, the future leader first, for ``partition_count`` partitions from ``first_partition`` on.

    ``start_index`` replaces both random numbers; Kafka passes it when a topic grows, to continue the pattern.
    Raises InvalidPartitionsError, InvalidReplicationFactorError, IncompleteRacksError.
    """
    if partition_count <= 0:
        raise InvalidPartitionsError("Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise InvalidReplicationFactorError("Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactorError(
            f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}."
        )
    racks = {broker.broker_id: broker.rack for broker in brokers if broker.rack is not None}
    if racks and len(racks) < len(brokers):
        raise IncompleteRacksError("Not all brokers have rack information for replica rack aware assignment.")
    order = rack_alternated(racks) if racks else [broker.broker_id for broker in brokers]

    start = random_below(len(order)) if start_index is None else start_index
    shift = random_below(len(order)) if start_index is None else start_index
    assignment: dict[int, tuple[int, ...]] = {}
    for partition in range(first_partition, first_partition + partition_count):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        first = (partition + start) % len(order)
        if racks:
            assignment[partition] = _replicas_over_racks(order, racks, first, shift, replication_factor)
        else:
            followers = (order[_follower(first, shift, i, len(order))] for i in range(replication_factor - 1))
            assignment[partition] = (order[first], *followers)
    return assignment


def rack_alternated(racks: dict[int, str]) -> list[int]:
    """The brokers of ``racks`` (broker → rack), ordered so that neighbours are in different racks where possible."""
    by_rack: dict[str, list[int]] = {}
    for broker_id in sorted(racks):
        by_rack.setdefault(racks[broker_id], []).append(broker_id)
    queues = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, queues), default=0)
    return [brokers[turn] for turn in range(longest) for brokers in queues if turn < len(brokers)]


def _replicas_over_racks(
    order: list[int], racks: dict[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    rack_count = len(set(racks.values()))
    replicas = [order[first]]
    used_racks = {racks[order[first]]}
    step = 0
    while len(replicas) < replication_factor:
        broker_id = order[_follower(first, shift * rack_count, step, len(order))]
        step += 1
        rack_is_free = racks[broker_id] not in used_racks or len(used_racks) == rack_count
        if rack_is_free and broker_id not in replicas:
            replicas.append(broker_id)
            used_racks.add(racks[broker_id])
    return tuple(replicas)


def _follower(first: int, shift: int, follower: int, broker_count: int) -> int:
    distance = 1 + (shift + follower) % (broker_count - 1)
    return (first + distance) % broker_count
