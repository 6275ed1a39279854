"""Tests of groups of stock clients while their coordinators move: by elections, reassignments, stops and kills.

With `--against-kafka` the same tests run against Apache Kafka; the expected behaviour was taken from it.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from support.clients.member_processes import CLIENTS, MemberProcess, Members
from support.processes.cluster_processes import ClusterProcesses
from support.time.patience import await_that, await_thread

OFFSETS = "__consumer_offsets"
TOPIC, PARTITIONS = "orders", 3
SESSION_MS = 120_000
"""Longer than anything done to the coordinators, so that no session expires."""
MEMBERS = {
    "auto_commit_interval_ms": 100,
    "partition_assignment_strategy": "range",
    "session_timeout_ms": SESSION_MS,
}
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "200",
    "default.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "replica.fetch.backoff.ms": "100",
    "zookeeper.connection.timeout.ms": "120000",
    "zookeeper.session.timeout.ms": "10000",
}


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClusterProcesses]:
    with ExitStack() as stack:
        kafkas = (1, 2, 3) if request.config.getoption("--against-kafka") else ()
        cluster = ClusterProcesses(tmp_path, 3, SETTINGS, kafkas)
        stack.callback(cluster.close)
        cluster.start()
        cluster.await_brokers()
        cluster.create_topic(TOPIC, *([1, 2, 3][turn:] + [1, 2, 3][:turn] for turn in range(PARTITIONS)))
        yield cluster


class Keeper:
    """Commits rising offsets as fast as possible without being a member; acknowledged commits must not be lost."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": "kept", "enable.auto.commit": False})
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self.acknowledged = 0
        self.failure: str | None = None
        self.refusals: set[str] = set()

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        await_thread(self._thread, "the end of the keeper")
        self._consumer.close()

    def await_more(self) -> None:
        """Waits until more commits are acknowledged."""
        wanted = self.acknowledged + 5
        await_that(lambda: self.failure or self.acknowledged >= wanted, "offsets are committed")
        assert self.failure is None

    def _live(self) -> None:
        try:
            while not self._ends.is_set():
                self._commit_next()
        except BaseException as error:
            self.failure = repr(error)

    def _commit_next(self) -> None:
        """Commits the next offset and checks that the coordinator shows the previous one before accepting it."""
        try:
            (before,) = self._consumer.committed([TopicPartition(TOPIC, 0)], timeout=10)
            known = max(before.offset, 0)  # negative until the first commit
            offset = max(known, self.acknowledged) + 1
            (done,) = self._consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
            if done.error is not None:
                raise KafkaException(done.error)
        except KafkaException as error:
            self.refusals.add(error.args[0].name())
            return
        assert known >= self.acknowledged, f"{self.acknowledged} was committed, {known} is known"
        self.acknowledged = offset


class Load:
    """Produces records to every partition in turn; the members of a group must read all of them."""

    def __init__(self, servers: str, members: Members, readers: list[MemberProcess]) -> None:
        self._producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
        self._members = members
        self._readers = readers
        self._rounds = 0

    def round(self) -> None:
        self._rounds += 1
        sent: set[str] = set()

        def delivered(error: object, message: Message) -> None:
            assert error is None
            sent.add((message.value() or b"").decode())

        for partition in range(PARTITIONS):
            for number in range(5):
                value = f"{self._rounds}-{partition}-{number}"
                self._producer.produce(TOPIC, value, partition=partition, on_delivery=delivered)
        assert self._producer.flush() == 0
        self._members.wait_until(lambda: sent <= {value for reader in self._readers for value in reader.read})


def test_group_keeps_its_generation_when_its_coordinator_moves(cluster: ClusterProcesses) -> None:
    """One member of each client, each with one partition. Nothing here is a reason for a rebalance."""
    with Members(cluster.servers, "group") as members, Keeper(cluster.servers) as keeper:
        readers = [members.start(client, TOPIC, **MEMBERS) for client in CLIENTS]
        members.wait_until(lambda: members.shares() == [1, 1, 1])
        load = Load(cluster.servers, members, readers)
        load.round()
        keeper.await_more()
        shares = [set(reader.owned) for reader in readers]
        taken = [len(reader.taken) for reader in readers]

        def check(what: str) -> None:
            load.round()
            keeper.await_more()
            assert [set(reader.owned) for reader in readers] == shares, what
            assert [len(reader.taken) for reader in readers] == taken, what

        first = cluster.leader(OFFSETS, 0)
        second, third = (broker_id for broker_id in cluster.brokers if broker_id != first)
        cluster.reassign(OFFSETS, 0, [second, third, first])
        cluster.elect_preferred(OFFSETS, 0)
        check("elected")

        for leader in (first, second, third):  # there and back, faster than clients notice
            cluster.reassign(OFFSETS, 0, [leader, *(each for each in cluster.brokers if each != leader)])
            cluster.elect_preferred(OFFSETS, 0)
        check("moved about")

        cluster.reassign(OFFSETS, 0, [first, second])
        check("taken away from a broker")

        cluster.reassign(OFFSETS, 0, [third, second, first])
        cluster.elect_preferred(OFFSETS, 0)
        cluster.brokers[third].stop()
        cluster.await_leader(OFFSETS, 0, lambda leader: leader not in (-1, third))
        check("stopped")
        cluster.start(third)
        cluster.elect_preferred(OFFSETS, 0)
        check("started")

        cluster.brokers[third].kill()
        cluster.await_leader(OFFSETS, 0, lambda leader: leader not in (-1, third))
        check("killed")
        cluster.start(third)
        cluster.await_in_sync(OFFSETS, 0)
        leader = cluster.leader(OFFSETS, 0)
        cluster.brokers[leader].kill()
        cluster.await_leader(OFFSETS, 0, lambda other: other not in (-1, leader))
        check("killed, another one")
    for broker in cluster.brokers.values():
        assert not [line for line in broker.lines if "Traceback" in line]


def test_changing_members_read_everything_while_coordinators_are_killed(cluster: ClusterProcesses) -> None:
    """Coordinators die during rebalances, which start again with the next coordinator and must finish."""
    with Members(cluster.servers, "group") as members, Keeper(cluster.servers) as keeper:
        readers = [members.start("confluent", TOPIC, **MEMBERS)]
        members.wait_until(lambda: members.shares() == [3])
        load = Load(cluster.servers, members, readers)
        load.round()
        for client in ("java", "kafka-python"):
            leader = cluster.await_leader(OFFSETS, 0, lambda leader: leader != -1)
            readers.append(members.start(client, TOPIC, **MEMBERS))
            cluster.brokers[leader].kill()
            cluster.await_leader(OFFSETS, 0, lambda other, dead=leader: other not in (-1, dead))  # type: ignore[misc]
            members.wait_until(lambda: len(members.shares()) == len(readers))
            load.round()
            keeper.await_more()
            cluster.start(leader)
            cluster.await_in_sync(OFFSETS, 0)
        assert members.shares() == [1, 1, 1]
        readers[0].leave()
        members.wait_until(lambda: members.shares() == [1, 2])
        load.round()
