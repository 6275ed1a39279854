"""kafka-python and librdkafka take pybroker for the release in ``pybroker.as.version``, produce and consume."""

import logging
import re
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPythonPartition
from pybroker import Broker, Cluster
from support.clients.foreign_clients import kcat_command

VERSIONS_INFERRED = {
    "0.10.2": (0, 10, 2),
    "1.1": (1, 1),
    "2.0": (2, 0),
    "2.8": (2, 8),
    "3.6": (3, 6),
    "4.1": (4, 1),
    "4.2": (4, 2),
}
BY_0_10_2 = {"ApiVersion", "BrokerBalancedConsumer", "BrokerGroupCoordinator", "LZ4", "MsgVer1", "OffsetTime", "Sasl"}
BY_0_10_2 |= {"SaslHandshake", "ThrottleTime"}
BY_1_1 = BY_0_10_2 | {"MsgVer2", "IdempotentProducer", "SaslAuthReq"}
BY_2_1 = BY_1_1 | {"ZSTD"}
FEATURES = {"0.10.2": BY_0_10_2, "1.1": BY_1_1, "2.0": BY_1_1, **dict.fromkeys(("2.8", "3.6", "4.1", "4.2"), BY_2_1)}
"""The features that librdkafka enables because of the versions that a broker lists."""
ONLY_BY_OLD_FETCHES = {"MsgVer1", "ThrottleTime"}
"""Features that older versions of librdkafka enable only for brokers before 4.0."""


class Lines(logging.Handler):
    """Keeps the text of log records."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(params=VERSIONS_INFERRED)
def release(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def servers(release: str) -> Iterator[str]:
    with Broker({"pybroker.as.version": release, "offsets.topic.num.partitions": "1"}) as broker:
        yield broker.bootstrap_servers


def test_kafka_python_infers_the_release_and_reads_what_it_wrote(servers: str, release: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    sent = producer.send("t", b"value", partition=0).get(30)
    inferred = producer.config["api_version"]
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", group_id="g")
    consumer.assign([KafkaPythonPartition("t", 0)])
    record = next(iter(consumer))
    consumer.commit()
    consumer.close()
    assert (record.value, record.offset) == (b"value", sent.offset)
    assert inferred == VERSIONS_INFERRED[release]


def test_librdkafka_enables_the_features_of_the_release_and_reads_what_it_wrote(servers: str, release: str) -> None:
    lines, logger = Lines(), logging.Logger("librdkafka")
    logger.addHandler(lines)
    producer = Producer({"bootstrap.servers": servers, "debug": "feature"}, logger=logger)
    producer.produce("t", b"value", partition=0)
    assert producer.flush(30) == 0
    producer.poll(0)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("t", 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.value() == b"value"
    enabled = set(re.findall(r"Enabling feature (\w+)", "\n".join(lines.texts)))
    assert enabled == FEATURES[release]


def test_kcat_enables_the_features_of_the_release_and_reads_what_it_wrote(servers: str, release: str) -> None:
    kcat = [kcat_command(), "-b", servers, "-t", "t"]
    subprocess.run([*kcat, "-P", "-p", "0"], input="value", text=True, check=True)
    reading = subprocess.run([*kcat, "-C", "-e", "-d", "feature"], capture_output=True, text=True, check=True)
    assert reading.stdout == "value\n"
    enabled = set(re.findall(r"Enabling feature (\w+)", reading.stderr))
    expected = FEATURES[release]
    assert enabled in ((expected, expected - ONLY_BY_OLD_FETCHES) if release.startswith("4.") else (expected,))


def test_cluster_replicates_while_clients_see_an_old_release() -> None:
    settings = {"pybroker.as.version": "1.1", "min.insync.replicas": "2", "default.replication.factor": "2"}
    with Cluster(2, settings) as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")
        assert producer.send("t", b"value", partition=0).get(30).offset == 0
        assert producer.config["api_version"] == (1, 1)
        producer.close()


@pytest.mark.parametrize("release", ["0.10.2", "1.1", "4.2"])
def test_librdkafka_logs_in_after_the_release_refused_its_first_version_of_api_versions(release: str) -> None:
    """0.10.2 and 1.1 do not know version 3, which librdkafka asks for first."""
    with Broker({"pybroker.as.version": release}, users={"alice": "secret"}) as broker:
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        login |= {"sasl.username": "alice", "sasl.password": "secret"}
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **login})
        producer.produce("t", b"value", partition=0)
        assert producer.flush(30) == 0
