"""Tests of a query on a cluster of processes: a driver, and executors that share only the network with it.

`test_archive_kills` runs the job `archive` there, which streams and writes files.
"""

import json
from pathlib import Path
from threading import Thread

import pytest
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.spark.pipeline_job import CLUSTER, CLUSTER_OPTIONS
from support.spark.plain_rows import text
from support.spark.spark_home import spark_home
from support.spark.spark_session import spark_session
from support.time.patience import LOOKS, await_that

DRIVER = "driver"


def task_places(directory: Path) -> set[str]:
    """Returns the executors that ran tasks, from Spark's event log."""
    (log,) = directory.iterdir()
    events = map(json.loads, log.read_text().splitlines())
    return {event["Task Info"]["Executor ID"] for event in events if event["Event"] == "SparkListenerTaskEnd"}


@pytest.mark.long  # test_archive_kills.py kills an executor that reads a topic
@pytest.mark.usefixtures("spark")
def test_topic_is_read_by_executor_processes(servers: str, topic: str, tmp_path: Path) -> None:
    create_topic(servers, topic, 4)
    expected = produce(servers, numbered(topic, [0, 1, 2, 3], 2000), compression_codec="zstd")
    events = tmp_path / "events"
    events.mkdir()
    settings = {
        **CLUSTER_OPTIONS,
        "spark.master": CLUSTER,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    home = spark_home(tmp_path / "spark")
    with spark_session(servers, tmp_path, settings, {"SPARK_HOME": str(home)}) as session:
        found = session.read(subscribe=topic).rows
    places = task_places(events)
    assert places, "tasks were run"
    assert DRIVER not in places
    assert [(row.partition, row.offset, row.key, row.value) for row in found] == [
        (record.partition, record.offset, text(record.key), text(record.value)) for record in expected
    ]


@pytest.mark.long
@pytest.mark.usefixtures("spark")
def test_stream_into_files_has_each_record_once_after_an_executor_is_killed(
    servers: str, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, 4)
    expected = produce(servers, numbered(topic, [0, 1, 2, 3], 4000))
    table = tmp_path / "table"
    killed = []
    settings = {**CLUSTER_OPTIONS, "spark.master": CLUSTER}
    with spark_session(servers, tmp_path, settings, {"SPARK_HOME": str(spark_home(tmp_path / "spark"))}) as session:

        def kill_after_a_batch() -> None:
            await_that(lambda: list((table / "_spark_metadata").glob("0")), "a batch", looks=LOOKS * 4)
            killed.append(session.kill_an_executor())

        killing = Thread(target=kill_after_a_batch)
        killing.start()
        options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 400}
        batches = session.load(table, tmp_path / "checkpoint", subscribe=topic, **options)
        killing.join()
        found = session.table(table)
    assert killed == [True]
    assert batches == [400] * 10
    assert [(row.partition, row.offset, row.key, row.value) for row in found] == [
        (record.partition, record.offset, text(record.key), text(record.value)) for record in expected
    ]
