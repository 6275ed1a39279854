"""Jobs and the data source on real Spark, at a broker with TLS, SCRAM logins and ACLs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType
from pybroker.pipeline.jobs.command import FAILED
from support.clients.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.security.secured_broker import MODULE, SecuredBroker
from support.spark.pipeline_commands import run_command
from support.spark.pipeline_job import exit_code_of_job
from support.spark.spark_rows import found_in, loaded, with_retry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READ, WRITE = AclOperation.READ, AclOperation.WRITE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """At the end no password may be in its output."""
    with SecuredBroker(tmp_path_factory.mktemp("secured"), "alice", "bob", settings=KEEPS_OLD_RECORDS) as broker:
        yield broker
    assert "canary" not in broker.output


def produced_by_admin(broker: SecuredBroker, records: list[Produced]) -> list[Produced]:
    given = {name.replace(".", "_"): value for name, value in broker.librdkafka_options().items()}
    return produce(broker.bootstrap_servers, records, **given)


def job_options(broker: SecuredBroker, user: str, flag: str = "--option") -> list[str]:
    return [word for name, value in broker.options(user).items() for word in (flag, f"kafka.{name}={value}")]


def source_options_of(broker: SecuredBroker, user: str) -> dict[str, str]:
    """Options of the data source; names have underscores for dots."""
    return {f"kafka.{name}".replace(".", "_"): value for name, value in broker.options(user).items()}


def rows_in(spark: "SparkSession", root: Path) -> list[Produced]:
    from pybroker.pipeline.archive.archive_rows import read_archive

    return found_in(with_retry(lambda: read_archive(spark, str(root))))


def test_archive_job_reads_what_acls_allow(
    broker: SecuredBroker, spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic("orders", 2)
    expected = produced_by_admin(broker, numbered("orders", [0, 1], 50))
    root, said = tmp_path / "table", tmp_path / "said"
    arguments = ["archive", "--bootstrap-servers", broker.bootstrap_servers, "--topics", "orders", "--to", str(root)]
    arguments += ["--available-now", "--group", "archive-of-orders"]

    logged = ["--conf", "spark.eventLog.enabled=true", "--conf", "spark.eventLog.compress=false"]
    logged += ["--conf", f"spark.eventLog.dir={tmp_path}"]
    assert run_command(spark, *arguments, *job_options(broker, "bob")) == FAILED
    told = capsys.readouterr()
    assert "canary" not in told.out + told.err
    last_line = told.err.splitlines()[-1]
    assert last_line.startswith("pybroker-pipeline: ")
    assert "orders" in last_line
    assert "denied" in last_line

    broker.allow("alice", READ, TOPIC, "orders")
    broker.allow("alice", READ, GROUP, "archive-of-orders")
    assert exit_code_of_job(said, *arguments, *logged, *job_options(broker, "alice")) == 0, said.read_text()
    assert rows_in(spark, root) == expected
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"said", "metadata", "events_1_"} <= {path.name.rpartition("local")[0] or path.name for path in written}
    assert [path for path in written if b"canary" in path.read_bytes()] == [], "output, event log, checkpoint, table"


@pytest.mark.long
def test_replay_job_writes_what_acls_allow(
    broker: SecuredBroker, spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic("originals", 1)
    broker.create_topic("copies", 1)
    expected = produced_by_admin(broker, numbered("originals", [0], 20))
    broker.allow("alice", READ, TOPIC, "originals")
    to = ["--bootstrap-servers", broker.bootstrap_servers]
    read = ["archive", *to, "--topics", "originals", "--to", str(tmp_path / "table"), "--available-now"]
    assert run_command(spark, *read, *job_options(broker, "alice")) == 0
    write = ["replay", *to, "--archive", str(tmp_path / "table"), "--topic", "copies"]
    write += ["--checkpoint", str(tmp_path / "replay"), *job_options(broker, "alice")]
    assert run_command(spark, *write) == FAILED
    assert "denied" in capsys.readouterr().err.splitlines()[-1]
    for operation in (READ, WRITE, AclOperation.DESCRIBE_CONFIGS):
        broker.allow("alice", operation, TOPIC, "copies")
    assert run_command(spark, *write) == 0
    assert values(read_by(spark, broker, "alice", "copies")) == [record.value for record in expected]


def test_data_source_writes_and_reads_what_acls_allow(
    broker: SecuredBroker, spark: "SparkSession", tmp_path: Path
) -> None:
    broker.create_topic("rows", 1)
    frame = spark.createDataFrame([("one",), ("two",)], "value string")

    def write(user: str) -> None:
        given = {name.replace("_", "."): value for name, value in source_options_of(broker, user).items()}
        given |= {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": "rows"}
        with_retry(frame.coalesce(1).write.format("pybroker").mode("append").options(**given).save)

    with pytest.raises(Exception, match=r"(?i)denied|authoriz"):
        write("bob")
    broker.allow("alice", WRITE, TOPIC, "rows")
    write("alice")
    with pytest.raises(Exception, match=r"(?i)denied|authoriz"):
        read_by(spark, broker, "bob", "rows")
    broker.allow("alice", READ, TOPIC, "rows")
    assert values(read_by(spark, broker, "alice", "rows")) == [b"one", b"two"]

    rows = loaded(
        spark.readStream,
        broker.bootstrap_servers,
        subscribe="rows",
        startingOffsets="earliest",
        **source_options_of(broker, "alice"),
    )
    written = rows.writeStream.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint"))
    with_retry(lambda: written.format("parquet").start(str(tmp_path / "rows")).awaitTermination())
    assert values(found_in(spark.read.parquet(str(tmp_path / "rows")))) == [b"one", b"two"]


@pytest.mark.parametrize(
    "secret",
    [
        {"kafka.sasl.jaas.config": f'{MODULE} required username="alice" password="canary-1";'},
        {"kafka.sasl.jaas.config": f"{MODULE} required canary-2"},
        {
            "kafka.ssl.keystore.type": "PEM",
            "kafka.ssl.keystore.key": "canary-3",
            "kafka.ssl.truststore.password": "canary-4",
        },
    ],
)
def test_secrets_are_in_no_plan_and_no_error(
    spark: "SparkSession", broker: SecuredBroker, tmp_path: Path, secret: dict[str, str]
) -> None:
    given = {f"kafka.{name}": value for name, value in broker.options("alice").items()}
    given |= {"kafka.bootstrap.servers": broker.bootstrap_servers, **secret}
    seen = []

    def fails(action: Callable[[], object]) -> None:
        with pytest.raises(Exception, match=r"Option|Authentication|could not be written") as error:
            with_retry(action)
        seen.append("".join(format_exception(error.value)))

    stream = spark.readStream.format("pybroker").options(subscribe="t", **given).load()
    seen.append(str(stream._jdf.queryExecution().toString()))
    to = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    fails(lambda: to.start().awaitTermination())
    fails(spark.read.format("pybroker").options(subscribe="t", **given).load().collect)
    given |= {"topic": "t", "kafka.delivery.timeout.ms": "1000", "kafka.linger.ms": "0"}
    frame = spark.createDataFrame([("v",)], "value string")
    fails(frame.write.format("pybroker").mode("append").options(**given).save)
    assert [text for text in seen if "canary" in text] == []


def read_by(spark: "SparkSession", broker: SecuredBroker, user: str, topic: str) -> list[Produced]:
    given: dict[str, Any] = source_options_of(broker, user)
    return found_in(loaded(spark.read, broker.bootstrap_servers, subscribe=topic, **given))


def values(records: list[Produced]) -> list[bytes | None]:
    return [record.value for record in records]


@pytest.mark.long
def test_mirror_job_makes_topics_that_acls_allow(
    broker: SecuredBroker, spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic("events", 2)
    expected = produced_by_admin(broker, numbered("events", [0, 1], 20))
    broker.allow("alice", READ, TOPIC, "events")
    servers = broker.bootstrap_servers
    job = ["mirror", "--source", servers, "--target", servers, "--topics", "events", "--prefix", "east-"]
    job += ["--checkpoint", str(tmp_path / "mirror"), "--available-now"]
    job += [*job_options(broker, "alice", "--source-option"), *job_options(broker, "alice", "--target-option")]
    assert run_command(spark, *job) == FAILED
    assert "denied" in capsys.readouterr().err.splitlines()[-1]
    for operation in (AclOperation.CREATE, READ, WRITE, AclOperation.DESCRIBE_CONFIGS):
        broker.allow("alice", operation, TOPIC, "east-events")
    assert run_command(spark, *job) == 0, capsys.readouterr().err
    assert values(read_by(spark, broker, "alice", "east-events")) == values(expected)
