"""Tests of writing DataFrames to topics on real Spark, compared with Spark's own Kafka sink."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka.partitioner.default import murmur2
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.spark.spark_rows import found_in, loaded, with_retry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADERS = "array<struct<key: string, value: binary>>"


def write(frame: "DataFrame", servers: str, **options: Any) -> None:
    writer = frame.write.format("pybroker").mode("append").option("kafka.bootstrap.servers", servers)
    for name, value in options.items():
        writer = writer.option(name.replace("_", "."), value)
    writer.save()


def test_columns_set_topic_partition_key_value_and_headers(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 3)
    rows = [
        (topic, "k", b"v", [("h", b"1"), ("h", None)], 2, "left aside"),
        (topic, None, b"", None, 0, ""),
        (topic, "tombstone", None, [], 1, ""),
    ]
    schema = f"topic string, key string, value binary, headers {HEADERS}, partition int, other string"
    write(spark.createDataFrame(rows, schema), servers)
    found = found_in(loaded(spark.read, servers, subscribe=topic, includeHeaders="true"))
    assert [(row.partition, row.key, row.value, row.headers) for row in found] == [
        (0, None, b"", ()),
        (1, b"tombstone", None, ()),
        (2, b"k", b"v", (("h", b"1"), ("h", None))),
    ]


def test_keys_go_to_the_partitions_of_kafkas_own_producer(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 5)
    keys = [f"key-{number}" for number in range(50)]
    write(spark.createDataFrame([(key, "v") for key in keys], "key string, value string"), servers, topic=topic)
    found = found_in(loaded(spark.read, servers, subscribe=topic))
    expected = {key.encode(): (murmur2(key.encode()) & 0x7FFFFFFF) % 5 for key in keys}
    assert {row.key: row.partition for row in found} == expected


def test_option_topic_overrides_the_column(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    write(spark.createDataFrame([("elsewhere", "v")], "topic string, value string"), servers, topic=f" {topic} ")
    assert [row.value for row in found_in(loaded(spark.read, servers, subscribe=topic))] == [b"v"]


def test_all_rows_of_many_tasks_are_written(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    frame = spark.range(20_000, numPartitions=4).selectExpr("cast(id as string) as value")
    write(frame, servers, topic=topic, kafka_compression_type="lz4")
    found = loaded(spark.read, servers, subscribe=topic).selectExpr("cast(cast(value as string) as bigint) as id")
    counted = found.selectExpr("count(*)", "count(distinct id)", "min(id)", "max(id)")
    assert with_retry(counted.first) == (20_000, 20_000, 0, 19_999)


def test_invalid_write_is_refused_by_name_on_spark(spark: "SparkSession", servers: str) -> None:
    """Other refused options: test_write_options."""
    with pytest.raises(Exception, match="Column 'value' must be string or binary, not int"):
        with_retry(lambda: write(spark.createDataFrame([], "value int"), servers, topic="t"))


def test_row_refused_by_the_broker_fails_the_query(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 1, {"max.message.bytes": "1000"})
    frame = spark.range(1).selectExpr("repeat('x', 5000) as value")
    with pytest.raises(Exception, match=f"A record for {topic} could not be written: .*too large"):
        with_retry(lambda: write(frame, servers, topic=topic))


def test_streaming_query_copies_topic_to_topic(spark: "SparkSession", servers: str, topic: str, tmp_path: Path) -> None:
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 2)
    expected = produce(servers, numbered(topic, [0, 1], 40))

    def copy() -> None:
        frame = loaded(spark.readStream, servers, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=25)
        writer = frame.drop("topic").writeStream.format("pybroker").option("kafka.bootstrap.servers", servers)
        writer = writer.option("topic", f"{topic}-copy").option("checkpointLocation", str(tmp_path / "checkpoint"))
        with_retry(lambda: writer.trigger(availableNow=True).start().awaitTermination())

    copy()
    expected += produce(servers, numbered(topic, [0, 1], 6, first=40))
    copy()
    found = found_in(loaded(spark.read, servers, subscribe=f"{topic}-copy"))
    assert sorted((row.partition, row.key, row.value) for row in found) == sorted(
        (row.partition, row.key, row.value) for row in expected
    )
