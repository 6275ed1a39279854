"""The data source, decoders and jobs on PySpark 4.0, the oldest that works, which has no read limits."""

import importlib.util
from pathlib import Path

import pytest
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.spark.plain_rows import content
from support.spark.spark_session import SparkSessionProcess, oldest_spark_session

AVRO = '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
PROTOBUF = 'syntax = "proto3"; message Event { int64 id = 1; }'
DECODED = {  # a schema, a value with the id 7, and what it needs
    "json": ("id bigint", b'{"id": 7}', ()),
    "avro": (AVRO, b"\x0e", ("fastavro",)),
    "protobuf": (PROTOBUF, b"\x08\x07", ("google.protobuf", "grpc_tools")),
}


def assert_values_are_decoded(spark: SparkSessionProcess) -> None:
    for kind, (schema, value, needed) in DECODED.items():
        if all(importlib.util.find_spec(each) is not None for each in needed):
            (good, bad, none) = spark.decode(kind, schema, [value, b"\xff", None])
            assert good == ('{"id":7}', None)
            assert bad[0] is None
            assert (bad[1] or "").startswith("the value ")
            assert none == (None, None)


def jobs_work(spark: SparkSessionProcess, servers: str, archive: Path, topic: str, jobs: tuple[str, ...]) -> None:
    """The archive has 40 records of the topic. A replay and a mirror write them to other topics."""
    checkpoint, report = archive.with_name("checkpoint-of-jobs"), archive.with_name("report.json")
    to = ("--bootstrap-servers", servers)
    replay = ("--archive", archive, *to, "--topic", f"replay.{topic}", "--checkpoint", checkpoint / "replay")
    mirror = ("--source", servers, "--target", servers, "--topics", topic, "--prefix", "mirror.", "--available-now")
    arguments: dict[str, tuple[str | Path, ...]] = {
        "compact-archive": (archive, "--keep-hours", "0"),
        "check-archive": (archive,),
        "replay": replay,
        "mirror": (*mirror, "--checkpoint", checkpoint / "mirror"),
        "report": (*to, "--topics", topic, "--json", report),
    }
    for job in jobs:
        if job in ("replay", "mirror"):
            create_topic(servers, f"{job}.{topic}", 2)
        assert spark.run(job, *arguments[job]) == 0, job
        if job in ("replay", "mirror"):
            assert len(spark.read(subscribe=f"{job}.{topic}").rows) == 40, job


def test_decoders_streams_and_jobs_that_write_work_on_spark_4_0(servers: str, topic: str, tmp_path: Path) -> None:
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 1)
    records = produce(servers, numbered(topic, [0, 1], 30))
    with oldest_spark_session(servers, tmp_path / "session") as spark:
        assert_values_are_decoded(spark)
        reads = {"subscribe": topic, "startingOffsets": "earliest"}
        written, checkpoint = tmp_path / "table", tmp_path / "checkpoint"
        assert spark.load(written, checkpoint, **reads) == [30]
        records += produce(servers, numbered(topic, [0, 1], 10, first=30))
        assert spark.load(written, checkpoint, **reads) == [10], "a restarted query continues where it was"
        assert spark.archive(tmp_path / "archive", **reads, maxOffsetsPerTrigger=16) == [16, 16, 8]
        assert spark.copy(f"{topic}-copy", tmp_path / "copied", **reads) == [40]
        jobs_work(spark, servers, tmp_path / "archive", topic, ("compact-archive", "replay"))

        expected = sorted(record.value or b"" for record in records)
        copied = spark.read(subscribe=f"{topic}-copy")
        for rows in (spark.table(written), spark.table(tmp_path / "archive" / "data"), copied.rows):
            assert sorted(content(row.value) or b"" for row in rows) == expected


@pytest.mark.long
def test_all_jobs_work_on_spark_4_0(servers: str, topic: str, tmp_path: Path) -> None:
    create_topic(servers, topic, 2)
    produce(servers, numbered(topic, [0, 1], 40))
    with oldest_spark_session(servers, tmp_path / "session") as spark:
        spark.archive(tmp_path / "archive", subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=16)
        every = ("compact-archive", "check-archive", "replay", "mirror", "report")
        jobs_work(spark, servers, tmp_path / "archive", topic, every)
