"""Makes the data directories of old Apache Kafka brokers anew, all or those of the given versions.

Run it in this folder by `PYTHONPATH=../.. ../../../.venv/bin/python make_directories.py [VERSION...]`. Needs Java and
Maven.

How: each Kafka runs from Maven's jars, with its ZooKeeper. Records are sent byte for byte in the format of the version:
in every codec, in several segments, with timestamps out of order and before 1970, and from a transactional producer.
The broker is killed and recovers once, compacts a topic, and stops cleanly.
"""

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from pybroker.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch, read_records
from support.clients.wire_client import WireClient
from support.processes.ports import free_port

HERE = Path(__file__).resolve().parent
VERSIONS = {"0.9.0.1": "2.11", "0.10.0.1": "2.11", "0.11.0.3": "2.11", "1.1.1": "2.12", "2.3.1": "2.12"}
MAGIC = {"0.9.0.1": 0, "0.10.0.1": 1}
BEGIN_MS = 1_500_000_000_000
YEAR_ONE_MS = -62_135_596_800_000
"""The timestamp of a record with Go's zero time."""
SETTINGS = """broker.id=0
log.segment.bytes=2500
log.index.interval.bytes=200
log.index.size.max.bytes=4096
log.retention.ms=-1
log.retention.hours=-1
log.cleaner.enable=true
log.cleaner.dedupe.buffer.size=2000000
log.cleaner.backoff.ms=300
log.cleaner.min.cleanable.ratio=0.01
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
offsets.topic.segment.bytes=100000
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
"""
LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def await_that(is_so: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise SystemExit(f"make_directories: {what}: not within a minute")


def serves(port: int) -> bool:
    try:
        WireClient(f"127.0.0.1:{port}").close()
    except ConnectionError:
        return False
    return True


class OldKafka:
    """One broker of an old version with its ZooKeeper, in a temporary directory."""

    def __init__(self, version: str, directory: Path) -> None:
        self.version = version
        self.directory = directory
        self.data = directory / "data"
        self.port, self._zookeeper_port = free_port(), free_port()
        self._libs = HERE.parents[2] / ".cache" / f"old-kafka-{version}"
        self._fetch_jars()
        (directory / "log4j.properties").write_text(LOG4J)
        self.zookeeper = f"127.0.0.1:{self._zookeeper_port}"
        (directory / "zoo.cfg").write_text(
            f"tickTime=500\ndataDir={directory / 'zookeeper'}\nclientPort={self._zookeeper_port}\n"
            "clientPortAddress=127.0.0.1\n"
        )
        listener = f"PLAINTEXT://127.0.0.1:{self.port}"
        (directory / "server.properties").write_text(
            f"{SETTINGS}listeners={listener}\nadvertised.listeners={listener}\nlog.dirs={self.data}\n"
            f"zookeeper.connect={self.zookeeper}\n"
        )

    def _fetch_jars(self) -> None:
        if (self._libs / ".complete").exists():
            return
        subprocess.run(
            [
                "mvn",
                "--quiet",
                "--batch-mode",
                "--file",
                str(HERE / "pom.xml"),
                "dependency:copy-dependencies",
                f"-DoutputDirectory={self._libs}",
                f"-Dkafka.version={self.version}",
                f"-Dscala.version={VERSIONS[self.version]}",
            ],
            check=True,
        )
        (self._libs / ".complete").touch()

    def begin(self, main_class: str, *arguments: str) -> "subprocess.Popen[bytes]":
        log4j = f"-Dlog4j.configuration=file:{self.directory / 'log4j.properties'}"
        command = [
            "java",
            "-Xmx256m",
            "-XX:+UseSerialGC",
            log4j,
            "-cp",
            f"{self._libs}/*",
            main_class,
            *arguments,
        ]
        with (self.directory / "output").open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output)

    @contextmanager
    def with_zookeeper(self) -> Iterator[KazooClient]:
        process = self.begin("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(self.directory / "zoo.cfg"))
        client = KazooClient(self.zookeeper)
        try:
            client.start(timeout=60)
            yield client
        finally:
            client.stop()
            process.kill()
            process.wait()

    @contextmanager
    def started(self, client: KazooClient, *, kill: bool = False) -> Iterator[WireClient]:
        """The running broker, with a connection to it. It ends by a clean stop, or by a kill."""
        process = self.begin("kafka.Kafka", str(self.directory / "server.properties"))
        try:
            await_that(lambda: client.exists("/brokers/ids/0") or process.poll() is not None, "the broker's start")
            await_that(lambda: serves(self.port), "the broker's port")
            with WireClient(f"127.0.0.1:{self.port}") as connection:
                yield connection
        finally:
            process.kill() if kill else process.terminate()
            process.wait()
        if kill:
            await_that(lambda: not client.exists("/brokers/ids/0"), "the end of the session")

    def create_topic(self, name: str, *settings: str) -> None:
        config = [argument for setting in settings for argument in ("--config", setting)]
        process = self.begin(
            "kafka.admin.TopicCommand",
            *("--zookeeper", self.zookeeper, "--create", "--topic", name),
            *("--partitions", "1", "--replication-factor", "1", *config),
        )
        if process.wait():
            raise SystemExit(f"make_directories: {self.version}: topic {name} was not created")


class Traffic:
    """Sends records to a broker in the format of its version."""

    def __init__(self, version: str, connection: WireClient) -> None:
        self._connection = connection
        self._magic = MAGIC.get(version, 2)
        self._produce_version = {0: 1, 1: 2, 2: 3}[self._magic]
        self._fetch_version = {0: 0, 1: 2, 2: 4}[self._magic]
        self.codecs = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]

    def ask(self, request: Any, version: int, code_of: Callable[[Any], int]) -> Any:
        """Ask until the response has no error."""
        answers: list[Any] = []

        def succeeds() -> bool:
            answers.append(self._connection.ask(request, version))
            return code_of(answers[-1]) == 0

        await_that(succeeds, f"an answer to {request}")
        return answers[-1]

    def send(self, topic: str, records: list[Record], codec: Codec = Codec.NONE, **fields: Any) -> None:
        if self._magic == 2:
            data = build_batch(records, codec=codec, **fields)
        else:
            data = build_message_set(records, self._magic, codec)
        transactional_id = "t" if fields.get("is_transactional") else None
        partition = PartitionProduceData(index=0, records=data)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[partition])],
        )
        self.ask(request, self._produce_version, lambda answer: answer.responses[0].partition_responses[0].error_code)

    def send_plain(self, first: int, rounds: int) -> None:
        """Send appends of one to five records, in every codec, with timestamps out of order and before 1970."""
        for number in range(first, first + rounds):
            codec = self.codecs[number % len(self.codecs)]
            early = YEAR_ONE_MS if self._magic == 2 and number % 7 == 3 else None
            self.send(
                "plain",
                [
                    Record(
                        at,
                        early if early is not None else BEGIN_MS + number * 1000 - at * (number % 3),
                        f"key {number % 5}".encode() if at else None,
                        f"value {number}.{at} ".encode() * (1 + number % 4),
                    )
                    for at in range(1 + number % 5)
                ],
                codec,
            )

    def send_early(self) -> None:
        for at in range(20):
            self.send("early", [Record(n, YEAR_ONE_MS + at % 3, b"k", b"early" * 8) for n in range(1 + at % 3)])

    def send_compacted(self, rounds: int) -> None:
        for number in range(rounds):
            codec = self.codecs[number % len(self.codecs)]
            records = [
                Record(at, BEGIN_MS + number, f"key {(number + at) % 7}".encode(), f"{number}.{at}".encode() * 12)
                for at in range(3)
            ]
            self.send("compacted", records, codec)

    def send_transactions(self) -> None:
        producer = self.ask(
            InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000),
            0,
            lambda answer: answer.error_code,
        )
        sequence = 0
        names = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
        for number in range(12):
            topics = [AddPartitionsToTxnTopic(name="transactions", partitions=[0])]
            self.ask(
                AddPartitionsToTxnRequest(
                    v3_and_below_transactional_id="t",
                    v3_and_below_topics=topics,
                    **{f"v3_and_below_{name}": value for name, value in names.items()},
                ),
                0,
                lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
            )
            for _ in range(2):
                records = [Record(at, BEGIN_MS + number, b"key", b"value %d" % number * 10) for at in range(3)]
                self.send("transactions", records, base_sequence=sequence, is_transactional=True, **names)
                sequence += 3
            end = EndTxnRequest(transactional_id="t", committed=number % 3 != 1, **names)
            self.ask(end, 0, lambda answer: answer.error_code)

    def find_coordinator(self, key: str, key_type: int) -> None:
        version = 1 if key_type else 0
        request = FindCoordinatorRequest(key=key, key_type=key_type)
        self.ask(request, version, lambda answer: answer.error_code)

    def commit_offsets(self) -> None:
        for offset in range(5):
            topic = OffsetCommitRequestTopic(
                name="plain", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
            )
            request = OffsetCommitRequest(group_id="group", retention_time_ms=10**14, topics=[topic])
            self.ask(request, 2, lambda answer: answer.topics[0].partitions[0].error_code)

    def read(self, topic: str) -> list[dict[str, Any]]:
        """The records that this broker serves, aborted ones too."""
        found: list[dict[str, Any]] = []
        while True:
            offset = found[-1]["offset"] + 1 if found else 0
            partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(
                replica_id=-1,
                max_wait_ms=100,
                min_bytes=0,
                max_bytes=1 << 20,
                topics=[FetchTopic(topic=topic, partitions=[partition])],
            )
            answer = self._connection.ask(request, self._fetch_version).responses[0].partitions[0]
            new = [
                {
                    "topic": topic,
                    "offset": record.offset,
                    "timestamp": record.timestamp_ms,
                    "key": text(record.key),
                    "value": text(record.value),
                }
                for batch in iter_batches(bytes(answer.records or b""))
                if not batch.is_control
                for record in read_records(batch)
                if record.offset >= offset
            ]
            if not new:
                return found
            found += new


