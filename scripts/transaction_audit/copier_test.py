"""The transactions test of Kafka's system tests (`transactions_test.py`), with Kafka's own copier.

`TransactionalMessageCopier` copies each partition of a topic in transactions of 750 records, while brokers or copiers
are restarted, by SIGTERM or by SIGKILL. Then each partition of the output must have the records of the input, each
once and in order, and so must what a consumer read meanwhile. (Kafka's test compares the order with one partition
only.)
"""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from support.load.cluster_view import ClusterView
from support.processes.java import java_command
from support.time.patience import await_that

from transaction_audit.audit_topics import create_topics
from transaction_audit.end_state import committed_values

__all__ = ["CASES", "Case", "differences", "play"]

_INPUT, _OUTPUT, _GROUP = "input-topic", "output-topic", "transactions-test-consumer-group"
_INPUT_PARTITIONS, _OUTPUT_PARTITIONS = 2, 3
_TRANSACTION_SIZE = 750
_TRANSACTION_TIMEOUT_MS = 40_000
_BOUNCES = 3
_BOUNCED_AT_PERCENT = 20.0
_BEGUN_PERCENT = 3.0
_COPIED_AFTER_S = 240.0


class Case(NamedTuple):
    """`target`: `brokers` or `clients` are restarted. `uses_group_metadata`: copiers commit as members (KIP-447)."""

    target: str
    is_clean: bool
    uses_group_metadata: bool

    def __str__(self) -> str:
        way = "clean" if self.is_clean else "hard"
        return f"{way} bounces of {self.target}, {'with' if self.uses_group_metadata else 'without'} group metadata"


CASES = tuple(Case(*each) for each in product(("brokers", "clients"), (False, True), (True, False)))


class _CopierProcess:
    """Kafka's copier of one partition, which ends when it has copied all."""

    def __init__(self, servers: str, partition: int, log: Path, *, uses_group_metadata: bool) -> None:
        self.name = f"copier-{partition}"
        options = {
            "input-topic": _INPUT,
            "input-partition": partition,
            "output-topic": _OUTPUT,
            "broker-list": servers,
            "transactional-id": self.name,
            "consumer-group": _GROUP,
            "transaction-size": _TRANSACTION_SIZE,
            "transaction-timeout": _TRANSACTION_TIMEOUT_MS,
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        arguments += ["--use-group-metadata"] if uses_group_metadata else []
        self._command = java_command("org.apache.kafka.tools.TransactionalMessageCopier", *arguments)
        self._log = log
        self._lines_before = 0
        self._start()

    def _start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def bounce(self, *, is_clean: bool) -> None:
        if is_clean:
            self._process.terminate()
        else:
            self._process.kill()
        self._process.wait()
        self._lines_before = len(self._log.read_text().splitlines())
        self._start()

    @property
    def progress_percent(self) -> float:
        """The share of its records that this process has copied. 100 when it has ended."""
        if self._process.poll() is not None:
            return 100.0
        for line in reversed(self._log.read_text().splitlines()[self._lines_before :]):
            if re.match(r'\{.*"stage":"ProcessLoop"', line):
                told = json.loads(line)
                consumed, remaining = int(told["consumed"]), int(told["remaining"])
                return 100.0 * consumed / (consumed + remaining)
        return 0.0

    @property
    def is_done(self) -> bool:
        """Raises AssertionError if it failed."""
        assert not self._process.poll(), f"{self.name} ended with {self._process.returncode}: {self._log}"
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class _ConcurrentReader:
    """Reads the committed output from its start, while it is written."""

    def __init__(self, servers: str) -> None:
        self.values: dict[int, list[bytes]] = {partition: [] for partition in range(_OUTPUT_PARTITIONS)}
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "concurrent_consumer",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition(_OUTPUT, partition, 0) for partition in self.values])
        self._is_over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._is_over:
            for message in self._consumer.consume(1000, timeout=0.5):
                if message.error() is None:
                    self.values[message.partition() or 0].append(message.value() or b"")

    def end(self, amount: int) -> None:
        """Reads on until this many records have come, or no more come."""
        await_that(lambda: sum(map(len, self.values.values())) >= amount, f"{amount} records are read meanwhile")
        self._is_over = True
        self._thread.join()
        self._consumer.close()


