"""A cluster in one process: brokers, the model of ZooKeeper, machines for clients, and the checkers."""

import asyncio
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import TypeVar

from simulation.checkers.history import History, Place, ViolationError
from simulation.checkers.kept_ends import kept_ends
from simulation.checkers.replica_checker import ReplicaChecker
from simulation.checkers.tree_checker import ObservedTree, TreeChecker
from simulation.clients.client_link import Layer
from simulation.clients.cluster_client import ClusterClient
from simulation.machines.cluster_shape import PORT, ClusterShape
from simulation.machines.disk import Loss
from simulation.machines.model_zookeeper import ModelZooKeeper
from simulation.machines.network import Network
from simulation.machines.simulated_broker import WALL_CLOCK_START_MS, SimulatedBroker
from simulation.machines.virtual_loop import CURRENT_HOST, DeadlockError, VirtualLoop, on_host
from simulation.runs.effects import Effects

__all__ = ["SETTINGS", "SimulatedCluster"]

SETTINGS = {
    "auto.create.topics.enable": "false",
    "background.threads": "2",
    "controlled.shutdown.retry.backoff.ms": "500",
    "controller.socket.timeout.ms": "3000",
    "default.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "300",
    "leader.imbalance.check.interval.seconds": "5",
    "log.cleaner.backoff.ms": "1500",
    "log.cleaner.min.cleanable.ratio": "0.2",
    "log.flush.interval.ms": "2000",
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "log.flush.scheduler.interval.ms": "500",
    "log.flush.start.offset.checkpoint.interval.ms": "3000",
    "log.index.size.max.bytes": "4096",
    "log.initial.task.delay.ms": "1000",
    "log.retention.check.interval.ms": "1000",
    "log.segment.bytes": "16384",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.segment.bytes": "2048",
    "replica.fetch.wait.max.ms": "400",
    "replica.high.watermark.checkpoint.interval.ms": "1500",
    "replica.lag.time.max.ms": "2500",
    "replica.socket.timeout.ms": "3000",
    "transaction.partition.verification.enable": "false",  # clients act as coordinators, which brokers cannot ask
    "zookeeper.session.timeout.ms": "4000",
}
"""Small files and short intervals, so that an hour of a production cluster happens within a minute."""

ResultT = TypeVar("ResultT")

_TOPICS = "/brokers/topics"
_DELETIONS = "/admin/delete_topics"
_ALL_ARE_CHECKED_EVERY_TURNS = 64
_END_S = 0.01
_LOG_CHECK_INTERVAL_S = 0.5


