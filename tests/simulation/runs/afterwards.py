"""Checks that each partition of a healed cluster accepts a record, with acks=all and by sequence, and serves it."""

import asyncio
from collections.abc import Sequence

from simulation.checkers.history import IN_SEQUENCE, Guarantee, Outcome, Place, Sent, ViolationError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer import Consumer, Reading
from simulation.clients.producer import Lane, ProducerIds
from simulation.machines.simulated_cluster import SimulatedCluster

__all__ = ["GUARANTEES", "work_again"]

GUARANTEES = (Guarantee.ALL, Guarantee.ONCE)
_IDS_S = 15.0
_READ_S = 30.0


async def work_again(
    cluster: SimulatedCluster, places: list[Place], guarantees: Sequence[Guarantee] = GUARANTEES
) -> None:
    """Produce to and read from each partition again, with each guarantee. Raises ViolationError. The records join the
    history and must be kept.
    """
    sent: list[Sent] = []
    for number, guarantee in enumerate(guarantees):
        client = cluster.client(f"afterwards{number}")
        sent += await cluster.spawn(client.name, _produce(client, guarantee, places))
    for each in sent:
        if each.outcome is not Outcome.ACKNOWLEDGED:
            raise ViolationError(
                f"{each.place}: after all is healed, {each.values[0].decode()} ({each.guarantee.value}) is "
                f"{each.outcome.value}"
            )
    await _read(cluster, sent)


async def _produce(client: ClusterClient, guarantee: Guarantee, places: list[Place]) -> list[Sent]:
    """Produce a record to each partition."""
    await client.refresh(*dict.fromkeys(topic for topic, _ in places))
    ids = ProducerIds(client)
    deadline_s = client.loop.time() + _IDS_S
    while guarantee in IN_SEQUENCE and not await ids.learn(places[0][0]):
        if client.loop.time() > deadline_s:
            raise ViolationError("after all is healed, nobody gives out a producer id")
    return await asyncio.gather(*(Lane(client, guarantee, place, ids).send(1) for place in places))


async def _read(cluster: SimulatedCluster, sent: list[Sent]) -> None:
    starts: dict[Place, int] = {}
    for each in sent:
        starts[each.place] = min(each.base_offset, starts.get(each.place, each.base_offset))
    client = cluster.client("afterwards-reader")
    consumer = Consumer(client, list(starts), Reading(cluster.committed_end))
    consumer.positions.update(starts)
    reading = cluster.spawn(client.name, consumer.run())

    def is_passed(each: Sent) -> bool:
        return consumer.positions[each.place] > each.last_offset

    await cluster.until(lambda: all(map(is_passed, sent)), _READ_S)
    consumer.stop()
    await reading
    for each in sent:
        read = cluster.history.read.get(each.place, {}).get(each.base_offset)
        if not is_passed(each) or read is None or read.value != each.values[0]:
            raise cluster.violation or ViolationError(
                f"{each.place}: after all is healed, {each.values[0].decode()} was acknowledged at offset "
                f"{each.base_offset}, and is not returned to readers there"
            )
