"""Runs one seed: a cluster with clients and faults, then a quiet time in which it must heal, then the final checks."""

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from pybroker.storage.log.log import Log
from pybroker.storage.workers.unpacking import all_read_in_this_process
from simulation.checkers.final_checker import EXCUSED, FinalChecker, replica_of
from simulation.checkers.history import Guarantee, Place, ViolationError
from simulation.clients.admin import Admin
from simulation.clients.admin_changes import AdminChanges
from simulation.clients.consumer import Consumer, Reading
from simulation.clients.group_member import GroupMember
from simulation.clients.producer import Producer
from simulation.clients.transactional_producer import TransactionalProducer
from simulation.machines.cluster_shape import ClusterShape, rack_of
from simulation.machines.disk import Loss
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.afterwards import GUARANTEES, work_again
from simulation.runs.faults import FAULTS, Faults

__all__ = ["Plan", "Result", "SimulationRun", "result_of", "run_seed"]

_START_S = 30.0
_HEAL_S = 90.0
_RESTART_S = 2.0
_LOAD_TURNS = 10_000
"""After this many loop iterations, the producers of a run stop. The rest of its faults and the healing take about
7,000 more, so the cost of a seed is limited.
"""
_TIMES_ARE_CHECKED = {"message.timestamp.after.max.ms": "10000", "message.timestamp.before.max.ms": "10000"}
"""A leader refuses records whose timestamp is far from its clock."""
_SHORT_OF_ROOM = (
    {"retention.bytes": "4096", "segment.bytes": "2048"},
    {"retention.ms": "8000", "segment.bytes": "4096"},
    {"retention.ms": "30000", "segment.ms": "5000"},
)
"""Settings of topics that delete old records; sooner if a broker's clock is ahead."""


@dataclass(frozen=True)
class Plan:
    """The parameters of a run; the seed decides the rest. `faults`: names of faults; None for all."""

    broker_count: int = 1
    duration_s: float = 20.0
    fault_count: int = 6
    change_count: int = 2
    shape: ClusterShape = field(default_factory=ClusterShape)
    faults: tuple[str, ...] | None = None
    skipped: frozenset[int] = frozenset()
    """Numbers of faults that are left out, to find out which of them matter."""

    @classmethod
    def of_seed(cls, seed: int) -> "Plan":
        random = Random(f"plan {seed}")
        return cls(
            broker_count=random.choice((1, 3, 3, 3, 3, 4, 5)),
            duration_s=random.choice((8.0, 10.0, 12.0)),
            fault_count=random.choice((0, 2, 4, 6, 6, 8, 10)),
            change_count=random.choice((0, 0, 2, 4, 8)),
            shape=ClusterShape.by_chance(random),
        )

    def with_one_fault(self, name: str) -> "Plan":
        """The same cluster with only this fault."""
        shape = replace(self.shape, log_directories=2)  # one attempt may find no machine
        return replace(self, fault_count=1, change_count=0, shape=shape, faults=(name,))

    @property
    def only_fault(self) -> str | None:
        """The fault's name, if the plan is one of `with_one_fault`."""
        return self.faults[0] if self.faults is not None and self.fault_count == 1 else None


@dataclass
class Result:
    """`violation` is None for a correct run. `lines` describe the last events; `digest` is a checksum of all events."""

    seed: int
    violation: str | None = None
    plan: Plan = field(default_factory=Plan)
    lines: list[str] = field(default_factory=list)
    digest: int = 0
    virtual_s: float = 0.0
    fired: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)


def run_seed(
    seed: int, plan: Plan | None = None, prepare: Callable[[SimulatedCluster], None] = lambda cluster: None
) -> Result:
    """Run one seed. `prepare` is called with the cluster before anything runs."""
    plan = plan or Plan.of_seed(seed)
    cluster = SimulatedCluster(plan.broker_count, Random(seed), shape=plan.shape)
    prepare(cluster)
    return result_of(seed, SimulationRun(cluster, plan))


