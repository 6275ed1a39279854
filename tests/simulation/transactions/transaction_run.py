"""Runs a cluster whose clients write transactions, and checks the logs and the coordinators at its end."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from unittest.mock import patch

from pybroker.broker.coordinator.transaction import producer_requests
from pybroker.broker.coordinator.transaction.coordinator import TransactionCoordinator
from pybroker.broker.coordinator.transaction.end_markers import EndMarker
from pybroker.broker.coordinator.transaction.init_rules import new_transaction
from pybroker.broker.coordinator.transaction.marker_delivery import MarkerDelivery
from pybroker.broker.coordinator.transaction.picture import MAX_PRODUCER_EPOCH
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.controller.features import TRANSACTION_VERSION
from pybroker.controller.tree import znodes
from pybroker.controller.tree.metadata_store import Create
from pybroker.controller.tree.znodes import Features
from pybroker.protocol.codec import decode
from pybroker.protocol.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from pybroker.storage.log.log import Log
from simulation.checkers.history import Guarantee, Place, ViolationError
from simulation.clients.admin_changes import SAFE_CHANGES, AdminChanges
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer import Reading
from simulation.clients.coordinator_moves import Moves
from simulation.machines.cluster_shape import ClusterShape
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.faults import FAULTS
from simulation.runs.simulation_run import Plan, Result, SimulationRun, result_of
from simulation.transactions.committed_reader import CommittedReader
from simulation.transactions.coordinator_view import (
    STATE,
    early_load,
    early_marker,
    group_leftovers,
    leftovers,
    log_leftovers,
    memory_differs,
)
from simulation.transactions.copier import Copier, CopyPlan
from simulation.transactions.log_view import CommittedRecord, CommittedView, batches_in, committed_view
from simulation.transactions.protocol_versions import versions_at
from simulation.transactions.seams import SeamFaults, SeamPlan
from simulation.transactions.state_log_checker import StateLog, check_markers, is_over, read_state_log
from simulation.transactions.transaction_manager import PASSING
from simulation.transactions.transactional_writer import TIMEOUTS_MS, TransactionalWriter
from support.transactions.copy_checker import check_copies, is_copy
from support.transactions.transaction_checker import TransactionChecker
from support.transactions.transaction_history import Observed, ReadRange, TransactionHistory

__all__ = ["TransactionPlan", "run_transactions"]

OFFSETS = "__consumer_offsets"
_QUIET_S = 60.0
_MOST_TURNS = 50_000
_OFFSET_KEYS = (0, 1)
"""Versions of keys of ``__consumer_offsets`` that mean an offset."""
_SETTINGS = {
    "log.cleaner.enable": "false",  # the checkers read the whole history of internal topics
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "700",
    "transaction.partition.verification.enable": "true",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "400",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.segment.bytes": "2048",
}


_FAULTS = tuple(name for name in FAULTS if not name.startswith("power fails"))
"""Without the faults by which brokers lose acknowledged records, which no coordinator can prevent."""


@dataclass(frozen=True)
class TransactionPlan(Plan):
    """The parameters of a run with transactions."""

    at_seams: SeamPlan = field(default_factory=SeamPlan)
    writer_count: int = 2
    timeouts_ms: tuple[int, ...] = TIMEOUTS_MS
    lives_s: tuple[float, float] = (1.0, 6.0)
    """How long a writer's client runs before the next one starts."""
    copier_count: int = 1
    """0: no copier. 1: all partitions are fixed. More: they share them as a group."""
    are_coordinators_moved: bool = False
    minimum_isr: int = 1
    """transaction.state.log.min.isr."""
    expiration_ms: int | None = None
    """transactional.id.expiration.ms, so that ids expire while their clients pause; None: as usual."""
    first_epoch: int | None = None
    """The epoch of a new transactional id, so that its producer id is exhausted soon; None: as usual."""
    transaction_version: int = 0
    """The level of that feature. At 2 most clients get a new epoch with every transaction."""

    @classmethod
    def of_seed(cls, seed: int) -> "TransactionPlan":
        random = Random(f"transactions {seed}")
        return cls(
            broker_count=random.choice((1, 3, 3, 3, 3, 4)),
            duration_s=random.choice((6.0, 8.0, 10.0)),
            fault_count=random.choice((0, 2, 4, 6, 8)),
            change_count=random.choice((0, 0, 2, 4)),
            shape=replace(ClusterShape.by_chance(random), has_racks=False),
            faults=_FAULTS,
            at_seams=SeamPlan(random.choice((0, 1, 2, 3, 4))),
            writer_count=random.choice((1, 2, 3)),
            copier_count=random.choice((0, 1, 1, 2)),
            are_coordinators_moved=random.random() < 0.4,
            minimum_isr=random.choice((1, 2)),
            expiration_ms=random.choice((None, None, None, None, 4_500)),
            first_epoch=random.choice((None, None, None, MAX_PRODUCER_EPOCH - 3)),
            transaction_version=random.choice((0, 2)),
        )


