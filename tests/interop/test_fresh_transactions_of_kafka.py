"""Tests of a log just written by Apache Kafka with committed, aborted and open transactions of its own Java client.

The bytes differ from run to run. Kafka's own consumers give the expected contents, before and after its cleaner. Then a
pybroker serves, recovers and compacts a copy of the directory.
"""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient
from pybroker.base.topic_partition import TopicPartition as StoredPartition
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.storage.files import checkpoint_file
from pybroker.storage.files.files import Files
from support.clients.foreign_clients import PROGRAMS, java_from_source
from support.clients.librdkafka_reader import messages_to_end
from support.clients.topics import admin_client
from support.processes.broker_process import BrokerProcess
from support.processes.java import java_command
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.time.patience import await_that

TOPIC = "transactions"
STORED = StoredPartition(TOPIC, 0)
ISOLATIONS = ("read_committed", "read_uncommitted")
WRITING = {
    "log.segment.bytes": "3000",
    "log.index.interval.bytes": "200",
    "log.cleaner.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
COMPACTING = {
    **WRITING,
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.0001",
}

Record = tuple[int, bytes | None, bytes | None]
Seen = dict[str, tuple[int, list[Record]]]
"""By isolation level: the end offset for such a consumer, and (offset, key, value) of all records before it."""


@dataclass
class Written:
    """A log that Kafka wrote and served: as written, and compacted up to an offset."""

    data: Path
    tree: dict[str, bytes]
    seen: Seen
    seen_compacted: Seen
    compacted_up_to: int


def seen_from(servers: str) -> Seen:
    return {isolation: read(servers, isolation) for isolation in ISOLATIONS}


def read(servers: str, isolation: str) -> tuple[int, list[Record]]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "none",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    partition = TopicPartition(TOPIC, 0, 0)
    consumer.assign([partition])
    found: list[Record] = [(offset, message.key(), message.value()) for offset, message in messages_to_end(consumer)]
    end = consumer.get_watermark_offsets(partition)[1]
    consumer.close()
    return end, found


def tree_of(zookeeper: ZooKeeperProcess) -> dict[str, bytes]:
    """Returns ZooKeeper's nodes, except ephemeral ones and ZooKeeper's own."""
    client = KazooClient(zookeeper.connect)
    client.start()
    found: dict[str, bytes] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        data, stat = client.get(path)
        if stat.ephemeralOwner or path == "/zookeeper":
            continue
        if path != "/":
            found[path] = data or b""
        waiting += [f"{path.rstrip('/')}/{child}" for child in client.get_children(path)]
    client.stop()
    client.close()
    return found


def compacted_up_to(log_directory: Path) -> int:
    return checkpoint_file.read_offsets(Files(), str(log_directory / "cleaner-offset-checkpoint")).get(STORED, 0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    java_from_source()
    directory = tmp_path_factory.mktemp("kafka")
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, WRITING)
    try:
        yield by_kafka(directory, zookeeper, kafka)
    finally:
        zookeeper.kill()


def by_kafka(directory: Path, zookeeper: ZooKeeperProcess, kafka: KafkaProcess) -> Written:
    try:
        kafka.start()
        admin = admin_client(kafka.bootstrap_servers)
        topic = NewTopic(TOPIC, 1, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([topic])[TOPIC].result()
        program = java_command(str(PROGRAMS / "transactions" / "TransactionWriter.java"))
        done = subprocess.run(
            [*program, kafka.bootstrap_servers, TOPIC, "25"], capture_output=True, text=True, check=False
        )
        assert done.stdout == "written\n", done.stdout + done.stderr
        seen = seen_from(kafka.bootstrap_servers)
        kafka.stop()
        data = directory / "copy"
        shutil.copytree(kafka.log_directory, data)
        kafka = KafkaProcess(kafka.directory, zookeeper, COMPACTING).start()
        await_that(lambda: compacted_up_to(kafka.log_directory), "Kafka's cleaner to be done with the log")
        return Written(
            data,
            tree_of(zookeeper),
            seen,
            seen_from(kafka.bootstrap_servers),
            compacted_up_to(kafka.log_directory),
        )
    finally:
        kafka.kill()


def broker_on(written: Written, directory: Path, settings: dict[str, str]) -> BrokerProcess:
    """A broker on a copy of Kafka's directory, with the metadata from Kafka's ZooKeeper."""
    shutil.copytree(written.data, directory / "data")
    metadata = directory / "metadata.db"
    asyncio.run(write_tree(metadata, written.tree))
    return BrokerProcess(directory, {"broker.id": "0", "metadata.store.path": str(metadata), **settings})


async def write_tree(file: Path, tree: dict[str, bytes]) -> None:
    store = await EmbeddedStore.open(file, lambda: 0)
    for path in sorted(tree):
        data = tree[path]
        if path.endswith("/state"):
            data = json.dumps({**json.loads(data), "leader": 0, "isr": [0]}).encode()
        await store.create(path, data)
    await store.close()


def test_log_by_kafka_contains_all_relevant_cases(written: Written) -> None:
    stable, committed = written.seen["read_committed"]
    end, everything = written.seen["read_uncommitted"]
    assert stable < end, "a transaction is open"
    behind = [record for record in everything if record[0] >= stable]
    assert set(committed) < set(everything) - set(behind), "some transactions were aborted"
    assert len(list((written.data / str(STORED)).glob("*.log"))) > 5
    assert list((written.data / str(STORED)).glob("*.txnindex"))
    _, compacted = written.seen_compacted["read_committed"]
    assert 0 < len(compacted) < len(committed)


def test_each_consumer_gets_the_same_records_as_from_kafka(written: Written, tmp_path: Path) -> None:
    with broker_on(written, tmp_path, WRITING) as broker:
        assert seen_from(broker.bootstrap_servers) == written.seen


def test_each_consumer_gets_the_same_records_after_recovery_without_indexes(written: Written, tmp_path: Path) -> None:
    broker = broker_on(written, tmp_path, WRITING)
    partition = broker.log_directory / str(STORED)
    lost = [path for path in partition.iterdir() if path.suffix not in (".log", ".metadata")]
    assert {path.suffix for path in lost} >= {".index", ".timeindex", ".txnindex", ".snapshot"}
    lost += [path for path in broker.log_directory.iterdir() if path.name.endswith("-checkpoint")]
    for path in (*lost, broker.log_directory / ".kafka_cleanshutdown"):
        path.unlink()
    with broker:
        assert seen_from(broker.bootstrap_servers) == written.seen


def test_each_consumer_gets_the_same_records_after_compaction_as_from_kafka(written: Written, tmp_path: Path) -> None:
    with broker_on(written, tmp_path, COMPACTING) as broker:
        await_that(lambda: compacted_up_to(broker.log_directory), "the cleaner to be done with the log")
        assert compacted_up_to(broker.log_directory) == written.compacted_up_to
        assert seen_from(broker.bootstrap_servers) == written.seen_compacted
    with broker:  # contents of snapshots and indexes of the compacted segments
        assert seen_from(broker.bootstrap_servers) == written.seen_compacted