def text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def make(version: str) -> None:
    name = version.rpartition(".")[0]
    target = HERE / f"kafka-{name}"
    with tempfile.TemporaryDirectory() as temporary:
        kafka = OldKafka(version, Path(temporary))
        with kafka.with_zookeeper() as client:
            records = fill(kafka, client)
            nodes = sorted(nodes_below(client, "/"))
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(kafka.data, target / "data", ignore=shutil.ignore_patterns(".lock"))
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (target / "records.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
        (target / "znodes.jsonl").write_text(
            "".join(f"{json.dumps({'path': path, 'data': data, 'ephemeral': False})}\n" for path, data in nodes)
        )


def fill(kafka: OldKafka, client: KazooClient) -> list[dict[str, Any]]:
    topics = ["plain", "compacted"]
    if kafka.version not in MAGIC:
        topics += ["early", "transactions"]
    with kafka.started(client, kill=True) as connection:
        traffic = Traffic(kafka.version, connection)
        for topic in topics:
            kafka.create_topic(topic, *(["cleanup.policy=compact"] if topic == "compacted" else []))
        traffic.send_plain(0, 30)
        traffic.find_coordinator("group", 0)
        traffic.commit_offsets()
    with kafka.started(client) as connection:
        traffic = Traffic(kafka.version, connection)
        traffic.send_plain(30, 40)
        traffic.send_compacted(40)
        if "early" in topics:
            traffic.send_early()
            traffic.find_coordinator("t", 1)
            traffic.send_transactions()
        checkpoint = kafka.data / "cleaner-offset-checkpoint"
        await_that(lambda: checkpoint.exists() and "compacted 0" in checkpoint.read_text(), "the compaction")
        return [record for topic in topics for record in traffic.read(topic)]


def nodes_below(client: KazooClient, path: str) -> Iterator[tuple[str, str | None]]:
    """The persistent nodes with their data, without ZooKeeper's own."""
    data, stat = client.get(path)
    if stat.ephemeralOwner or path.startswith("/zookeeper"):
        return
    if path != "/":
        yield path, data.decode() if data else None
    for child in client.get_children(path):
        yield from nodes_below(client, f"{path.rstrip('/')}/{child}")


if __name__ == "__main__":
    os.umask(0o022)
    for asked in sys.argv[1:] or VERSIONS:
        make(asked)
