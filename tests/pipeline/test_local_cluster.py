"""Tests of a query on a cluster of processes: a driver, and executors that share only the network with it.

`test_archive_kills` runs the job `archive` there, which streams and writes files.
"""

import json
from pathlib import Path

import pytest
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.spark.pipeline_job import CLUSTER, CLUSTER_OPTIONS
from support.spark.plain_rows import text
from support.spark.spark_home import spark_home
from support.spark.spark_session import spark_session

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
