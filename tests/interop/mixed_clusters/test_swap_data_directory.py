"""Tests of a data directory that moves from pybroker to Apache Kafka and back, and the other way round.

Each broker starts on the log directory of the previous one and on its metadata, copied between the embedded store and
ZooKeeper. Clients must read the same, and the log continues where it was.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.describe_config_scenarios import describe
from interop.side_by_side.requests import metadata
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import NewTopic
from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError as ZooKeeperNodeExistsError
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.tree_copy import CopiedNode, without_levels
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

SETTINGS = {
    "broker.id": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "log.segment.bytes": "8000",
    "log.index.interval.bytes": "500",
    "log.retention.ms": "-1",
    "log.cleaner.enable": "false",
}
CODECS = (None, "gzip", "snappy", "lz4", "zstd")
LONG_AGO = 1_600_000_000_000
PARTITIONS = {"plain": 3, "compacted": 1, "append-time": 1}
GROUP = "readers"
TOPIC_SETTING = 1
"""Source of a setting of the topic itself."""

Tree = Mapping[str, bytes]
"""The persistent nodes of the cluster's metadata by path."""


# -- brokers that use one directory in turn


class Broker(Protocol):
    """A broker that runs on the directory for a while."""

    def start(self, tree: Tree) -> str:
        """Starts on the metadata; returns the bootstrap servers."""
        ...

    def stop(self) -> Tree:
        """Stops cleanly; returns the metadata it leaves."""
        ...


@dataclass
class Pybroker:
    directory: Path
    metadata: Path
    _process: BrokerProcess = field(init=False)

    def start(self, tree: Tree) -> str:
        if tree:
            asyncio.run(write_embedded(self.metadata, tree))
        settings = {**SETTINGS, "metadata.store.path": str(self.metadata)}
        self._process = BrokerProcess(self.directory, settings).start()
        return self._process.bootstrap_servers

    def stop(self) -> Tree:
        assert self._process.stop() == 0
        complaints = [line for line in self._process.lines if " ERROR " in line or "Traceback" in line]
        assert not complaints, complaints
        return asyncio.run(read_embedded(self.metadata))


@dataclass
class Kafka:
    directory: Path
    metadata: Path
    _process: KafkaProcess = field(init=False)
    _zookeeper: ZooKeeperProcess = field(init=False)

    def start(self, tree: Tree) -> str:
        self._zookeeper = ZooKeeperProcess(self.metadata).start()
        write_zookeeper(self._zookeeper.connect, without_feature_levels(tree))
        self._process = KafkaProcess(self.directory, self._zookeeper, SETTINGS).start()
        return self._process.bootstrap_servers

    def stop(self) -> Tree:
        self._process.stop()
        complaints = [line for line in self._process.lines if "] ERROR " in line or "orrupt" in line]
        assert not complaints, complaints
        tree = read_zookeeper(self._zookeeper.connect)
        self._zookeeper.kill()
        return tree


async def write_embedded(file: Path, tree: Tree) -> None:
    store = await EmbeddedStore.open(file, lambda: 0)
    for path in sorted(tree):
        await store.create(path, tree[path])
    await store.close()


async def read_embedded(file: Path) -> Tree:
    store = await EmbeddedStore.open(file, lambda: 0)
    found: dict[str, bytes] = {}
    pending = ["/"]
    while pending:
        path = pending.pop()
        if path != "/":
            data, stat = await store.get(path)
            if stat.ephemeral_owner:
                continue
            found[path] = data
        pending += [f"{path.rstrip('/')}/{child}" for child in await store.children(path)]
    await store.close()
    return found


def write_zookeeper(connect: str, tree: Tree) -> None:
    client = KazooClient(connect)
    client.start()
    for path in sorted(tree):
        try:
            client.create(path, tree[path])
        except ZooKeeperNodeExistsError:
            client.set(path, tree[path])
    client.stop()
    client.close()


def without_feature_levels(tree: Tree) -> Tree:
    """Returns the nodes as `pybroker metadata copy` writes them: Kafka 3.9 stops on a level of a feature."""
    nodes = without_levels([CopiedNode(path, data, 0) for path, data in tree.items()])
    return {node.path: node.data for node in nodes}


def read_zookeeper(connect: str) -> Tree:
    client = KazooClient(connect)
    client.start()
    found: dict[str, bytes] = {}
    pending = [f"/{child}" for child in client.get_children("/") if child != "zookeeper"]
    while pending:
        path = pending.pop()
        data, stat = client.get(path)
        if not stat.ephemeralOwner:
            found[path] = data or b""
            pending += [f"{path}/{child}" for child in client.get_children(path)]
    client.stop()
    client.close()
    return found


# -- written and read contents


def create_topics(servers: str) -> None:
    settings = {
        "plain": {"retention.ms": "1234567890000"},
        "compacted": {"cleanup.policy": "compact"},
        "append-time": {"message.timestamp.type": "LogAppendTime"},
    }
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(name, count, 1, topic_configs=settings[name]) for name, count in PARTITIONS.items()])
    admin.close()


