"""Faults at the seams of the transaction coordinator: between two steps of one transaction.

A seam is a method of the broker or of a client that begins or ends a step. When a broker comes to it, it may die there,
before any of its last bytes get out, or a little later; or it is cut off, or a partition moves. When a client comes to
it, its requests get stuck.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from pybroker.broker.coordinator.marker_writer import MarkerWriter
from pybroker.broker.coordinator.transaction.changes import Changes
from pybroker.broker.coordinator.transaction.marker_queue import MarkerQueue
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.broker.coordinator.transaction.transaction_log import TransactionLog
from simulation.clients.coordinator_moves import OFFSETS, Moves
from simulation.machines.disk import Loss
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.transactions.coordinator_link import CoordinatorLink
from simulation.transactions.transactional_batches import TransactionalBatches

__all__ = ["ACTIONS", "SEAMS", "SeamFaults", "SeamPlan"]

_LATEST_CROSSING = 30
_LATER_S = 0.004
_DOWN_S = (0.3, 5.0)
_STUCK_S = (1.0, 7.0)
_STATE = "__transaction_state"
_UNNOTICED_S = (0.05, 2.0)
"""The follower stays in the ISR for longer."""
ACTIONS = (
    "dies at once",
    "dies at once",
    "dies",
    "the partition moves",
    "is cut off",
    "loses a follower and dies",
)


class Seam(NamedTuple):
    owner: Any
    method: str
    is_before: bool
    """The fault comes before the method does its work."""


SEAMS = {
    "a picture is prepared": Seam(TransactionLog, "write", True),
    "a record is being appended": Seam(TransactionLog, "write", False),
    "a record is committed": Seam(Transaction, "complete", False),
    "a response follows": Seam(Changes, "_settled", False),
    "markers are queued": Seam(MarkerQueue, "want", False),
    "markers are sent": Seam(MarkerQueue, "drain", False),
    "a marker is written": Seam(MarkerWriter, "write", False),
    "a marker is committed": Seam(MarkerWriter, "_settle", True),
    "a marker is acknowledged": Seam(MarkerWriter, "_settle", False),
    "markers are answered": Seam(MarkerQueue, "answered", True),
    "the completion follows": Seam(Changes, "_complete", False),
    "the completion is committed": Seam(MarkerQueue, "completed", False),
    "a client asks a coordinator": Seam(CoordinatorLink, "ask_once", True),
    "a client sends a batch": Seam(TransactionalBatches, "_try", True),
}


@dataclass(frozen=True)
class SeamPlan:
    """Up to `count` faults at some of these seams, each with one of these actions."""

    count: int = 0
    seams: tuple[str, ...] = tuple(SEAMS)
    actions: tuple[str, ...] = ACTIONS


class SeamFaults:
    """Causes the faults of a plan."""

    def __init__(self, cluster: SimulatedCluster, moves: Moves, plan: SeamPlan, random: Random) -> None:
        self._cluster = cluster
        self._moves = moves
        self._random = random
        self._actions = plan.actions
        self._wanted: dict[str, set[int]] = {}
        """The numbers of the crossings with a fault, by seam."""
        for _ in range(plan.count):
            self._wanted.setdefault(random.choice(plan.seams), set()).add(random.randint(1, _LATEST_CROSSING))
        self._crossings: Counter[str] = Counter()

    def stop(self) -> None:
        """Cause no more faults."""
        self._wanted.clear()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Watch the seams."""
        with ExitStack() as stack:
            for name in self._wanted:
                seam = SEAMS[name]
                stack.enter_context(patch.object(seam.owner, seam.method, self._watched(name, seam)))
            yield

    def _watched(self, name: str, seam: Seam) -> Callable[..., Any]:
        method = getattr(seam.owner, seam.method)

        def watched(*arguments: Any, **named: Any) -> Any:
            if seam.is_before:
                self._reached(name)
            result = method(*arguments, **named)
            if not seam.is_before:
                self._reached(name)
            return result

        return watched

    def _reached(self, name: str) -> None:
        self._crossings[name] += 1
        if self._crossings[name] not in self._wanted.get(name, ()):
            return
        cluster, random = self._cluster, self._random
        host = cluster.current_host()
        brokers = [each.name for each in cluster.brokers.values()]
        if host not in brokers:  # a client, whose request will arrive late
            self._delay_requests(host, brokers if random.random() < 0.3 else [random.choice(brokers)])
            cluster.note("fault", f"{host}, where {name}")
            cluster.history.counts[f"seams: {name}"] += 1
            return
        action = random.choice(self._actions)
        cluster.note("fault", f"{host}, where {name}: {action}")
        cluster.history.counts[f"seams: {name}"] += 1
        loop = cluster.loop
        match action:
            case "dies at once":
                loop.call_soon(lambda: self._crash(host, without_power=True))
            case "dies":
                loop.call_later(random.uniform(0.0, _LATER_S), lambda: self._crash(host, without_power=False))
            case "the partition moves":
                topic = OFFSETS if random.random() < 0.2 else _STATE
                cluster.spawn(self._moves.name, self._moves.move_one(topic))
            case "loses a follower and dies":
                others = [each for each in brokers if each != host]
                self._cut(host, random.sample(others, min(1, len(others))))
                delay_s = random.uniform(*_UNNOTICED_S)
                loop.call_later(delay_s, lambda: self._crash(host, without_power=False))
            case _:
                self._cut_off(host)

    def _crash(self, host: str, *, without_power: bool) -> None:
        cluster = self._cluster
        broker = next((each for each in cluster.running() if each.name == host), None)
        if broker is not None:
            cluster.crash(broker, Loss.NOTHING, without_power=without_power)
            cluster.loop.call_later(self._random.uniform(*_DOWN_S), cluster.start, broker)

    def _cut_off(self, host: str) -> None:
        """Nothing that the broker sends arrives, not even at ZooKeeper; what others send does."""
        zookeeper = self._cluster.zookeeper
        zookeeper.cut(host, silent=True)
        heal_s = self._cut(host, [name for name in self._cluster.network.hosts if name != host])
        self._cluster.loop.call_later(heal_s, zookeeper.heal, host)

    def _delay_requests(self, host: str, brokers: Sequence[str]) -> None:
        """The requests of a client arrive late, perhaps after it has given up the connection. (When the end of the
        connection arrives with them, the broker does not begin them.)
        """
        if self._random.random() < 0.3:
            self._cut(host, brokers, _STUCK_S)
            return
        network = self._cluster.network
        for broker in brokers:
            network.slow(host, broker, self._random.uniform(*_STUCK_S))
            self._cluster.loop.call_later(self._random.uniform(*_DOWN_S), network.slow, host, broker, 0.0)

    def _cut(self, host: str, others: Sequence[str], seconds: tuple[float, float] = _DOWN_S) -> float:
        """Cut the ways to other machines. Returns the seconds after which they are healed."""
        network, heal_s = self._cluster.network, self._random.uniform(*seconds)
        for other in others:
            network.cut(host, other)
            self._cluster.loop.call_later(heal_s, network.heal, host, other)
        return heal_s
