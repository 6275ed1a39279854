"""A query from topic to topic in transactions on real Spark: each row once through kills and repeated micro-batches."""

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.clients.produced import numbered, produce
from support.clients.row_count import RowCount
from support.clients.topics import create_topic
from support.spark.plain_rows import content
from support.spark.spark_rows import found_in, loaded, with_retry
from support.spark.spark_session import spark_session
from support.time.patience import await_that

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMMITTED = "read_committed"
SINK = {"kafka.transactional.id": "copy"}


def test_micro_batch_that_spark_repeats_is_written_once(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    """A kill of the driver after the sink's commit and before Spark's leaves the checkpoint without its last commit."""
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 2)
    expected = produce(servers, numbered(topic, [0, 1], 40))

    def copy() -> None:
        frame = loaded(spark.readStream, servers, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=25)
        writer = frame.drop("topic").writeStream.format("pybroker").option("kafka.bootstrap.servers", servers)
        writer = writer.options(topic=f"{topic}-copy", checkpointLocation=str(tmp_path), **SINK)
        with_retry(lambda: writer.trigger(availableNow=True).start().awaitTermination())

    copy()
    last = max((tmp_path / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    for path in (last, last.with_name(f".{last.name}.crc")):
        path.unlink()
    copy()
    found = found_in(loaded(spark.read, servers, subscribe=f"{topic}-copy", kafka_isolation_level=COMMITTED))
    assert sorted((row.partition, row.value or b"") for row in found) == sorted(
        (row.partition, row.value or b"") for row in expected
    )


def test_second_write_to_a_topic_in_foreach_batch_fails_the_query(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    """Its tasks find the marks of the first write, and could not tell after a restart which of both is written."""
    create_topic(servers, topic, 1)
    create_topic(servers, f"{topic}-copy", 1)
    expected = produce(servers, numbered(topic, [0], 6))
    writes: list[str] = []

    def write_twice(frame: "DataFrame", _: int) -> None:
        for name in ("one", "two"):
            writer = frame.select("value").write.format("pybroker").mode("append")
            writer.options(topic=f"{topic}-copy", **SINK, **{"kafka.bootstrap.servers": servers}).save()
            writes.append(name)

    frame = loaded(spark.readStream, servers, subscribe=topic, startingOffsets="earliest")
    writer = frame.writeStream.foreachBatch(write_twice).option("checkpointLocation", str(tmp_path))
    with pytest.raises(Exception, match="give each write of a micro-batch its own 'kafka"):
        with_retry(lambda: writer.trigger(availableNow=True).start().awaitTermination())
    assert set(writes) == {"one"}
    found = found_in(loaded(spark.read, servers, subscribe=f"{topic}-copy", kafka_isolation_level=COMMITTED))
    assert [row.value for row in found] == [row.value for row in expected]


@pytest.mark.long
def test_complete_result_of_an_aggregation_is_written_by_each_micro_batch(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, 1)
    create_topic(servers, f"{topic}-counts", 1)

    def count() -> None:
        frame = loaded(spark.readStream, servers, subscribe=topic, startingOffsets="earliest")
        counts = frame.groupBy("partition").count().selectExpr("cast(count as string) as value")
        writer = counts.writeStream.format("pybroker").outputMode("complete").options(**SINK)
        writer = writer.options(topic=f"{topic}-counts", **{"kafka.bootstrap.servers": servers})
        writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        with_retry(lambda: writer.start().awaitTermination())

    for first in (0, 6):
        produce(servers, numbered(topic, [0], 6, first=first))
        count()
    found = found_in(loaded(spark.read, servers, subscribe=f"{topic}-counts", kafka_isolation_level=COMMITTED))
    assert [row.value for row in found] == [b"6", b"12"]


@pytest.mark.long
def test_each_row_is_written_once_after_kills_of_driver_and_task(
    servers: str, topic: str, tmp_path: Path, kill_rounds: int, kill_seed: int
) -> None:
    chance = random.Random(kill_seed)
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 1)
    reads = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 50}
    (tmp_path / "session").mkdir()
    copies = RowCount(servers, f"{topic}-copy", 1)
    produced = 0
    for _ in range(kill_rounds):
        produced += len(produce(servers, numbered(topic, [0, 1], 600, first=produced)))
        with spark_session(servers, tmp_path / "session", {"spark.master": "local[2,8]"}, {}) as spark:
            start = copies.now()
            spark.follow_into(f"{topic}-copy", tmp_path / "checkpoint", SINK, **reads)
            for goal in sorted(chance.sample(range(1, 500), 2)):
                await_that(copies.reached(start + goal), f"{goal} records")
                spark.kill_a_task()
    copies.close()
    with spark_session(servers, tmp_path / "session", {"spark.master": "local[2]"}, {}) as spark:
        spark.copy_into(f"{topic}-copy", tmp_path / "checkpoint", SINK, **reads)
        copied = spark.read(subscribe=f"{topic}-copy", kafka_isolation_level=COMMITTED).rows
        originals = spark.read(subscribe=topic).rows
    assert sorted(content(row.value) or b"" for row in copied) == sorted(content(row.value) or b"" for row in originals)