def produce(servers: str, name: str) -> None:
    """Produces records in every codec and several segments, with headers, nulls and timestamps; and
    commits an offset."""
    for number, codec in enumerate(CODECS):
        producer = KafkaProducer(bootstrap_servers=servers, compression_type=codec, linger_ms=2, batch_size=2000)
        for n in range(100):
            value = f"{name} {codec} {n} ".encode() * 8
            headers = [("name", name.encode()), ("empty", b"")]
            timestamp = LONG_AGO + 1000 * number + n
            producer.send("plain", value, b"key %d" % n, headers, partition=n % 3, timestamp_ms=timestamp)
            producer.send("compacted", None if n % 10 == 0 else value, b"key %d" % (n % 20), timestamp_ms=timestamp)
            producer.send("append-time", value, timestamp_ms=timestamp)
        producer.flush(30)
        producer.close()
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=GROUP)
    end = consumer.end_offsets([TopicPartition("plain", 0)])[TopicPartition("plain", 0)]
    consumer.commit({TopicPartition("plain", 0): OffsetAndMetadata(end - 1, f"by {name}", -1)})
    consumer.close()


def in_transactions(servers: str, name: str) -> None:
    """Runs one committed and one aborted transaction in one topic."""
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id="writer", enable_idempotence=True)
    producer.init_transactions()
    for committed in (True, False, True):
        producer.begin_transaction()
        for n in range(20):
            producer.send("plain", f"{name} {committed} {n}".encode(), partition=0, timestamp_ms=LONG_AGO)
        if committed:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()


def contents(servers: str) -> dict[str, Any]:
    """Returns everything that a client can read of the topics."""
    return {
        "records": dict(partitions(servers, "read_uncommitted")),
        "committed records": dict(partitions(servers, "read_committed")),
        "by time": by_time(servers),
        "commits": commits(servers),
        "topics": identities_and_settings(servers),
    }


def assigned(servers: str, **options: Any) -> KafkaConsumer:
    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, **options)
    consumer.assign([TopicPartition(name, index) for name, count in PARTITIONS.items() for index in range(count)])
    return consumer


def partitions(servers: str, isolation: str) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    consumer = assigned(servers, isolation_level=isolation)
    consumer.seek_to_beginning()
    found: dict[TopicPartition, list[Any]] = {partition: [] for partition in consumer.assignment()}
    ends = consumer.end_offsets(list(found))
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        for partition, records in consumer.poll(timeout_ms=100).items():
            found[partition] += records
    starts = consumer.beginning_offsets(list(found))
    consumer.close()
    for partition, records in sorted(found.items()):
        read = [(record.offset, record.timestamp, record.key, record.value, record.headers) for record in records]
        yield f"{partition.topic}-{partition.partition}", [(starts[partition], ends[partition]), *read]


def by_time(servers: str) -> list[Any]:
    consumer = assigned(servers)
    found = []
    for timestamp in (LONG_AGO, LONG_AGO + 1050, LONG_AGO + 4099, LONG_AGO + 5000):
        offsets = consumer.offsets_for_times(dict.fromkeys(consumer.assignment(), timestamp))
        found.append(sorted((partition, None if at is None else tuple(at[:2])) for partition, at in offsets.items()))
    consumer.close()
    return found


def commits(servers: str) -> Any:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    found = admin.list_group_offsets({GROUP: None})[GROUP]
    admin.close()
    return {str(partition): (commit.offset, commit.metadata) for partition, commit in found.items()}


def identities_and_settings(servers: str) -> Any:
    """Returns each topic's id and settings."""
    host, _, port = servers.partition(":")
    talk = Conversation((host, int(port)), "swap")
    topics = talk.unrecorded(metadata(*PARTITIONS), 12).topics
    found = {topic.name: topic.topic_id for topic in topics}
    own = [
        (name, config.name, config.value)
        for name in PARTITIONS
        for config in talk.unrecorded(describe(name), 4).results[0].configs
        if config.config_source == TOPIC_SETTING
    ]
    talk.close()
    return found, sorted(own)


# -- the tests


@pytest.mark.parametrize(
    "order",
    [(Pybroker, Kafka, Pybroker), pytest.param((Kafka, Pybroker, Kafka), marks=pytest.mark.long)],
    ids=["there", "back"],
)
def test_kafka_and_pybroker_continue_on_each_others_data_directory(
    order: tuple[type[Pybroker | Kafka], ...], tmp_path: Path
) -> None:
    tree: Tree = {}
    before: dict[str, Any] = {}
    for number, kind in enumerate(order):
        broker: Broker = kind(tmp_path / "broker", tmp_path / f"metadata-{number}")
        servers = broker.start(tree)
        if before:
            assert contents(servers) == before
        else:
            create_topics(servers)
        produce(servers, f"{kind.__name__} {number}")
        in_transactions(servers, f"{kind.__name__} {number}")
        before = contents(servers)
        tree = broker.stop()
    everything = [record for records in before["records"].values() for record in records]
    assert len(everything) > len(order) * len(CODECS) * 300
    assert len(list((tmp_path / "broker" / "data" / "plain-0").glob("*.log"))) > len(order)