def play(case: Case, directory: Path, amount: int) -> Iterator[str]:
    """Copies so many records; yields what is wrong."""
    directory.mkdir(parents=True)
    settings = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
    with BlockingCluster(3, settings, directory=directory / "cluster") as cluster:
        servers = cluster.bootstrap_servers
        create_topics(ClusterView(cluster), {_INPUT: _INPUT_PARTITIONS, _OUTPUT: _OUTPUT_PARTITIONS})
        sent = _seed(servers, amount)
        copiers = [
            _CopierProcess(
                servers, partition, directory / f"copier-{partition}.log", uses_group_metadata=case.uses_group_metadata
            )
            for partition in range(_INPUT_PARTITIONS)
        ]
        reader = _ConcurrentReader(servers)
        try:
            count = _bounce(case, cluster, copiers)
            print(f"{case}: {count} restarts while records are copied", flush=True)
            _await_all(lambda: all(copier.is_done for copier in copiers))
            reader.end(amount)
            places = [(_OUTPUT, partition) for partition in range(_OUTPUT_PARTITIONS)]
            committed = {
                place[1]: [value for _, value in values] for place, values in committed_values(servers, places).items()
            }
            yield from differences("output", sent, committed)
            yield from differences("concurrent consumer", sent, reader.values)
        finally:
            for copier in copiers:
                copier.kill()
            for broker in cluster.broker_ids:
                cluster.kill(broker)


def _await_all(are_done: Callable[[], bool]) -> None:
    until_s = time.monotonic() + _COPIED_AFTER_S
    while not are_done():
        assert time.monotonic() < until_s, f"not all is copied after {_COPIED_AFTER_S} s"
        time.sleep(0.2)


def _seed(servers: str, amount: int) -> dict[int, list[bytes]]:
    """Numbers, by partition."""
    sent: dict[int, list[bytes]] = {partition: [] for partition in range(_OUTPUT_PARTITIONS)}
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 20})
    for number in range(amount):
        partition = number % _INPUT_PARTITIONS
        value = str(number).encode()
        sent[partition].append(value)
        while True:
            try:
                producer.produce(_INPUT, value, partition=partition)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0
    return sent


def _bounce(case: Case, cluster: BlockingCluster, copiers: Sequence[_CopierProcess]) -> int:
    """Returns how many restarts began before all was copied."""
    if case.target == "brokers":
        return _bounce_brokers(cluster, copiers, is_clean=case.is_clean)
    for _ in range(_BOUNCES):
        for copier in copiers:
            _await_progress(copier, _BOUNCED_AT_PERCENT)
            copier.bounce(is_clean=case.is_clean)
    return _BOUNCES * len(copiers)


def _bounce_brokers(cluster: BlockingCluster, copiers: Sequence[_CopierProcess], *, is_clean: bool) -> int:
    """Restarts one broker after the other until all is copied. (Kafka's test restarts each once, but takes longer.)"""
    for copier in copiers:
        _await_progress(copier, _BEGUN_PERCENT)
    for count, broker in enumerate(cycle(cluster.broker_ids)):
        if all(copier.is_done for copier in copiers):
            return count
        _bounce_broker(cluster, broker, is_clean=is_clean)
    raise AssertionError("a cycle has no end")


def _await_progress(copier: _CopierProcess, percent: float) -> None:
    await_that(lambda: copier.progress_percent >= percent, f"{copier.name} has copied {percent} %")


def _bounce_broker(cluster: BlockingCluster, broker: int, *, is_clean: bool) -> None:
    if is_clean:
        cluster.stop(broker)
    else:
        cluster.kill(broker)
        other = next(each for each in cluster.broker_ids if each != broker)
        view = ClusterView(cluster)
        await_that(lambda: broker not in view.brokers_known_to(other), f"broker {broker} is not registered")
    cluster.start(broker)


def differences(what: str, sent: dict[int, list[bytes]], found: dict[int, list[bytes]]) -> Iterator[str]:
    """Compares the values of each partition."""
    for partition, expected in sent.items():
        values = found[partition]
        if values == expected:
            continue
        missing, distinct = set(expected) - set(values), set(values)
        yield (
            f"{what}, partition {partition}: {len(missing)} of {len(expected)} records are missing, "
            f"{len(values) - len(distinct)} are doubled, {len(distinct - set(expected))} are strange"
            + ("" if missing or len(values) != len(expected) else ", and the order differs")
        )
