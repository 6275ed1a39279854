"""Tests of an archive job at a broker with TLS, SCRAM logins and ACLs while its task and its driver are killed."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce
from support.security.secured_broker import SecuredBroker
from support.spark.pipeline_job import exit_code_of_job, pipeline_job
from support.spark.spark_rows import found_in, with_retry
from support.spark.table_changes import await_changes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = 1000
RECORDS_A_COMMIT = 50


@pytest.mark.long
def test_each_record_of_a_secured_broker_is_archived_once_after_kills_of_task_and_driver(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from pybroker.pipeline.archive.archive_check import archive_faults
    from pybroker.pipeline.archive.archive_rows import read_archive

    root, said = tmp_path / "table", tmp_path / "said"
    with SecuredBroker(tmp_path / "broker", "alice", settings=KEEPS_OLD_RECORDS) as broker:
        broker.create_topic("orders", 2)
        broker.allow("alice", AclOperation.READ, ResourceType.TOPIC, "orders")
        admin = {name.replace(".", "_"): value for name, value in broker.librdkafka_options().items()}
        expected = produce(broker.bootstrap_servers, numbered("orders", [0, 1], RECORDS), **admin)
        job = ["archive", "--bootstrap-servers", broker.bootstrap_servers, "--topics", "orders", "--to", str(root)]
        job += ["--available-now", "--max-records", str(RECORDS_A_COMMIT)]
        for name, value in broker.options("alice").items():
            job += ["--option", f"kafka.{name}={value}"]
        with pipeline_job(said, *job) as running:
            await_changes(root, 5, running)
            was_task_killed = running.kill_a_worker()
            await_changes(root, 5, running)
            was_driver_killed = not running.has_ended
        assert exit_code_of_job(said, *job) == 0, said.read_text()
        assert "canary" not in said.read_text() + broker.output
    assert (was_task_killed, was_driver_killed) == (True, True)
    assert found_in(with_retry(lambda: read_archive(spark, str(root)))) == expected
    assert with_retry(lambda: list(archive_faults(spark, str(root)))) == []