def run_transactions(seed: int, plan: TransactionPlan | None = None) -> Result:
    """Run one seed."""
    plan = plan or TransactionPlan.of_seed(seed)
    settings = {
        **_SETTINGS,
        "transaction.state.log.replication.factor": str(min(3, plan.broker_count)),
        "transaction.state.log.min.isr": str(min(plan.minimum_isr, plan.broker_count)),
    }
    if plan.expiration_ms is not None:
        settings["transactional.id.expiration.ms"] = str(plan.expiration_ms)
    cluster = SimulatedCluster(plan.broker_count, Random(seed), settings, shape=plan.shape)
    _set_level(cluster, plan.transaction_version)
    run = TransactionRun(cluster, plan)
    with run.seams.at_work(), _first_epoch(plan.first_epoch), _committed_decisions(cluster):
        return result_of(seed, run)


def _set_level(cluster: SimulatedCluster, transaction_version: int) -> None:
    if transaction_version:
        features = Features({TRANSACTION_VERSION: transaction_version})
        cluster.zookeeper.tree.apply([Create(znodes.FEATURE_PATH, features.encode())], 0, 0)


@contextmanager
def _committed_decisions(cluster: SimulatedCluster) -> Iterator[None]:
    """Check that coordinators act only on what is committed."""
    want, load = MarkerDelivery.want, TransactionCoordinator.loaded

    def note(fault: str | None) -> None:
        if fault is not None:
            cluster.history.violations.append(fault)

    def checked_want(delivery: MarkerDelivery, marker: EndMarker, partitions: Any) -> None:
        note(early_marker(_current_broker(cluster), marker))
        want(delivery, marker, partitions)

    def checked_load(coordinator: TransactionCoordinator, partition: int, entries: Any) -> None:
        note(early_load(_current_broker(cluster), partition))
        load(coordinator, partition, entries)

    with (
        patch.object(MarkerDelivery, "want", checked_want),
        patch.object(TransactionCoordinator, "loaded", checked_load),
    ):
        yield


def _current_broker(cluster: SimulatedCluster) -> SimulatedBroker:
    host = cluster.current_host()
    return next(each for each in cluster.brokers.values() if each.name == host)


@contextmanager
def _first_epoch(epoch: int | None) -> Iterator[None]:
    """New transactional ids begin with this epoch."""

    def begin(*arguments: Any) -> Transaction:
        transaction = new_transaction(*arguments)
        if epoch is not None:
            producer = transaction.current.producer._replace(epoch=epoch)
            transaction.current = transaction.current._replace(producer=producer)
        return transaction

    with patch.object(producer_requests, "new_transaction", begin):
        yield