def result_of(seed: int, run: "SimulationRun") -> Result:
    """Run a cluster to its end. Violations become part of the result."""
    cluster = run.cluster
    result = Result(seed, plan=run.plan)
    with _told_lines(cluster), all_read_in_this_process():
        try:
            cluster.loop.run_until_complete(run.run())
        except ViolationError as violation:
            result.violation = str(violation)
        except Exception:  # an exception of a client, a checker or the loop is a failure of this seed
            result.violation = f"the run broke off\n{traceback.format_exc()}"
        finally:
            _end(cluster, result)
    run.faults.judge_all()
    history = cluster.history
    result.lines = list(history.lines)
    result.digest = history.digest
    result.virtual_s = cluster.loop.time()
    result.fired, result.met, result.changed = run.faults.fired, run.faults.met, run.faults.changed
    result.counts = history.counts + cluster.tree.counts + cluster.effects.kinds + run.counts
    result.counts["compactions"] = sum(broker.compactions for broker in cluster.brokers.values())
    for broker in cluster.brokers.values():
        result.counts.update({f"disk: {what}": count for what, count in broker.disk.counts.items()})
    result.counts.update({f"zookeeper: {what}": count for what, count in cluster.zookeeper.fired.items()})
    result.counts["turns"] = cluster.loop.turns
    return result


def _end(cluster: SimulatedCluster, result: Result) -> None:
    try:
        cluster.end()
    except Exception:
        result.violation = result.violation or f"the run could not be ended\n{traceback.format_exc()}"