class SimulatedCluster:
    """A cluster on `loop`, which runs nothing else. `violation` is the first violation found."""

    def __init__(
        self,
        broker_count: int,
        random: Random,
        settings: Mapping[str, str] | None = None,
        shape: ClusterShape | None = None,
    ) -> None:
        self.random = random
        self.shape = shape or ClusterShape()
        self.loop = VirtualLoop()
        self.history = History()
        self.effects = Effects()
        self.network = Network(self.loop, Random(random.random()))
        self.zookeeper = ModelZooKeeper(
            self.loop, Random(random.random()), lambda: WALL_CLOCK_START_MS + int(self.loop.time() * 1000)
        )
        self.zookeeper.on_expired = lambda client: self.effects.add("sessions expired", client)
        self.tree = TreeChecker(
            self.loop.time,
            lambda what: self.note("tree", what),
            self._up_since_s,
            lambda what, broker_id: self.effects.add(what, f"broker-{broker_id}"),
            lambda: self.zookeeper.served_s,
        )
        tree = ObservedTree()
        tree.checker = self.tree
        self.zookeeper.tree = tree
        self.replicas = ReplicaChecker(self.tree, self._minimum_isr, self.running, self.history)
        counts = {"offsets.topic.replication.factor": str(min(3, broker_count))}
        self.brokers = {
            broker_id: SimulatedBroker(
                broker_id,
                self.network,
                self.zookeeper,
                {**SETTINGS, **counts, **(settings or {})},
                Random(random.random()),
                self.shape,
            )
            for broker_id in range(1, broker_count + 1)
        }
        self._brokers_by_host: dict[str | None, SimulatedBroker] = {
            broker.name: broker for broker in self.brokers.values()
        }
        for broker in self.brokers.values():
            broker.on_end = partial(self.replicas.note_high_watermarks, broker)
            broker.on_crash = partial(self.replicas.note_logs, broker)
            broker.on_failure = partial(self.effects.add, "brokers that gave up", broker.name)
        self._client_layer = _client_layer(self.loop) if self.shape.has_tls else None
        self.violation: ViolationError | None = None
        self.when_violated: Callable[[], object] = lambda: None
        """Called once, at the first violation."""
        self._logs_checked_s = 0.0
        self.loop.before_turn = self._watch

    def note(self, who: str, what: str) -> None:
        self.history.note(self.loop.time(), who, what)

    def client(self, name: str) -> ClusterClient:
        self.network.add_host(name)
        servers = [(broker.name, PORT) for broker in self.brokers.values()]
        return ClusterClient(
            name,
            self.loop,
            servers,
            Random(self.random.random()),
            self.history,
            self.effects,
            self.replicas.known_epoch,
            self._acknowledged_end,
            self._client_layer,
        )

    def spawn(self, host: str, work: "asyncio._CoroutineLike[ResultT]") -> "asyncio.Task[ResultT]":
        """Run a coroutine on a machine."""
        return self.loop.create_task(work, context=on_host(host))

    # --- brokers

    def running(self) -> list[SimulatedBroker]:
        return [broker for broker in self.brokers.values() if broker.is_running]

    def start(self, broker: SimulatedBroker) -> None:
        if not broker.is_up:
            self.note(broker.name, "start")
            broker.power_on()
            broker.start()

    def crash(self, broker: SimulatedBroker, loss: Loss, *, without_power: bool) -> None:
        if broker.is_up:
            lost = broker.crash(loss, without_power=without_power)
            self.note(broker.name, f"crash, loses {loss.value} of what was not synced ({len(lost)} files)")
            if lost:
                self.effects.add("crashes that lost bytes", broker.name)
            for place, kept_end in kept_ends(broker.disk, lost).items():
                self.tree.lost_bytes(broker.broker_id, place, kept_end)

    async def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        """Wait for a condition; returns False if the time is over first."""
        deadline_s = self.loop.time() + within_s
        while not condition():
            if self.loop.time() > deadline_s or self.violation is not None:
                return False
            await asyncio.sleep(0.1)
        return True

    def committed_end(self, place: Place) -> int:
        """The offset up to which a partition is known to be committed: its highest high watermark so far."""
        for broker in self.brokers.values():
            self.replicas.note_high_watermarks(broker, place)
        return self.replicas.committed_ends.get(place, 0)

    def _acknowledged_end(self, broker_id: int, place: Place) -> int:
        committed_end = self.committed_end(place)
        end = self.replicas.leaders_end(self.brokers[broker_id], place)
        return committed_end if end is None else end

    def assignments(self) -> dict[str, dict[int, list[int]]]:
        """The partition states of all topics in the tree."""
        tree = self.zookeeper.tree
        if not tree.contains(_TOPICS):
            return {}
        found = {}
        for topic in tree.children(_TOPICS):
            partitions = json.loads(tree.get(f"{_TOPICS}/{topic}")[0])["partitions"]
            found[topic] = {int(number): replicas for number, replicas in sorted(partitions.items())}
        return found

    def _up_since_s(self, broker_id: int) -> float | None:
        broker = self.brokers[broker_id]
        if not broker.is_running or broker.disk.failing is not None or broker.has_lost_directories():
            return None
        return broker.running_since_s

    def _minimum_isr(self, topic: str) -> int:
        path = f"/config/topics/{topic}"
        if not self.zookeeper.tree.contains(path):
            return 1
        config = json.loads(self.zookeeper.tree.get(path)[0]).get("config", {})
        return int(config.get("min.insync.replicas", "1"))

    def reassignments(self) -> list[str]:
        """Partitions with a running reassignment."""
        tree = self.zookeeper.tree
        topics = {topic: json.loads(tree.get(f"{_TOPICS}/{topic}")[0]) for topic in tree.children(_TOPICS)}
        return [topic for topic, node in topics.items() if node.get("adding_replicas") or node.get("removing_replicas")]

    def deletions(self) -> list[str]:
        """Topics with a running deletion."""
        tree = self.zookeeper.tree
        return list(tree.children(_DELETIONS)) if tree.contains(_DELETIONS) else []

    def end(self) -> None:
        """Close everything, so that nothing runs any more."""
        for broker in self.brokers.values():
            if broker.is_up:
                broker.crash(Loss.NOTHING)
        self.loop.before_turn = None
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        with suppress(DeadlockError, asyncio.CancelledError):  # a task that ignores this would wait for ever
            self.loop.run_until_complete(asyncio.sleep(_END_S))
            self.loop.run_until_complete(asyncio.sleep(_END_S))
        self.loop.close()

    # --- checks

    def current_host(self) -> str:
        return CURRENT_HOST.get("nobody")

    def unexpected(self, who: str, what: str, error: BaseException) -> None:
        """A broker logged a traceback, which is a violation."""
        if self.violation is None:
            text = "".join(traceback.format_exception(error))
            self._violated(ViolationError(f"{who}: {what}\n{text}"))

    def _watch(self) -> None:
        """Check everything that may have changed in this loop iteration.

        A broker's state changes only when something runs on its machine. All brokers are checked now and then all
        the same.
        """
        if self.violation is not None:
            return
        hosts_run, brokers = self.loop.hosts_run, self._brokers_by_host
        changed = None
        if None not in hosts_run and self.loop.turns % _ALL_ARE_CHECKED_EVERY_TURNS:
            changed = [broker for host in hosts_run if (broker := brokers.get(host)) is not None and broker.is_running]
        hosts_run.clear()
        try:
            self.check(changed)
        except ViolationError as violation:
            self._violated(violation)
            self.note("checker", str(violation))

    def _violated(self, violation: ViolationError) -> None:
        self.violation = violation
        self.when_violated()

    def check(self, changed: Sequence[SimulatedBroker] | None = None) -> None:
        """``changed``: brokers whose replicas are checked; None for all. Raises ViolationError."""
        if self.tree.violations:
            raise ViolationError(self.tree.violations[0])
        if self.history.violations:
            raise ViolationError(self.history.violations[0])
        if self.loop.errors:
            raise ViolationError(_described(self.loop.errors[0]))
        if changed is None or changed:
            self.replicas.check(changed)
        if self.loop.time() - self._logs_checked_s >= _LOG_CHECK_INTERVAL_S:
            self._logs_checked_s = self.loop.time()
            self.replicas.check_logs(self.running())


def _described(context: dict[str, object]) -> str:
    error = context.get("exception")
    trace = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else ""
    return f"{context.get('message')}: {error!r}\n{trace}"


def _client_layer(loop: VirtualLoop) -> Layer:
    from simulation.encryption.client_layer import client_layer  # without TLS, a broker does not import it either

    return client_layer(loop)
