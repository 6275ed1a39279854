"""Tests of streaming queries on real Spark over topics of a real broker: each record once, despite restarts."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from support.clients.produced import START_MS, Produced, numbered, produce
from support.clients.topics import create_topic, delete_records, grow_topic
from support.spark.spark_rows import found_in, loaded, with_retry
from support.time.patience import LOOKS, await_that

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


class Table:
    """A Parquet table that one query after another appends to, from the same checkpoint."""

    def __init__(self, spark: "SparkSession", servers: str, directory: Path) -> None:
        self._spark = spark
        self._servers = servers
        self._path = str(directory / "table")
        self._checkpoint = str(directory / "checkpoint")

    def start(self, **options: Any) -> "StreamingQuery":
        return self._writer(options).trigger(processingTime="0 seconds").start(self._path)

    def load_available(self, **options: Any) -> "StreamingQuery":
        """Runs a query to its end."""

        def load() -> "StreamingQuery":
            query = self._writer(options).trigger(availableNow=True).start(self._path)
            query.awaitTermination()
            return query

        return with_retry(load)

    def rows(self) -> list[Produced]:
        return found_in(self._spark.read.parquet(self._path))

    def _writer(self, options: dict[str, Any]) -> Any:
        frame = loaded(self._spark.readStream, self._servers, **options)
        return frame.writeStream.format("parquet").option("checkpointLocation", self._checkpoint)


@pytest.fixture
def table(spark: "SparkSession", servers: str, tmp_path: Path) -> Table:
    return Table(spark, servers, tmp_path)


def batch_sizes(query: "StreamingQuery") -> list[int]:
    return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]


def committed(servers: str, group: str, topic: str, partitions: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    found = consumer.committed([ConfluentPartition(topic, number) for number in range(partitions)])
    consumer.close()
    return [each.offset for each in found]


def test_available_now_reads_limited_batches_and_the_next_query_continues(
    table: Table, servers: str, topic: str
) -> None:
    create_topic(servers, topic, 2)
    expected = produce(servers, numbered(topic, [0, 1], 50))
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20}
    query = table.load_available(**options, **{"kafka.isolation.level": "read_committed"})
    assert batch_sizes(query) == [20, 20, 10]
    latest = [json.loads(progress["sources"][0]["latestOffset"]) for progress in query.recentProgress]
    facts = [each[""] for each in latest[:3]]
    assert [(each["isolation.level"], each["lag"]) for each in facts] == [
        ("read_committed", unread) for unread in (30, 10, 0)
    ]
    assert [each["lag.seconds"] is None for each in facts] == [False, False, True]
    assert all(time.time() - START_MS / 1000 - 600 < each["lag.seconds"] for each in facts[:2])
    assert table.rows() == expected
    assert batch_sizes(table.load_available(**options)) == []
    expected += produce(servers, numbered(topic, [0, 1], 10, first=50))
    assert batch_sizes(table.load_available(**options)) == [10]
    assert table.rows() == sorted(expected, key=lambda record: (record.partition, record.offset))


def test_new_partitions_and_topics_are_read_from_their_start(table: Table, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 5))
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest"}
    table.load_available(**options)
    grow_topic(servers, topic, 3)
    create_topic(servers, f"{topic}-more", 1)
    expected += produce(servers, numbered(topic, [0, 1, 2], 9))
    expected += produce(servers, numbered(f"{topic}-more", [0], 4))
    table.load_available(**options)
    assert table.rows() == sorted(expected)


def test_offsets_of_finished_batches_are_committed_to_the_group(table: Table, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    produce(servers, numbered(topic, [0, 1], 31))
    group = f"group-of-{topic}"
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 10}
    table.load_available(**options, commitOffsetsToGroup=group)
    assert committed(servers, group, topic, 2) == [16, 15], "the last batch's, too"


def test_stream_reads_records_that_arrive_later(table: Table, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 10))
    query = table.start(subscribe=topic, startingOffsets="earliest")
    try:
        await_rows(query, 10)
        expected += produce(servers, numbered(topic, [0], 7, first=10))
        await_rows(query, 17)
    finally:
        query.stop()
    assert table.rows() == expected


def await_rows(query: "StreamingQuery", count: int) -> None:
    def has_read() -> bool:
        error = query.exception()
        assert error is None, error
        return sum(batch_sizes(query)) >= count

    await_that(has_read, f"{count} rows", looks=LOOKS * 2)


def test_interrupted_first_batch_is_read_again_from_its_start(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    """`latest` means another offset when the query is restarted."""
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 5))
    offsets: list[list[int]] = []

    def start(each_batch: "Callable[[DataFrame, int], None]") -> "StreamingQuery":
        writer = loaded(spark.readStream, servers, subscribe=topic, startingOffsets="latest").writeStream
        return writer.foreachBatch(each_batch).option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    def keep(frame: "DataFrame", batch_id: int) -> None:
        offsets.append(sorted(row["offset"] for row in frame.select("offset").collect()))

    def break_off(frame: "DataFrame", batch_id: int) -> None:
        raise RuntimeError("the batch breaks off")

    query = start(break_off)
    await_that(lambda: not query.isActive, "the batch, of no rows, broke off", looks=LOOKS * 2)
    produce(servers, numbered(topic, [0], 7))
    query = start(keep)
    try:
        await_rows(query, 7)
    finally:
        query.stop()
    assert [offset for batch in offsets for offset in batch] == list(range(5, 12))


def test_records_deleted_between_two_queries_are_data_loss(table: Table, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 5))
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    table.load_available(**options)
    produce(servers, numbered(topic, [0], 5, first=5))
    delete_records(servers, topic, 0, before=8)
    with pytest.raises(Exception, match=f"Data is lost: offsets 5 to 7 of {topic}-0"):
        table.load_available(**options)
    table.load_available(**options, failOnDataLoss="false")
    assert [row.offset for row in table.rows()] == [0, 1, 2, 3, 4, 8, 9]
