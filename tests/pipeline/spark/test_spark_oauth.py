"""The source, the sink and an archive job log in to a pybroker by signed tokens of an identity provider."""

from pathlib import Path
from typing import TYPE_CHECKING

from pybroker import Broker
from support.clients.produced import KEEPS_OLD_RECORDS
from support.security.token_provider import MODULE, token_provider
from support.spark.pipeline_commands import run_command
from support.spark.spark_rows import found_in, with_retry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET = "canary-0f1e2d"
SETTINGS = {**KEEPS_OLD_RECORDS, "listeners": "SASL_PLAINTEXT://127.0.0.1:0"}


def test_topics_are_written_read_and_archived_with_logins_by_token(spark: "SparkSession", tmp_path: Path) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    with (
        token_provider(tmp_path, SECRET, client_id="alice") as provider,
        Broker({**SETTINGS, **provider.settings()}) as broker,
    ):
        login = {
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "kafka.sasl.jaas.config": f'{MODULE} clientId="alice" clientSecret="{SECRET}" scope="x";',
            "kafka.sasl.oauthbearer.token.endpoint.url": provider.server.url,
        }
        options = {"kafka.bootstrap.servers": broker.bootstrap_servers, **login}
        frame = spark.createDataFrame([(b"one",), (b"two",)], "value binary").coalesce(1)
        with_retry(frame.write.format("pybroker").mode("append").options(topic="orders", **options).save)

        rows = spark.readStream.format("pybroker").options(subscribe="orders", startingOffsets="earliest", **options)
        sink = {"topic": "copies", "kafka.transactional.id": "copy", "checkpointLocation": str(tmp_path / "copy")}
        copy = rows.load().select("value").writeStream.format("pybroker").options(**options, **sink)
        with_retry(lambda: copy.trigger(availableNow=True).start().awaitTermination())
        copies = spark.read.format("pybroker").options(subscribe="copies", **options)
        assert [row.value for row in found_in(with_retry(copies.load))] == [b"one", b"two"]

        given = [word for name, value in login.items() for word in ("--option", f"{name}={value}")]
        archive = [
            "--bootstrap-servers",
            broker.bootstrap_servers,
            "--topics",
            "orders",
            "--to",
            str(tmp_path / "table"),
        ]
        assert run_command(spark, "archive", *archive, "--available-now", *given) == 0
    assert [row.value for row in found_in(read_archive(spark, str(tmp_path / "table")))] == [b"one", b"two"]
