"""The data source and the job `archive` on PySpark 4.0, the oldest release that works, which has no read limits."""

from pathlib import Path

from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.spark.plain_rows import content
from support.spark.spark_session import oldest_spark_session


def test_streams_and_the_archive_read_and_write_each_record_once_on_spark_4_0(
    servers: str, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 1)
    records = produce(servers, numbered(topic, [0, 1], 30))
    with oldest_spark_session(servers, tmp_path / "session") as spark:
        reads = {"subscribe": topic, "startingOffsets": "earliest"}
        written, checkpoint = tmp_path / "table", tmp_path / "checkpoint"
        assert spark.load(written, checkpoint, **reads) == [30]
        records += produce(servers, numbered(topic, [0, 1], 10, first=30))
        assert spark.load(written, checkpoint, **reads) == [10], "a restarted query continues where it was"
        assert spark.archive(tmp_path / "archive", **reads, maxOffsetsPerTrigger=16) == [16, 16, 8]
        assert spark.copy(f"{topic}-copy", tmp_path / "copied", **reads) == [40]

        expected = sorted(record.value or b"" for record in records)
        copied = spark.read(subscribe=f"{topic}-copy")
        for rows in (spark.table(written), spark.table(tmp_path / "archive" / "data"), copied.rows):
            assert sorted(content(row.value) or b"" for row in rows) == expected