class TransactionRun(SimulationRun):
    """See `SimulationRun`."""

    _guarantees_afterwards = (Guarantee.ONCE,)  # others may write a record twice, which the copiers would copy

    def __init__(self, cluster: SimulatedCluster, plan: TransactionPlan) -> None:
        super().__init__(cluster, plan)
        self._transaction_plan = plan
        self.transactions = TransactionHistory()
        self._writers: list[TransactionalWriter] = []
        self._copiers: list[Copier] = []
        self._readers: list[CommittedReader] = []
        self._inputs: list[Place] = []
        self._outputs: dict[Place, Place] = {}
        self._known_views: dict[Place, tuple[Log, CommittedView]] = {}
        self._known_state_logs: dict[Place, tuple[tuple[Log, int], StateLog]] = {}
        """Each was read when its log had that end."""
        self._moves = Moves(cluster, Random(self._random.random()), (STATE, STATE, OFFSETS))
        self._moving: asyncio.Task[None] | None = None
        self.seams = SeamFaults(cluster, self._moves, plan.at_seams, Random(self._random.random()))

    # -- clients

    def _changes(self) -> AdminChanges:
        return AdminChanges(
            self._admin,
            self._places(),
            list(self.cluster.brokers),
            self.cluster.tree,
            self._readable_end,
            Random(self._random.random()),
            SAFE_CHANGES,
        )

    async def _create_topics(self) -> None:
        random, brokers = self._random, list(self.cluster.brokers)
        most = min(3, len(brokers))
        for topic, partitions, factor in (("written", 3, most), ("copied", 3, most), ("alone", 1, 1)):
            configs = {"min.insync.replicas": str(min(2, factor)), "unclean.leader.election.enable": "false"}
            assignment = [random.sample(brokers, factor) for _ in range(partitions)]
            if not await self._admin.create(topic, assignment, configs):
                self._fail(f"{topic} was not created")
            self._topics[topic] = partitions
        self._inputs = [("written", number) for number in range(self._topics["written"])]
        self._outputs = {place: ("copied", place[1]) for place in self._inputs}

    def _start_clients(self) -> None:
        plan, cluster = self._transaction_plan, self.cluster
        passing = [(f"{PASSING}{number}", 0) for number in range(2)] if plan.change_count else []
        for number in range(plan.writer_count):
            name = f"writer{number}"
            random = Random(self._random.random())
            writer = TransactionalWriter(
                name,
                [*self._inputs, ("alone", 0)],  # which has no leader while its broker is down
                passing,
                self._new_client,
                self.transactions,
                random,
                plan.timeouts_ms,
                plan.lives_s,
                versions_at(plan.transaction_version),
            )
            self._writers.append(writer)
            cluster.network.add_host(name)
            self._client_tasks.append(cluster.spawn(name, writer.run()))
        copies = CopyPlan("copies", self._outputs, is_assigned=plan.copier_count > 1)
        for number in range(plan.copier_count):
            name = f"copier{number}"
            copier = Copier(
                name,
                copies,
                self._new_client,
                self.transactions,
                Random(self._random.random()),
                versions_at(plan.transaction_version),
            )
            self._copiers.append(copier)
            cluster.network.add_host(name)
            self._client_tasks.append(cluster.spawn(name, copier.run(cluster.loop.time() + plan.duration_s)))
        self._start_readers()
        if plan.are_coordinators_moved:
            self._moving = cluster.spawn(self._moves.name, self._moves.run())

    def _start_readers(self) -> None:
        cluster = self.cluster
        for number in range(2):
            client = cluster.client(f"reader{number}")
            reading = Reading(cluster.committed_end, read_committed=True, min_bytes=(1, 300)[number])
            reader = CommittedReader(
                client, self._places(), reading, lambda broker_id: cluster.brokers[broker_id].starts
            )
            self._readers.append(reader)
            self._consumers.append(reader)
            self._spawn_client(client.name, reader.run())

    def _new_client(self, name: str) -> ClusterClient:
        client = self.cluster.client(name)
        self._client_hosts.append(name)
        return client

    def _rest(self) -> None:
        super()._rest()
        self.cluster.loop.call_at_turn(_MOST_TURNS, self._take_too_long)

    def _take_too_long(self) -> None:
        ailment = self._ailment() or self._unsettled()
        raise self.cluster.violation or ViolationError(f"not healed after {_MOST_TURNS} turns of the loop: {ailment}")

    def _stop_producers(self) -> None:
        for writer in self._writers:
            writer.stop()
        self.seams.stop()
        if self._moving is not None:
            self._moving.cancel()

    async def _end_clients(self) -> None:
        for copier in self._copiers:
            copier.stop()
        await asyncio.gather(*self._client_tasks[: len(self._writers) + len(self._copiers)])
        if not await self.cluster.until(lambda: self._unsettled() is None, _QUIET_S):
            self._fail(f"not at rest: {self._unsettled()}")
        await super()._end_clients()

    def _ailment_of_clients(self) -> str | None:
        if not all(task.done() for task in self._client_tasks[: len(self._writers)]):
            return "writers are not done"
        if not self._copiers:
            return None
        ends = self._ends()
        for place in self._inputs:
            copied = max(copier.copied.get(place, 0) for copier in self._copiers)
            values = [each for each in self._view(place).committed if each.offset >= copied]
            if values:
                return f"{place}: copied up to {copied} of {ends[place]}, the next is {values[0]}"
        return None

    def _unread(self) -> str | None:
        for reader in self._readers:
            for place, position in reader.positions.items():
                view = self._view(place)
                if not view.stable_end <= position <= view.end_offset:
                    return f"{place}: read up to {position} of {view.stable_end} to {view.end_offset}"
        return None

    def _unsettled(self) -> str | None:
        """A transaction that is not over, or work of a coordinator that is left."""
        for partition, log in self._state_logs().items():
            for name, picture in log.pictures.items():
                if not is_over(picture):
                    return f"{STATE}-{partition}, {name}: {picture}"
        for broker in self.cluster.running():
            for found in (leftovers, group_leftovers, log_leftovers):
                for what in found(broker):
                    return what
        return self._unread()

    # -- the end

    def _view(self, place: Place) -> CommittedView:
        log = self._some_logs()[place]
        end_offset = log.view.log_end_offset
        known = self._known_views.get(place)
        if known is None or known[0] is not log or known[1].end_offset != end_offset:
            known = self._known_views[place] = log, committed_view(batches_in(log), end_offset)
        return known[1]

    def _state_logs(self) -> dict[int, StateLog]:
        found = {}
        for place, log in self._some_logs().items():
            if place[0] != STATE:
                continue
            known = self._known_state_logs.get(place)
            if known is None or known[0] != (log, log.view.log_end_offset):
                known = (log, log.view.log_end_offset), read_state_log(batches_in(log))
                self._known_state_logs[place] = known
            found[place[1]] = known[1]
        return found

    def _check_all(self) -> None:
        if self.cluster.violation is not None:
            raise self.cluster.violation
        self.cluster.check()
        self._known_views.clear()
        self._known_state_logs.clear()
        violations = list(self._violations())
        if violations:
            raise ViolationError("\n".join(violations))

    def _violations(self) -> Iterator[str]:
        views = {place: self._view(place) for place in self._some_logs() if place[0] != STATE}
        committed = {place: _values(place, view) for place, view in views.items()}
        data = {place: committed[place] for place in self._places()}
        self.counts["transactions: values that are committed"] += sum(map(len, committed.values()))
        self.counts["transactions: excused"] += sum(each.is_excused for each in self.transactions.transactions)
        yield from TransactionChecker(self.transactions, committed, self._read_ranges()).violations()
        yield from self._check_copies(data, views)
        logs = self._state_logs()
        yield from self._check_coordinators(logs)
        decisions = [decision for log in logs.values() for decision in log.decisions]
        self.counts["transactions: decisions"] += len(decisions)
        for place in (*self._places(), *(each for each in views if each[0] == OFFSETS)):
            yield from check_markers(place, views[place].markers, decisions)
        for suspicion in self.cluster.history.suspicions:
            yield f"{suspicion.place}: {suspicion.what}"

    def _read_ranges(self) -> list[ReadRange]:
        """The records that the readers have read."""
        return [
            ReadRange(f"reader{number}", place, 0, reader.positions[place], [Observed(*each) for each in seen])
            for number, reader in enumerate(self._readers)
            for place, seen in reader.seen.items()
        ]

    def _check_copies(
        self, data: dict[Place, list[tuple[int, bytes]]], views: dict[Place, CommittedView]
    ) -> Iterator[str]:
        if not self._copiers:
            return
        copied: dict[Place, int] = {}
        for place, view in views.items():
            for record in view.committed if place[0] == OFFSETS else ():
                found = _offset_commit(record)
                if found is not None and found[0].group == "copies":
                    copied[found[0].topic, found[0].partition] = found[1].offset
        inputs = {place: data[place] for place in self._inputs}
        outputs = {place: [each for each in data[place] if is_copy(each[1])] for place in self._outputs.values()}
        self.counts["copy: records"] += sum(map(len, outputs.values()))
        yield from check_copies(inputs, outputs, copied)

    def _check_coordinators(self, logs: dict[int, StateLog]) -> Iterator[str]:
        for log in logs.values():
            yield from log.violations
        for broker in self.cluster.running():
            yield from memory_differs(broker, logs)


def _values(place: Place, view: CommittedView) -> list[tuple[int, bytes]]:
    """The values that clients know: of ``__consumer_offsets`` the metadata of offsets in transactions."""
    if place[0] != OFFSETS:
        return [(each.offset, each.value or b"") for each in view.committed]
    found = ((each.offset, _offset_commit(each)) for each in view.committed if each.producer_id >= 0)
    return [(offset, commit[1].metadata.encode()) for offset, commit in found if commit is not None]


def _offset_commit(record: CommittedRecord) -> tuple[OffsetCommitKey, OffsetCommitValue] | None:
    """None for records of other kinds, and tombstones."""
    if record.key is None or record.value is None:
        return None
    key_version = int.from_bytes(record.key[:2])
    if key_version not in _OFFSET_KEYS:
        return None
    key = decode(OffsetCommitKey, memoryview(record.key)[2:], key_version)
    return key, decode(OffsetCommitValue, memoryview(record.value)[2:], int.from_bytes(record.value[:2]))