class SimulationRun:
    """One run. Runs with other clients override the methods that begin with one underscore."""

    _guarantees_afterwards: Sequence[Guarantee] = GUARANTEES

    def __init__(self, cluster: SimulatedCluster, plan: Plan) -> None:
        self.cluster = cluster
        self.plan = plan
        self._random = random = Random(cluster.random.random())
        self._admin = Admin(cluster.client("admin"))
        self._topics: dict[str, int] = {}
        self._producers: list[Producer | TransactionalProducer] = []
        self._consumers: list[Consumer] = []
        self._members: list[GroupMember] = []
        self._client_hosts: list[str] = []
        self._client_tasks: list[asyncio.Task[None]] = []
        self._is_healing = False
        self.counts: Counter[str] = Counter()
        self.faults = Faults(cluster, self._client_hosts, Random(random.random()))

    async def run(self) -> None:
        """Run the cluster until the final checks, or until the first violation. Raises ViolationError."""
        task = asyncio.current_task()
        assert task is not None
        self.cluster.when_violated = task.cancel
        try:
            await self._run()
        except asyncio.CancelledError:
            if self.cluster.violation is None:
                raise
            raise self.cluster.violation from None
        finally:
            self.cluster.when_violated = lambda: None

    async def _run(self) -> None:
        cluster, plan = self.cluster, self.plan
        for broker in cluster.brokers.values():
            cluster.start(broker)
        if not await cluster.until(lambda: len(cluster.running()) == plan.broker_count, _START_S):
            self._fail("the brokers did not start")
        await cluster.spawn("admin", self._create_topics())
        self._start_clients()
        cluster.loop.call_at_turn(_LOAD_TURNS, self._rest)
        names = list(plan.faults or FAULTS)
        changes = self._changes()
        await asyncio.gather(
            self.faults.run(names, plan.fault_count, plan.duration_s, plan.skipped),
            cluster.spawn("admin", changes.run(plan.change_count, plan.duration_s)),
            asyncio.sleep(plan.duration_s),  # even without faults
        )
        await self._heal()
        places = [place for place, _ in self._assignments() if not place[0].startswith("__")]
        await work_again(cluster, places, self._guarantees_afterwards)
        await self._until_healed()
        await self._end_clients()
        self._check_all()

    def _changes(self) -> AdminChanges:
        return AdminChanges(
            self._admin,
            self._places(),
            list(self.cluster.brokers),
            self.cluster.tree,
            self._readable_end,
            Random(self._random.random()),
        )

    def _fail(self, what: str) -> None:
        """Raise the violation that the checkers found earlier, if any, because it explains more."""
        raise self.cluster.violation or ViolationError(what)

    # --- clients

    async def _create_topics(self) -> None:
        random, brokers = self._random, list(self.cluster.brokers)
        for number in range(random.randint(1, 2)):
            topic, partitions = f"topic{number}", random.randint(1, 2)
            factor = min(len(brokers), random.choice((1, 2, 3, 3, 3)))
            configs = {
                "min.insync.replicas": str(random.randint(1, max(1, factor - 1))),
                "unclean.leader.election.enable": random.choice(("false", "false", "false", "true")),
            }
            if random.random() < 0.3:
                configs["flush.messages"] = "1"  # a worker syncs every append
            if random.random() < 0.25:
                configs |= _TIMES_ARE_CHECKED
            if random.random() < 0.2:
                configs |= random.choice(_SHORT_OF_ROOM)
                self.cluster.history.kept_to_size[topic] = configs
            assignment = [random.sample(brokers, factor) for _ in range(partitions)]
            if await self._admin.create(topic, assignment, configs):
                self._topics[topic] = partitions

    def _places(self) -> list[Place]:
        return [(topic, each) for topic, count in self._topics.items() for each in range(count)]

    def _readable_end(self, place: Place) -> int:
        """The highest offset that a consumer has read up to."""
        return max(consumer.positions.get(place, 0) for consumer in self._consumers)

    def _start_clients(self) -> None:
        random, cluster = self._random, self.cluster
        places = self._places()
        for number, guarantee in enumerate(Guarantee):
            client = cluster.client(f"producer{number}")
            pause_s = random.choice((0.2, 0.4, 0.8))
            if guarantee is Guarantee.TRANSACTION:
                producer: Producer | TransactionalProducer = TransactionalProducer(client, places, pause_s)
            else:
                producer = Producer(client, guarantee, places, pause_s)
            self._producers.append(producer)
            self._spawn_client(client.name, producer.run())
        for number in range(2):
            client = cluster.client(f"consumer{number}")
            rack = rack_of(number) if cluster.shape.has_racks else ""
            consumer = Consumer(client, places, Reading(cluster.committed_end, number == 1, rack, (1, 500)[number]))
            self._consumers.append(consumer)
            self._spawn_client(client.name, consumer.run())
        cluster.history.committed_readers = ["consumer1"]
        for number in range(2):
            client = cluster.client(f"member{number}")
            member = GroupMember(client, places)
            self._members.append(member)
            self._spawn_client(client.name, member.run())

    def _rest(self) -> None:
        if not self._is_healing:
            self.counts["runs in which producers rested early"] += 1
            self._stop_producers()

    def _stop_producers(self) -> None:
        for producer in self._producers:
            producer.stop()

    def _spawn_client(self, host: str, work: "asyncio._CoroutineLike[None]") -> None:
        self._client_hosts.append(host)
        self._client_tasks.append(self.cluster.spawn(host, work))

    async def _end_clients(self) -> None:
        for consumer in self._consumers:
            consumer.stop()
        for member in self._members:
            member.stop()
        await asyncio.gather(*self._client_tasks)

    # --- the end

    async def _heal(self) -> None:
        """End all faults; the cluster must then recover by itself."""
        cluster = self.cluster
        self._is_healing = True
        cluster.network.heal_all()
        for broker in cluster.brokers.values():
            broker.disk.is_full, broker.disk.failing = False, None
            broker.make_disk_fast()
            cluster.zookeeper.heal(broker.name)
        cluster.zookeeper.start()
        self._stop_producers()
        await self._until_healed()

    async def _until_healed(self) -> None:
        cluster = self.cluster
        self._commits_before = self._commits()

        def is_healed() -> bool:
            for broker in cluster.brokers.values():
                if cluster.loop.time() - broker.started_s > _RESTART_S:
                    if broker.has_lost_directories():
                        cluster.crash(broker, Loss.NOTHING, without_power=False)
                    cluster.start(broker)
            return self._ailment() is None

        if not await cluster.until(is_healed, _HEAL_S):
            self._fail(f"not healed: {self._ailment()}")

    def _commits(self) -> int:
        return sum(member.commits for member in self._members)

    def _ailment(self) -> str | None:
        """The reason why the cluster has not recovered yet; None when it has."""
        cluster = self.cluster
        for broker in cluster.brokers.values():
            if not broker.is_running:
                return f"{broker.name} does not run: {broker.failures[-1:]}"
        for place, replicas in self._assignments():
            record = cluster.tree.partitions.get(place)
            if record is None or record.leader < 0 or sorted(record.isr) != sorted(replicas):
                return f"{place}: {record and (record.leader, record.isr)} of {replicas}"
            is_trimmed = place[0] in cluster.history.kept_to_size or place in cluster.history.deletions
            ends = {
                broker_id: [
                    (0 if is_trimmed else log.view.log_start_offset, log.view.log_end_offset)
                    for log in cluster.brokers[broker_id].logs()
                    if tuple(log.topic_partition) == place
                ]
                for broker_id in replicas
            }
            if len({tuple(each) for each in ends.values()}) != 1 or [] in ends.values():
                return f"{place}: logs are {ends}"
        if self.cluster.deletions():
            return f"topics are being deleted: {self.cluster.deletions()}"
        if self.cluster.reassignments():
            return f"reassignments are under way: {self.cluster.reassignments()}"
        return self._ailment_of_clients() or self._unread()

    def _ailment_of_clients(self) -> str | None:
        if not all(task.done() for task in self._client_tasks[: len(self._producers)]):
            return "producers are not done"
        return "the group commits nothing" if self._commits() == self._commits_before else None

    def _unread(self) -> str | None:
        ends, stable_ends = self._ends(), self._stable_ends()
        for consumer in self._consumers:
            for place, position in consumer.positions.items():
                begin = (stable_ends if consumer.reading.read_committed else ends).get(place, position)
                if not begin <= position <= ends.get(place, position):
                    return f"{place}: read up to {position} of {begin} to {ends[place]}"
        return None

    def _ends(self) -> dict[Place, int]:
        """The end offset of each partition."""
        return {place: log.view.log_end_offset for place, log in self._some_logs().items()}

    def _stable_ends(self) -> dict[Place, int]:
        """The end for read_committed consumers: all transactions have ended, but their markers may be lost."""
        ends = self._ends()
        for place, log in self._some_logs().items():
            if self._has_lost_a_marker(place):
                ends[place] = log.last_stable_offset(ends[place])
        return ends

    def _has_lost_a_marker(self, place: Place) -> bool:
        """Whether a marker may be lost; if not, read_committed consumers reach the end of the log."""
        tree, ended = self.cluster.tree, self.cluster.history.ended_transactions
        if not tree.excuses(place):
            return False
        return any(tree.may_be_lost(place, each.ends[place]) for each in ended if place in each.ends)

    def _some_logs(self) -> dict[Place, Log]:
        """The log of one replica of each partition."""
        return {place: next(iter(self._logs_of(place, replicas).values())) for place, replicas in self._assignments()}

    def _assignments(self) -> list[tuple[Place, list[int]]]:
        found = []
        for topic, assignment in self.cluster.assignments().items():
            found += [((topic, number), replicas) for number, replicas in assignment.items()]
        return found

    def _logs_of(self, place: Place, replicas: list[int]) -> dict[int, Log]:
        return {
            broker_id: log
            for broker_id in replicas
            for log in self.cluster.brokers[broker_id].logs()
            if tuple(log.topic_partition) == place
        }

    def _check_all(self) -> None:
        cluster = self.cluster
        if cluster.violation is not None:
            raise cluster.violation
        cluster.check()
        logs = {
            place: {broker_id: replica_of(log) for broker_id, log in self._logs_of(place, replicas).items()}
            for place, replicas in self._assignments()
            if not place[0].startswith("__")
        }
        holders: dict[str, list[int]] = {}
        for broker in cluster.running():
            for log in broker.logs():
                holders.setdefault(log.topic_partition.topic, []).append(broker.broker_id)
        checker = FinalChecker(cluster.history, cluster.tree, logs, holders, self._stable_ends())
        violations = list(checker.violations())
        self.counts += checker.counts
        for name in [name for name, count in checker.counts.items() if name.startswith(EXCUSED) and count]:
            self.counts[f"runs with {name}"] = 1
        if violations:
            raise ViolationError("\n".join(violations))


@contextmanager
def _told_lines(cluster: SimulatedCluster) -> Iterator[None]:
    """Add the brokers' log lines to the history; a logged traceback is a violation."""
    logger = logging.getLogger("pybroker")
    handler = _HistoryHandler(cluster)
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


class _HistoryHandler(logging.Handler):
    def __init__(self, cluster: SimulatedCluster) -> None:
        super().__init__(logging.INFO)
        self.cluster = cluster

    def emit(self, record: logging.LogRecord) -> None:
        who = self.cluster.current_host()
        self.cluster.note(who, f"{record.levelname} {record.getMessage()}")
        if record.exc_info is not None and record.exc_info[1] is not None:
            self.cluster.unexpected(who, record.getMessage(), record.exc_info[1])
