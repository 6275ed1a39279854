"""A real Prometheus scrapes three brokers under load: boards have data, and values are those of Kafka's tools."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.cimpl import NewTopic
from monitoring_files.__main__ import DIRECTORY
from monitoring_files.boards import BOARDS
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import produce_request
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.topics import admin_client
from support.clients.wire_client import WireClient
from support.monitoring.prometheus_process import PrometheusProcess
from support.monitoring.stock_boards import ASKED, JOINED
from support.processes.broker_process import BrokerProcess
from support.processes.cluster_processes import ClusterProcesses
from support.processes.ports import free_port
from support.time.patience import await_answer, await_thread

TOPIC, GROUP, PARTITIONS = "orders", "billing", 6
LOOKS = 1200
SETTINGS = {
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


class Scene(NamedTuple):
    cluster: ClusterProcesses
    prometheus: PrometheusProcess
    load: "Load"


class Load:
    """A producer and a member of a group in threads of their own. At the end some records stay unread."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._over = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._produce, self._consume)]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """May be called again."""
        self._over.set()
        for thread in self._threads:
            await_thread(thread, "the load ends")

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "acks": "all"})
        is_over = False
        while not is_over:
            is_over = self._over.is_set()
            for number in range(24):
                producer.produce(TOPIC, value=b"x" * 200, partition=number % PARTITIONS)
            producer.flush()
            time.sleep(0.02)  # a load, not a flood
        self._threads[1].join()
        for number in range(60):  # behind the last commit
            producer.produce(TOPIC, value=b"unread", partition=number % PARTITIONS)
        producer.flush()

    def _consume(self) -> None:
        settings = {"bootstrap.servers": self._servers, "group.id": GROUP, "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        consumer.subscribe([TOPIC])
        committed: set[int] = set()
        while not self._over.is_set() or len(committed) < PARTITIONS:
            if consumer.consume(100, 0.1):
                offsets = consumer.commit(asynchronous=False) or ()
                committed |= {offset.partition for offset in offsets if offset.offset > 0}
        consumer.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("scene")
    cluster = ClusterProcesses(directory, 3, SETTINGS)
    targets: dict[str, dict[str, str]] = {}
    for broker_id, broker in cluster.brokers.items():
        assert isinstance(broker, BrokerProcess)
        port = free_port()
        broker.settings["pybroker.http.listeners"] = f"HTTP://127.0.0.1:{port}"
        # Strimzi gives these labels to what it scrapes.
        labels = {"namespace": "kafka", "strimzi_io_cluster": "test", "container": "kafka"}
        targets[f"127.0.0.1:{port}"] = {**labels, "kubernetes_pod_name": f"test-kafka-{broker_id}"}
    try:
        cluster.start()
        cluster.await_brokers()
        admin = admin_client(cluster.servers)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result()
        with PrometheusProcess(directory / "prometheus", targets) as prometheus:
            load = Load(cluster.servers)
            load.begin()
            yield Scene(cluster, prometheus, load)
            load.end()
    finally:
        cluster.close()


def misbehave(cluster: ClusterProcesses) -> None:
    """Cause errors and refusals, which the boards count too."""
    for broker in cluster.brokers.values():
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            connection.recv(1000)
        with WireClient(broker.bootstrap_servers) as client:
            client.ask(produce_request("no topic of this name", build_batch([Record(0, 1, None, b"x")])), 9)


def own_queries() -> dict[str, str]:
    """The expressions of our boards, by board and title, with the variables at their defaults."""
    queries: dict[str, str] = {}
    for name in BOARDS:
        for panel in json.loads((DIRECTORY / "grafana" / f"{name}.json").read_text())["panels"]:
            for target in panel.get("targets", ()):
                query = target["expr"].replace("$__rate_interval", "1m")
                queries[f"{name}: {panel['title']}: {target['legendFormat']}"] = re.sub(r"\$[a-z]+", ".*", query)
    return queries


# Queries that have data only in trouble, which this scene lacks.
WITHOUT_DATA = {
    "groups: Time to catch up: {{group}}": "only of a group that is behind and catches up",
    "groups: Partitions with lost records: {{group}}": "only of a group that lost records",
}
STOCK_QUERIES = {f"{asked.board}: {asked.query}": asked.query for asked in ASKED} | {"joined": JOINED}


def test_every_query_of_our_boards_and_of_stock_boards_has_data_under_load(scene: Scene) -> None:
    wanted = {**STOCK_QUERIES, **own_queries()}

    def missing() -> list[str]:
        misbehave(scene.cluster)
        return [name for name, query in wanted.items() if not scene.prometheus.query(query)]

    await_answer(missing, lambda names: set(names) <= set(WITHOUT_DATA), "every query has data", LOOKS)


def test_offsets_and_lag_are_those_that_kafka_consumer_groups_tells(scene: Scene) -> None:
    scene.load.end()
    options = ["--bootstrap-server", scene.cluster.servers, "--describe", "--group", GROUP]
    text = run_tool(f"{TOOLS}.consumer.group.ConsumerGroupCommand", *options)
    rows = [line.split() for line in text.splitlines() if line.startswith(f"{GROUP} ")]
    told = {int(row[2]): tuple(map(int, row[3:6])) for row in rows if row[1] == TOPIC}
    assert set(told) == set(range(PARTITIONS))
    assert sum(lag for *_, lag in told.values()) >= 60

    def by_partition(series: str, labels: str) -> dict[int, int]:
        query = f'sum by (partition) ({series}{{topic="{TOPIC}"{labels}}})'
        return {int(metric["partition"]): int(value) for metric, value in scene.prometheus.query(query)}

    def measured() -> dict[int, tuple[int, ...]]:
        group = f',consumergroup="{GROUP}"'
        columns = (
            by_partition("kafka_consumergroup_current_offset", group),
            by_partition("kafka_topic_partition_current_offset", ""),
            by_partition("kafka_consumergroup_lag", group),
        )
        return {partition: tuple(column.get(partition, -1) for column in columns) for partition in told}

    await_answer(measured, lambda found: found == told, "Prometheus has the offsets of the group", LOOKS)
    lag_exporter = f'sum by (partition) (kafka_consumergroup_group_lag{{topic="{TOPIC}",group="{GROUP}"}})'
    assert {int(m["partition"]): int(v) for m, v in scene.prometheus.query(lag_exporter)} == {
        partition: lag for partition, (*_, lag) in told.items()
    }
    seconds = scene.prometheus.query(f'max(kafka_consumergroup_group_max_lag_seconds{{group="{GROUP}"}})')
    assert seconds[0][1] > 0


def test_alerts_are_quiet_in_a_healthy_cluster(scene: Scene) -> None:
    expressions = re.findall(r"^\s+expr: '(.*)'$", (DIRECTORY / "prometheus" / "alerts.yaml").read_text(), re.MULTILINE)
    assert len(expressions) == 13
    firing = [each for each in expressions if scene.prometheus.query(each.replace("''", "'"))]
    assert [each for each in firing if "free_bytes" not in each] == []  # this machine's disk may be full
