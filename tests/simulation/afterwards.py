"""Once all has healed: each partition takes a record, with acks=all and by sequence, and shows it to a reader."""

import asyncio

from simulation.consumer import Consumer, Reading
from simulation.history import Guarantee, Outcome, Place, Sent, ViolationError
from simulation.producer import Lane, ProducerIds
from simulation.simulated_cluster import SimulatedCluster

__all__ = ["work_again"]

_GUARANTEES = (Guarantee.ALL, Guarantee.ONCE)
_IDS_S = 15.0
_READ_S = 30.0


async def work_again(cluster: SimulatedCluster, places: list[Place]) -> None:
    """Raises ViolationError. What was sent is a part of the history, and is to be kept like all before."""
    host = "afterwards"
    client = cluster.client(host)
    await cluster.spawn(host, client.refresh(*dict.fromkeys(topic for topic, _ in places)))
    ids = ProducerIds(client)
    deadline_s = cluster.loop.time() + _IDS_S
    while not await cluster.spawn(host, ids.learn(places[0][0])):
        if cluster.loop.time() > deadline_s:
            raise ViolationError("after all is healed, nobody gives out a producer id")
    lanes = [Lane(client, guarantee, place, ids) for place in places for guarantee in _GUARANTEES]
    sent = await asyncio.gather(*(cluster.spawn(host, lane.send(1)) for lane in lanes))
    for each in sent:
        if each.outcome is not Outcome.ACKNOWLEDGED:
            raise ViolationError(
                f"{each.place}: after all is healed, {each.values[0].decode()} ({each.guarantee.value}) is "
                f"{each.outcome.value}"
            )
    await _read(cluster, host, sent)


async def _read(cluster: SimulatedCluster, host: str, sent: list[Sent]) -> None:
    starts: dict[Place, int] = {}
    for each in sent:
        starts[each.place] = min(each.base_offset, starts.get(each.place, each.base_offset))
    client = cluster.client(f"{host}-reader")
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
                f"{each.base_offset}, and is not shown to who reads there"
            )
