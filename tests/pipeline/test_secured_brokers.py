"""Tests with Apache Kafka listeners that require TLS or a login: the same options work for readers and writers."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.cluster import Cluster
from pybroker.client.connection import TlsError
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.pipeline.options.write_options import WriteOptions, write_options
from pybroker.pipeline.topics.offset_ranges import OffsetRange
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.sentinels import LATEST
from support.clients.topics import admin_client, create_topic
from support.processes.certificates import Authority
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.spark.gathered_rows import need_columns, records_of

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
MODULES = {"PLAIN": PLAIN, "SCRAM-SHA-256": SCRAM, "SCRAM-SHA-512": SCRAM}
USER, PASSWORD = "alice", 'a, "b" = c; ½ﬁ'
"""Contain characters with a meaning in JAAS, and characters that SASLprep replaces (RFC 4013)."""
PASSWORD_OF_STORES = "canary-of-stores"
AT = TopicPartition("t", 0)
FOR_EVER = 10**9
"""A timeout in ms that no test reaches, because refusals must be immediate."""


class SecuredKafka:
    """A broker of Apache Kafka. `servers`: an address by security protocol."""

    def __init__(self, directory: Path) -> None:
        authority = Authority(directory)
        names = "IP:127.0.0.1"
        store = authority.issue("kafka", names)
        self.trust = {"ssl.truststore.location": str(authority.certificate), "ssl.truststore.type": "PEM"}
        own = authority.issue("client", names)
        self.own = {"ssl.keystore.location": str(own), "ssl.keystore.type": "PEM"}
        key, _, certificate = own.read_text().partition("-----BEGIN CERTIFICATE")
        self.in_text = {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": authority.certificate.read_text(),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": f"-----BEGIN CERTIFICATE{certificate}".replace("\n", " "),
            "ssl.keystore.key": key,
        }
        self.in_stores = java_stores(directory, authority.certificate, own)
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper")
        ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")}
        self.servers = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        settings = {
            "listeners": ",".join(f"{name}://{address}" for name, address in self.servers.items()),
            **self.trust,
            "ssl.keystore.location": str(store),
            "ssl.keystore.type": "PEM",
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(MODULES),
        }
        for listener in ("sasl_plaintext", "sasl_ssl"):
            users = f'user_{USER}="{quoted(PASSWORD)}"'
            settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = in_file(f"{PLAIN} required {users};")
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                settings[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = f"{SCRAM} required;"
        self.kafka = KafkaProcess(directory / "kafka", self.zookeeper, settings)

    def start(self) -> None:
        self.zookeeper.start()
        self.kafka.start()
        admin = admin_client(self.servers["PLAINTEXT"])
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            credentials = ScramCredentialInfo(mechanism, 4096)
            change = UserScramCredentialUpsertion(USER, credentials, PASSWORD.encode())
            admin.alter_user_scram_credentials([change])[USER].result()
        create_topic(self.servers["PLAINTEXT"], AT.topic, 1)

    def kill(self) -> None:
        self.kafka.kill()
        self.zookeeper.kill()

    def login(self, protocol: str, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        """Returns login options of Kafka's clients, without Spark's prefix."""
        jaas = f'{MODULES[mechanism]} required username="{USER}" password="{quoted(password)}";'
        given = {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
        return {"bootstrap.servers": self.servers[protocol], "security.protocol": protocol, **self.trust, **given}


def java_stores(directory: Path, authority: Path, own: Path) -> dict[str, str]:
    """Returns options of stores in PKCS12, written by openssl."""
    trust, keys = directory / "trust.p12", directory / "own.p12"
    for source, store, *what in (authority, trust, "-nokeys"), (own, keys):
        export = ["-in", str(source), "-out", str(store), "-passout", f"pass:{PASSWORD_OF_STORES}", *map(str, what)]
        subprocess.run(["openssl", "pkcs12", "-export", *export], capture_output=True, check=True)
    return {
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD_OF_STORES,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(keys),
        "ssl.keystore.password": PASSWORD_OF_STORES,
    }


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def in_file(text: str) -> str:
    """Escapes a value for a Java properties file, which is Latin-1."""
    return text.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode().replace("\\x", "\\u00")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    need_columns()
    kafka = SecuredKafka(tmp_path_factory.mktemp("secured"))
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.kill()


class OneColumn:
    """The part of a Spark schema that the sink reads."""

    def __init__(self) -> None:
        self.name = "value"
        self.dataType = self
        self.fields = [self]

    def simpleString(self) -> str:  # noqa: N802 (Spark's name)
        return "string"


def writing(given: Mapping[str, str]) -> WriteOptions:
    options = {"topic": AT.topic, **{f"kafka.{name}": value for name, value in given.items()}}
    return write_options(options, OneColumn(), overwrite=False)


def is_written_and_read(given: Mapping[str, str], value: str) -> bool:
    """Writes a record by the sink and reads it by the source, each with these options."""
    from pybroker.pipeline.topics.range_reader import RangeReader
    from pybroker.pipeline.topics.task_producer import TaskProducer

    with TaskProducer(writing(given)) as producer:
        producer.send_all([{"value": value}])
    settings = reader_settings(given)
    with Cluster(settings) as cluster:
        end = cluster.offsets({AT: LATEST})[AT]
    last = OffsetRange(AT, end - 1, end)
    reader = RangeReader(last, settings, with_headers=False, fail_on_data_loss=True, no_progress_ms=60_000)
    return [record.value for gathered in reader.read() for record in records_of(gathered)] == [value.encode()]


def test_reader_and_writer_authenticate_by_client_certificate(kafka: SecuredKafka) -> None:
    given = {"bootstrap.servers": kafka.servers["SSL"], "security.protocol": "SSL", **kafka.trust}
    assert is_written_and_read({**given, **kafka.own}, "by a certificate")
    in_options = {"bootstrap.servers": given["bootstrap.servers"], "security.protocol": "SSL", **kafka.in_text}
    assert is_written_and_read(in_options, "by one that stands in the options")
    in_stores = {**kafka.in_stores, "security.protocol": "SSL", "bootstrap.servers": given["bootstrap.servers"]}
    assert is_written_and_read(in_stores, "by one in a store of Java")
    with (
        Cluster(reader_settings(given), retry_ms=FOR_EVER) as cluster,
        pytest.raises(TlsError, match="does not answer"),
    ):
        cluster.topic_names()


@pytest.mark.parametrize("mechanism", MODULES)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_reader_and_writer_log_in_by_sasl(kafka: SecuredKafka, protocol: str, mechanism: str) -> None:
    assert is_written_and_read(kafka.login(protocol, mechanism), f"{protocol} {mechanism}")


def test_transaction_of_a_repeated_task_writes_its_row_once(kafka: SecuredKafka) -> None:
    """At Apache Kafka; test_task_transaction has the other cases, at pybroker."""
    from pybroker.pipeline.topics.range_reader import RangeReader
    from pybroker.pipeline.topics.task_identity import TaskIdentity
    from pybroker.pipeline.topics.task_transaction import TaskTransaction

    given = kafka.login("SASL_SSL", "SCRAM-SHA-512")
    options = writing({**given, "transactional.id": "sink"})
    for batch_id, run in ((0, "first"), (0, "restarted"), (1, "restarted")):
        identity = TaskIdentity("query", batch_id, 0, f"write-of-{run}", run)
        with TaskTransaction(options, "sink", identity) as transaction:
            transaction.send_all([{"value": f"in transaction {batch_id}"}])
    settings = reader_settings({**given, "isolation.level": "read_committed"})
    with Cluster(settings) as cluster:
        everything = OffsetRange(AT, 0, cluster.offsets({AT: LATEST})[AT])
    reader = RangeReader(everything, settings, with_headers=False, fail_on_data_loss=True, no_progress_ms=60_000)
    found = [record.value or b"" for gathered in reader.read() for record in records_of(gathered)]
    assert [value for value in found if b"transaction" in value] == [b"in transaction 0", b"in transaction 1"]


@pytest.mark.parametrize("mechanism", MODULES)
def test_wrong_password_is_reported_at_once(kafka: SecuredKafka, mechanism: str) -> None:
    settings = reader_settings(kafka.login("SASL_PLAINTEXT", mechanism, "guessed"))
    with Cluster(settings, retry_ms=FOR_EVER) as cluster, pytest.raises(KafkaError, match="Authentication failed"):
        cluster.topic_names()


def test_broker_with_untrusted_certificate_is_refused(kafka: SecuredKafka, tmp_path: Path) -> None:
    other = {"ssl.truststore.location": str(Authority(tmp_path, "other").certificate)}
    settings = reader_settings({**kafka.login("SASL_SSL", "PLAIN"), **other})
    with Cluster(settings, retry_ms=FOR_EVER) as cluster, pytest.raises(TlsError, match="certificate verify failed"):
        cluster.topic_names()


def test_broker_with_wrong_hostname_is_refused_unless_names_are_unchecked(kafka: SecuredKafka) -> None:
    """The certificate names the numeric address."""
    given = kafka.login("SASL_SSL", "PLAIN")
    given["bootstrap.servers"] = given["bootstrap.servers"].replace("127.0.0.1", "localhost")
    with (
        Cluster(reader_settings(given), retry_ms=FOR_EVER) as cluster,
        pytest.raises(TlsError, match="not valid for 'localhost'"),
    ):
        cluster.topic_names()
    assert is_written_and_read({**given, "ssl.endpoint.identification.algorithm": ""}, "whatever its name is")


def test_plaintext_client_of_a_tls_listener_gets_a_clear_error(kafka: SecuredKafka) -> None:
    settings = reader_settings({"bootstrap.servers": kafka.servers["SSL"]})
    with Cluster(settings, retry_ms=FOR_EVER) as cluster, pytest.raises(TlsError, match=r"'kafka\.security\.protocol'"):
        cluster.topic_names()
