"""What goes wrong in a run: which faults, when, where, and for how long, all from one seed.

Each is undone after a while; at the end everything is. Per fault it is counted how often it was brought about ("fired")
and how often something noticed it ("felt"): a fault that is never felt proves nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from random import Random

from simulation.disk import Loss
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_cluster import SimulatedCluster

__all__ = ["FAULTS", "Faults"]

Undo = Callable[[], None]

_LONGEST_S = 8.0


class Faults:
    """`run` brings `count` faults about, at any time of the next `duration_s`."""

    def __init__(self, cluster: SimulatedCluster, client_hosts: list[str], random: Random) -> None:
        self._cluster = cluster
        self._clients = client_hosts
        self._random = random
        self.fired: Counter[str] = Counter()
        self.felt: Counter[str] = Counter()

    async def run(self, names: list[str], count: int, duration_s: float, skipped: Collection[int]) -> None:
        times_s = sorted(self._random.uniform(0, duration_s) for _ in range(count))
        begun_s = self._cluster.loop.time()
        async with asyncio.TaskGroup() as group:
            for number, time_s in enumerate(times_s):
                await asyncio.sleep(max(0.0, begun_s + time_s - self._cluster.loop.time()))
                fault = _Fault(self._cluster, self._clients, Random(self._random.random()))
                name = fault.random.choice(names)
                if number not in skipped:
                    group.create_task(self._bring_about(fault, name, begun_s + duration_s))

    async def _bring_about(self, fault: "_Fault", name: str, latest_s: float) -> None:
        cluster = self._cluster
        before = self._signs()
        undo = FAULTS[name](fault)
        if undo is None:
            return
        self.fired[name] += 1
        cluster.note("fault", name)
        await asyncio.sleep(min(fault.random.uniform(0.05, _LONGEST_S), max(latest_s - cluster.loop.time(), 0.05)))
        if self._signs() != before:
            self.felt[name] += 1
        undo()
        cluster.note("fault", f"{name} is over")

    def _signs(self) -> tuple[int, ...]:
        """Whatever changes when somebody notices that something is wrong."""
        cluster = self._cluster
        return (
            cluster.tree.counts.total(),
            cluster.network.counts.total(),
            sum(broker.disk.counts.total() for broker in cluster.brokers.values()),
            sum(broker.starts for broker in cluster.brokers.values()),
            cluster.zookeeper.fired["session expired"],
        )


class _Fault:
    """What can go wrong: each of these gives the way back, or None when there is nobody to whom it could be done.

    Chance is each fault's own: one that is left out changes nothing about the others.
    """

    def __init__(self, cluster: SimulatedCluster, clients: list[str], random: Random) -> None:
        self._cluster = cluster
        self._clients = clients
        self.random = random

    def _some_broker(self) -> SimulatedBroker | None:
        running = self._cluster.running()
        return self.random.choice(running) if running else None

    def process_dies(self) -> Undo | None:
        return self._crash(Loss.NOTHING, without_power=False)

    def power_fails(self) -> Undo | None:
        return self._crash(self.random.choice((Loss.SOME, Loss.SOME, Loss.ALL)), without_power=True)

    def _crash(self, loss: Loss, *, without_power: bool) -> Undo | None:
        broker = self._some_broker()
        if broker is None:
            return None
        self._cluster.crash(broker, loss, without_power=without_power)
        return lambda: self._cluster.start(broker)

    def power_fails_everywhere(self) -> Undo | None:
        brokers = [broker for broker in self._cluster.brokers.values() if broker.is_up]
        for broker in brokers:
            self._cluster.crash(broker, self.random.choice(list(Loss)), without_power=True)

        def undo() -> None:
            for broker in brokers:
                self._cluster.start(broker)

        return undo

    def broker_is_stopped(self) -> Undo | None:
        broker = self._some_broker()
        if broker is None:
            return None
        stopping = self._cluster.loop.create_task(broker.stop())
        self._cluster.note(broker.name, "stop")
        return lambda: stopping.add_done_callback(lambda _: self._cluster.start(broker))

    def way_is_cut(self) -> Undo | None:
        """One way, between two machines."""
        source, destination = self._two_machines()
        self._cluster.network.cut(source, destination)
        return lambda: self._cluster.network.heal(source, destination)

    def link_is_cut(self) -> Undo | None:
        one, other = self._two_machines()
        return self._cut_both_ways([(one, other)])

    def broker_is_isolated(self) -> Undo | None:
        """From all machines but ZooKeeper's."""
        name = self.random.choice(list(self._cluster.brokers.values())).name
        return self._cut_both_ways([(name, other) for other in self._cluster.network.hosts if other != name])

    def _cut_both_ways(self, pairs: list[tuple[str, str]]) -> Undo:
        network = self._cluster.network
        ways = [way for one, other in pairs for way in ((one, other), (other, one))]
        for way in ways:
            network.cut(*way)

        def undo() -> None:
            for way in ways:
                network.heal(*way)

        return undo

    def way_is_slow(self) -> Undo | None:
        source, destination = self._two_machines()
        self._cluster.network.slow(source, destination, self.random.choice((0.02, 0.2, 1.0)))
        return lambda: self._cluster.network.slow(source, destination, 0.0)

    def connections_break(self) -> Undo | None:
        network = self._cluster.network
        connections = network.connections()
        if not connections:
            return None
        for connection in self.random.sample(connections, self.random.randint(1, len(connections))):
            network.reset(connection)
        return lambda: None

    def connections_are_refused(self) -> Undo | None:
        name = self.random.choice(list(self._cluster.brokers.values())).name
        self._cluster.network.refuse(name)
        for connection in self._cluster.network.connections():
            if connection.peer_host.name == name and self.random.random() < 0.5:
                self._cluster.network.reset(connection)
        return lambda: self._cluster.network.refuse(name, refuses=False)

    def disk_is_slow(self) -> Undo | None:
        broker = self.random.choice(list(self._cluster.brokers.values()))
        broker.disk.slow_s = self.random.choice((0.005, 0.05, 0.5))

        def undo() -> None:
            broker.disk.slow_s = 0.0

        return undo

    def disk_is_full(self) -> Undo | None:
        broker = self.random.choice(list(self._cluster.brokers.values()))
        broker.disk.is_full = True

        def undo() -> None:
            broker.disk.is_full = False

        return undo

    def disk_fails(self) -> Undo | None:
        """Whatever is written to it: its broker ends, and is started again when it works."""
        broker = self._some_broker()
        if broker is None:
            return None
        broker.disk.failing = "/disk"

        def undo() -> None:
            broker.disk.failing = None
            self._cluster.start(broker)

        return undo

    def zookeeper_is_cut_off(self) -> Undo | None:
        """From one broker: silently, or so that the broker knows; it may last longer than the session does."""
        name = self.random.choice(list(self._cluster.brokers.values())).name
        zookeeper = self._cluster.zookeeper
        zookeeper.cut(name, silent=self.random.random() < 0.5)
        return lambda: zookeeper.heal(name)

    def zookeeper_connection_breaks(self) -> Undo | None:
        name = self.random.choice(list(self._cluster.brokers.values())).name
        self._cluster.zookeeper.drop_connection(name)
        return lambda: None

    def zookeeper_stops(self) -> Undo | None:
        self._cluster.zookeeper.stop()
        return self._cluster.zookeeper.start

    def clock_jumps(self) -> Undo | None:
        broker = self.random.choice(list(self._cluster.brokers.values()))
        broker.clock_ahead_ms += self.random.choice((-60_000, -1_000, 1_000, 60_000))

        def undo() -> None:
            broker.clock_ahead_ms = 0

        return undo

    def _two_machines(self) -> tuple[str, str]:
        brokers = [broker.name for broker in self._cluster.brokers.values()]
        one = self.random.choice(brokers)
        other = self.random.choice([name for name in brokers * 2 + self._clients if name != one])
        return (one, other) if self.random.random() < 0.5 else (other, one)


FAULTS: dict[str, Callable[[_Fault], Undo | None]] = {
    "process dies": _Fault.process_dies,
    "power fails": _Fault.power_fails,
    "power fails everywhere": _Fault.power_fails_everywhere,
    "broker is stopped": _Fault.broker_is_stopped,
    "way is cut": _Fault.way_is_cut,
    "link is cut": _Fault.link_is_cut,
    "broker is isolated": _Fault.broker_is_isolated,
    "way is slow": _Fault.way_is_slow,
    "connections break": _Fault.connections_break,
    "connections are refused": _Fault.connections_are_refused,
    "disk is slow": _Fault.disk_is_slow,
    "disk is full": _Fault.disk_is_full,
    "disk fails": _Fault.disk_fails,
    "zookeeper is cut off": _Fault.zookeeper_is_cut_off,
    "zookeeper's connection breaks": _Fault.zookeeper_connection_breaks,
    "zookeeper stops": _Fault.zookeeper_stops,
    "clock jumps": _Fault.clock_jumps,
}
