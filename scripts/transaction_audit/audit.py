"""An audit: three brokers with ZooKeeper, clients with transactions, faults, and the verdict."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from support.load.cluster_view import ClusterView
from support.transactions.copy_checker import check_copies
from support.transactions.transaction_checker import TransactionChecker
from support.transactions.transaction_history import Place, ReadRange, TransactionHistory

from transaction_audit.audit_topics import create_topics
from transaction_audit.clients import ClientKind, Clients
from transaction_audit.end_state import committed_values, group_offsets, hanging_transactions
from transaction_audit.faults import Faults
from transaction_audit.journal import take_journal

__all__ = ["Plan", "Verdict", "audit"]

WRITTEN, COPIED, GROUP = "written", "copied", "copies"
PARTITIONS = 3
_KINDS = (
    ClientKind("librdkafka", "write"),
    ClientKind("librdkafka", "write"),
    ClientKind("kafka-python", "write"),
    ClientKind("Java", "write"),
    ClientKind("librdkafka", "copy"),
    ClientKind("Java", "copy"),
)
_SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "replica.lag.time.max.ms": "5000",
}
_LOOK_S = 0.2
_SETTLED_AFTER_S = 180.0
"""Longer than an open transaction lasts."""


@dataclass
class Plan:
    """`minutes`: how long faults happen. `lives_s`: how long a client runs until it is killed or gets a successor."""

    seed: int
    minutes: float
    lives_s: tuple[float, float] = (8.0, 40.0)


@dataclass
class Verdict:
    """`figures`: what happened, by name."""

    seed: int
    figures: dict[str, int] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        figures = ", ".join(f"{count:,} {name}" for name, count in self.figures.items())
        result = f"{len(self.violations)} VIOLATIONS" if self.violations else "no violation"
        return f"seed {self.seed}: {figures}: {result}"


def audit(plan: Plan, directory: Path) -> Verdict:
    """Runs the plan. Data, journals and logs are kept in the directory."""
    random = Random(plan.seed)
    verdict = Verdict(plan.seed)
    with BlockingCluster(3, _SETTINGS, directory=directory / "cluster") as cluster:
        view = ClusterView(cluster)
        create_topics(view, {WRITTEN: PARTITIONS, COPIED: PARTITIONS})
        clients = Clients(cluster.bootstrap_servers, (WRITTEN, COPIED), PARTITIONS, directory / "clients", plan.lives_s)
        faults = Faults(cluster, random)
        try:
            for kind in _KINDS:
                clients.add(kind, Random(random.random()))
            until_s = time.monotonic() + plan.minutes * 60
            _wait(clients, 5.0)
            while time.monotonic() < until_s:
                faults.bring_about_some(lambda seconds: _wait(clients, seconds))
            verdict.violations += _settle(cluster, view, clients)
            verdict.violations += _judge(cluster.bootstrap_servers, clients, verdict)
            verdict.violations += _tracebacks(cluster)
        finally:
            clients.kill()
            for broker in cluster.broker_ids:  # a kill is enough
                cluster.kill(broker)
    verdict.faults = faults.counts
    verdict.figures |= {
        "faults": faults.counts.total(),
        "clients killed": clients.kills,
        "zombies": clients.zombies,
        "clients that hung": len(clients.hangs),
    }
    return verdict


def _wait(clients: Clients, seconds: float) -> None:
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        clients.look()
        time.sleep(min(_LOOK_S, left_s))


def _settle(cluster: BlockingCluster, view: ClusterView, clients: Clients) -> Iterator[str]:
    """Waits until the cluster is healthy, all is copied and no transaction is open; yields what does not come."""
    view.await_health()
    clients.end("write")

    def problems() -> list[str]:
        clients.look()
        places = [
            (topic, partition) for topic in (WRITTEN, COPIED, "__consumer_offsets") for partition in range(PARTITIONS)
        ]
        leaders = {place: view.leader(*place) for place in places}
        return list(hanging_transactions(view, cluster.broker_ids, leaders))

    def copied() -> list[str]:
        clients.look()
        places = [(WRITTEN, partition) for partition in range(PARTITIONS)]
        try:
            offsets = group_offsets(cluster.bootstrap_servers, GROUP, places)
        except KafkaException as error:
            return [f"no committed offsets: {error}"]
        last = {place: values[-1][0] for place, values in ends().items() if values}
        return [
            f"{place[0]}-{place[1]}: copied up to offset {offsets[place]} of {offset + 1}"
            for place, offset in last.items()
            if offsets[place] <= offset
        ]

    def ends() -> dict[Place, list[tuple[int, bytes]]]:
        return committed_values(cluster.bootstrap_servers, [(WRITTEN, partition) for partition in range(PARTITIONS)])

    yield from _left_after(problems)
    yield from _left_after(copied)
    clients.end("copy")
    yield from _left_after(problems)


def _left_after(problems: Callable[[], list[str]]) -> list[str]:
    until_s = time.monotonic() + _SETTLED_AFTER_S
    while (found := problems()) and time.monotonic() < until_s:
        time.sleep(1.0)
    return found


def _judge(servers: str, clients: Clients, verdict: Verdict) -> Iterator[str]:
    inputs, outputs = ([(topic, partition) for partition in range(PARTITIONS)] for topic in (WRITTEN, COPIED))
    committed = committed_values(servers, [*inputs, *outputs])
    history = TransactionHistory()
    ranges: list[ReadRange] = []
    for client in clients.all:
        for journal in client.journals:
            if journal.exists():
                ranges += take_journal(journal, client.transactional_id, history)
    outcomes = Counter(each.outcome.value for each in history.transactions)
    verdict.figures |= {
        "transactions": len(history.transactions),
        **{name: outcomes[name] for name in ("committed", "aborted", "in doubt", "open")},
        "records": sum(len(committed[place]) for place in inputs),
        "copies": sum(len(committed[place]) for place in outputs),
        "reads": sum(len(each.records) for each in ranges),
    }
    yield from TransactionChecker(history, committed, ranges).violations()
    yield from check_copies(
        {place: committed[place] for place in inputs},
        {place: committed[place] for place in outputs},
        group_offsets(servers, GROUP, inputs),
    )
    for client in clients.all:
        own = history.of_id(client.transactional_id)
        if not any(each.outcome.value == "committed" for each in own):
            yield f"{client.transactional_id} committed nothing"


def _tracebacks(cluster: BlockingCluster) -> Iterator[str]:
    for broker in cluster.broker_ids:
        text = cluster.log_file(broker).read_text(errors="replace")
        if "Traceback" in text:
            yield f"broker {broker} logged an unexpected error: {cluster.log_file(broker)}"
