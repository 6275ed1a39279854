"""The faults of a run: their kind, time, machines and duration, all chosen by one seed.

All faults have ended at the end of the run. Three counts are kept for each kind: "fired" (the fault was started), "met"
(an operation ran into it, such as a blocked message or a write to a full disk), and "changed" (something then changed
for the machines concerned, see `effects.py`). A fault that is never met proves nothing. The fault "nothing" does
nothing: its changes are coincidences and show how many of the others' changes are.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TypeVar

from simulation.machines.cluster_shape import DISK
from simulation.machines.disk import Loss
from simulation.machines.network import Way
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.machines.simulated_cluster import SimulatedCluster

__all__ = ["FAULTS", "Faults"]

_LONGEST_S = 8.0
_AFTERMATH_S = 3.0
"""A fault may have effects for this long after its end, because clients wait this long for a response."""

Key = TypeVar("Key")


@dataclass
class Brought:
    """An active fault. ``undo`` ends it, ``meetings`` returns how often it was met since its start, ``hosts`` are
    the machines concerned.
    """

    undo: Callable[[], None]
    meetings: Callable[[], int]
    hosts: Sequence[str]


class Faults:
    """Causes faults: `run` starts `count` faults at random times of the next `duration_s`."""

    def __init__(self, cluster: SimulatedCluster, client_hosts: list[str], random: Random) -> None:
        self._cluster = cluster
        self._clients = client_hosts
        self._random = random
        self.fired: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        self._unjudged: dict[int, tuple[str, Sequence[str], Counter[str]]] = {}

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
        effects_before = cluster.effects.snapshot()
        brought = FAULTS[name](fault)
        if brought is None:
            return
        self.fired[name] += 1
        cluster.note("fault", f"{name}: {', '.join(brought.hosts)}")
        await asyncio.sleep(min(fault.random.uniform(0.05, _LONGEST_S), max(latest_s - cluster.loop.time(), 0.05)))
        if brought.meetings():
            self.met[name] += 1
            number = self.met.total()
            self._unjudged[number] = (name, brought.hosts, effects_before)
            cluster.loop.call_later(_AFTERMATH_S, self._judge, number)
        brought.undo()
        cluster.note("fault", f"{name} is over")

    def judge_all(self) -> None:
        """The run is over: faults without effects until now have none."""
        for number in list(self._unjudged):
            self._judge(number)

    def _judge(self, number: int) -> None:
        if number in self._unjudged:
            name, hosts, effects_before = self._unjudged.pop(number)
            self.changed[name] += self._cluster.effects.have_changed(effects_before, hosts)


class _Fault:
    """One fault. Each public method starts a kind of fault, or returns None when no machine qualifies.

    Each fault has its own random numbers, so leaving one out does not change the others.
    """

    def __init__(self, cluster: SimulatedCluster, clients: list[str], random: Random) -> None:
        self._cluster = cluster
        self._clients = clients
        self.random = random

    def _some_broker(self) -> SimulatedBroker | None:
        running = self._cluster.running()
        return self.random.choice(running) if running else None

    def _any_broker(self) -> SimulatedBroker:
        """Any broker, running or not."""
        return self.random.choice(list(self._cluster.brokers.values()))

    def nothing(self) -> Brought:
        return Brought(lambda: None, _always, [self._any_broker().name])

    # --- brokers

    def process_dies(self) -> Brought | None:
        return self._crash(Loss.NOTHING, without_power=False)

    def power_fails(self) -> Brought | None:
        return self._crash(self.random.choice((Loss.SOME, Loss.SOME, Loss.ALL)), without_power=True)

    def _crash(self, loss: Loss, *, without_power: bool) -> Brought | None:
        broker = self._some_broker()
        if broker is None:
            return None
        self._cluster.crash(broker, loss, without_power=without_power)
        return Brought(lambda: self._cluster.start(broker), _always, [broker.name])

    def power_fails_everywhere(self) -> Brought | None:
        brokers = [broker for broker in self._cluster.brokers.values() if broker.is_up]
        if not brokers:
            return None
        for broker in brokers:
            self._cluster.crash(broker, self.random.choice(list(Loss)), without_power=True)

        def undo() -> None:
            for broker in brokers:
                self._cluster.start(broker)

        return Brought(undo, _always, [broker.name for broker in brokers])

    def broker_is_stopped(self) -> Brought | None:
        broker = self._some_broker()
        if broker is None:
            return None
        stopping = self._cluster.loop.create_task(broker.stop())
        self._cluster.note(broker.name, "stop")
        undo = partial(stopping.add_done_callback, lambda _: self._cluster.start(broker))
        return Brought(undo, _always, [broker.name])

    # --- the network

    def way_is_cut(self) -> Brought:
        """Cut one direction between two machines."""
        return self._cut([self._two_machines()])

    def link_is_cut(self) -> Brought:
        one, other = self._two_machines()
        return self._cut([(one, other), (other, one)])

    def broker_is_isolated(self) -> Brought:
        """Cut a broker off from all machines except ZooKeeper."""
        name = self._any_broker().name
        others = [other for other in self._cluster.network.hosts if other != name]
        ways = [way for other in others for way in ((name, other), (other, name))]
        return replace(self._cut(ways), hosts=[name])

    def _cut(self, ways: list[Way]) -> Brought:
        network = self._cluster.network
        for way in ways:
            network.cut(*way)

        def undo() -> None:
            for way in ways:
                network.heal(*way)

        return Brought(undo, _since_now(network.stalls, *ways), list(ways[0]))

    def way_is_slow(self) -> Brought:
        network, way = self._cluster.network, self._two_machines()
        network.slow(*way, self.random.choice((0.02, 0.2, 1.0)))
        return Brought(partial(network.slow, *way, 0.0), _since_now(network.delays, way), way)

    def connections_break(self) -> Brought | None:
        network = self._cluster.network
        connections = network.connections()
        if not connections:
            return None
        broken = self.random.sample(connections, self.random.randint(1, len(connections)))
        hosts = dict.fromkeys(host for each in broken for host in network.ends_of(each))
        for connection in broken:
            network.reset(connection)
        return Brought(lambda: None, _always, list(hosts))

    def connections_are_refused(self) -> Brought:
        network, name = self._cluster.network, self._any_broker().name
        network.refuse(name)
        for connection in network.connections():
            if connection.peer_host.name == name and self.random.random() < 0.5:
                network.reset(connection)
        return Brought(partial(network.refuse, name, refuses=False), _since_now(network.refusals, name), [name])

    def _two_machines(self) -> Way:
        brokers = [broker.name for broker in self._cluster.brokers.values()]
        one = self.random.choice(brokers)
        other = self.random.choice([name for name in brokers * 2 + self._clients if name != one])
        return (one, other) if self.random.random() < 0.5 else (other, one)

    # --- disks

    def disk_is_slow(self) -> Brought:
        broker = self._any_broker()
        broker.disk.slow_s = self.random.choice((0.005, 0.05, 0.5))
        return Brought(broker.make_disk_fast, _since_now(broker.disk.counts, "slow"), [broker.name])

    def disk_is_full(self) -> Brought:
        broker = self._any_broker()
        broker.disk.is_full = True

        def undo() -> None:
            broker.disk.is_full = False

        return Brought(undo, _since_now(broker.disk.counts, "full"), [broker.name])

    def disk_fails(self) -> Brought | None:
        """Make all writes to a broker's disk fail: the broker ends, and is started again when the disk works."""
        broker = self._some_broker()
        return None if broker is None else self._fail(broker, DISK)

    def log_directory_fails(self) -> Brought | None:
        """Make one of several log directories fail: the broker continues with the others until it is restarted."""
        broker = self._some_broker()
        if broker is None or len(broker.config.log_dirs) < 2:
            return None
        path = self.random.choice(broker.config.log_dirs)
        broker.failed_directories[path] = None
        return self._fail(broker, path)

    def _fail(self, broker: SimulatedBroker, path: str) -> Brought:
        broker.disk.failing = path

        def undo() -> None:
            broker.disk.failing = None
            if broker.has_lost_directories():
                self._cluster.crash(broker, Loss.NOTHING, without_power=False)
            self._cluster.start(broker)

        return Brought(undo, _since_now(broker.disk.counts, "failed"), [broker.name])

    # --- ZooKeeper

    def zookeeper_is_cut_off(self) -> Brought:
        """Cut one broker off from ZooKeeper, silently or not; the cut may outlast the session."""
        name, zookeeper = self._any_broker().name, self._cluster.zookeeper
        meetings = zookeeper.connection_count(name)
        zookeeper.cut(name, silent=self.random.random() < 0.5)
        return Brought(partial(zookeeper.heal, name), lambda: meetings, [name])

    def zookeeper_connection_breaks(self) -> Brought:
        name, zookeeper = self._any_broker().name, self._cluster.zookeeper
        meetings = zookeeper.connection_count(name)
        zookeeper.drop_connection(name)
        return Brought(lambda: None, lambda: meetings, [name])

    def zookeeper_stops(self) -> Brought:
        zookeeper, hosts = self._cluster.zookeeper, [broker.name for broker in self._cluster.brokers.values()]
        meetings = sum(map(zookeeper.connection_count, hosts))
        zookeeper.stop()
        return Brought(zookeeper.start, lambda: meetings, hosts)

    # --- clocks

    def clock_jumps(self) -> Brought:
        broker = self._any_broker()
        broker.set_clock(broker.clock_ahead_ms + self.random.choice((-60_000, -1_000, 1_000, 60_000)))
        before = broker.clock_reads

        return Brought(partial(broker.set_clock, 0), lambda: broker.clock_reads - before, [broker.name])


def _always() -> int:
    """Counts the fault as met once, because its machine cannot miss it."""
    return 1


def _since_now(counter: Counter[Key], *keys: Key) -> Callable[[], int]:
    """Counts events under these keys from now on."""
    before = sum(counter[key] for key in keys)
    return lambda: sum(counter[key] for key in keys) - before


FAULTS: dict[str, Callable[[_Fault], Brought | None]] = {
    "nothing": _Fault.nothing,
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
    "log directory fails": _Fault.log_directory_fails,
    "zookeeper is cut off": _Fault.zookeeper_is_cut_off,
    "zookeeper's connection breaks": _Fault.zookeeper_connection_breaks,
    "zookeeper stops": _Fault.zookeeper_stops,
    "clock jumps": _Fault.clock_jumps,
}
