"""Tests of applications that promise exactly once, while they and brokers are killed by SIGKILL."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from support.clients.connect_worker import Worker
from support.clients.foreign_clients import PROGRAMS, running
from support.clients.topics import admin_client
from support.processes.cluster_processes import ClusterProcesses
from support.processes.started_broker import Broker, StartBroker
from support.time.patience import READS, await_that, await_thread

pytestmark = pytest.mark.long
PARTITIONS = 2
QUICK_TIME_OUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
IN_CLUSTER = {
    **QUICK_TIME_OUTS,
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "replica.fetch.backoff.ms": "100",
    "transaction.state.log.num.partitions": "1",
    "zookeeper.session.timeout.ms": "6000",
}
TRANSACTION_TIMEOUT_MS = 5_000
RECORDS_BETWEEN = 300
"""Records that are read between two kills."""
ROUNDS = 2
BETWEEN_LINES_S = 0.004


class Feed:
    """Passes numbered lines to `send` until it is stopped."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self.lines: list[str] = []
        self._send = send
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._stopped.wait(BETWEEN_LINES_S):
            number = len(self.lines)
            line = f"line {number} of{number % 3} and{number % 7}"
            self._send(line)
            self.lines.append(line)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        await_thread(self._thread, "the end of the feed")


class Output:
    """The committed records of a topic, in the order of each partition."""

    def __init__(self, servers: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "none",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        self.records: list[tuple[str, str]] = []
        """Keys and values."""

    def read(self, timeout_s: float = 1.0) -> int:
        """Returns how many records have come."""
        for message in self._consumer.consume(1000, timeout=timeout_s):
            if message.error() is None:
                self.records.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
        return len(self.records)

    def wait_until(self, amount: int) -> None:
        await_that(lambda: self.read() >= amount, f"{amount} records", READS)

    def close(self) -> None:
        self.read(5.0)  # records that should not be there
        self._consumer.close()


def go_through_kills(output: Output, kills: Sequence[Callable[[], None]]) -> None:
    """Kills while records flow: each time when `RECORDS_BETWEEN` more have come."""
    for _ in range(ROUNDS):
        for kill in kills:
            output.wait_until(len(output.records) + RECORDS_BETWEEN)
            kill()
    output.wait_until(len(output.records) + RECORDS_BETWEEN)


def create(servers: str, *topics: str) -> None:
    admin = admin_client(servers)
    for created in admin.create_topics([NewTopic(topic, PARTITIONS, -1) for topic in topics]).values():
        created.result()


class OneBroker:
    """A single broker."""

    replicas = 1

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.servers = broker.bootstrap_servers

    def restart(self) -> None:
        self._broker.kill()
        self._broker.start()


class ThreeBrokers:
    """A cluster that loses the coordinator of the transactions and that of the groups in turn."""

    replicas = 3

    def __init__(self, cluster: ClusterProcesses) -> None:
        self._cluster = cluster
        self._victims = cycle(("__transaction_state", "__consumer_offsets"))
        self.servers = cluster.servers

    def restart(self) -> None:
        topic = next(self._victims)
        killed = self._cluster.leader(topic, 0)
        self._cluster.brokers[killed].kill()
        self._cluster.await_leader(topic, 0, lambda leader: leader not in (killed, -1))
        self._cluster.start(killed)
        self._cluster.await_brokers()
        self._cluster.await_in_sync(topic, 0)


@pytest.fixture(params=["one broker", "three brokers"])
def brokers(
    request: pytest.FixtureRequest, start_broker: StartBroker, tmp_path: Path
) -> Iterator[OneBroker | ThreeBrokers]:
    if request.param == "one broker":
        yield OneBroker(start_broker(QUICK_TIME_OUTS))
        return
    kafkas = (1, 2, 3) if request.config.getoption("--against-kafka") else ()
    cluster = ClusterProcesses(tmp_path / "cluster", 3, IN_CLUSTER, kafkas)
    try:
        cluster.start()
        cluster.await_brokers()
        yield ThreeBrokers(cluster)
    finally:
        cluster.close()


class Application:
    """A Java program that can be killed and started again."""

    def __init__(self, *arguments: object) -> None:
        self._arguments = arguments
        self._stack = ExitStack()
        self._start()

    def _start(self) -> None:
        self._process = self._stack.enter_context(running(*self._arguments))

    def restart(self) -> None:
        self._process.kill()
        self._stack.close()
        self._start()

    def close(self) -> None:
        self._stack.close()


def by_word(records: Sequence[tuple[str, str]]) -> Mapping[str, list[int]]:
    """Returns the counts of each word in the order in which they came."""
    counts: dict[str, list[int]] = defaultdict(list)
    for word, count in records:
        counts[word].append(int(count))
    return counts


def test_streams_counts_each_word_once_through_kills(brokers: OneBroker | ThreeBrokers, tmp_path: Path) -> None:
    """The output has each count of each word exactly once, in order, so no record was lost or counted twice."""
    create(brokers.servers, "lines", "counts")
    producer = Producer({"bootstrap.servers": brokers.servers, "enable.idempotence": True})
    application = Application(
        PROGRAMS / "streams" / "WordCount.java",
        *(brokers.servers, "counter", "lines", "counts", tmp_path / "state"),
        *("processing.guarantee=exactly_once_v2", "statestore.cache.max.bytes=0"),
        f"producer.transaction.timeout.ms={TRANSACTION_TIMEOUT_MS}",
    )
    output = Output(brokers.servers, "counts")
    with closing(application):
        with Feed(lambda line: producer.produce("lines", line)) as feed:
            go_through_kills(output, [application.restart, brokers.restart])
        assert producer.flush(60) == 0
        words = Counter(word for line in feed.lines for word in line.split())
        output.wait_until(words.total())
    output.close()
    assert by_word(output.records) == {word: list(range(1, amount + 1)) for word, amount in words.items()}


def test_connect_source_writes_each_line_once_through_kills(brokers: OneBroker | ThreeBrokers, tmp_path: Path) -> None:
    create(brokers.servers, "lines")
    source = tmp_path / "source.txt"
    source.touch()
    stack = ExitStack()
    settings = {
        "exactly.once.source.support": "enabled",
        "session.timeout.ms": "6000",
        **{f"{kind}.storage.replication.factor": brokers.replicas for kind in ("offset", "config", "status")},
    }

    def start() -> Worker:
        return Worker(brokers.servers, "copiers", tmp_path, stack, settings)

    def replace_worker() -> None:
        workers[-1].kill()
        workers.append(start())

    def write(line: str) -> None:
        with source.open("a") as file:
            file.write(f"{line}\n")

    output = Output(brokers.servers, "lines")
    with stack:
        workers = [start()]
        workers[0].create("source", "Source", file=str(source), topic="lines", **{"exactly.once.support": "required"})
        with Feed(write) as feed:
            go_through_kills(output, [replace_worker, brokers.restart])
        output.wait_until(len(feed.lines))
    output.close()
    assert sorted(value for _, value in output.records) == sorted(feed.lines)
