"""Tests of the data source "pybroker-log" on real Spark, over log directories of Kafka and pybroker."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce
from support.clients.topics import create_topic
from support.logs.kafka_directories import LOGDIRS, batches, committed
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import golden_records
from support.spark.spark_rows import found_in, loaded, tasks_of, with_retry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KAFKAS = LOGDIRS / "kafka-3.9" / "data"
GOLDEN = ("golden1-plain", "golden1-txn", "golden1-compacted", "golden1-epochs", "golden1-append-time")


def frame_of(spark: "SparkSession", path: Any, **options: Any) -> "DataFrame":
    reader = spark.read.format("pybroker-log")
    for name, value in options.items():
        reader = reader.option(name.replace("_", "."), value)
    return with_retry(lambda: reader.load(str(path)))


def test_rows_and_file_columns_equal_the_dump_by_kafka(spark: "SparkSession") -> None:
    frame = frame_of(spark, KAFKAS, includeHeaders="true")
    deleted_below = {"golden1-append-time": 9}
    rows = {
        (row["topic"], row["offset"]): row
        for row in with_retry(frame.withColumn("ms", frame["timestamp"].cast("double") * 1000).collect)
    }
    expected = 0
    for topic in GOLDEN:
        for batch in batches("kafka-3.9", topic):
            for record in [] if batch["isControlBatch"] else golden_records(batch):
                if record.offset < deleted_below.get(topic, 0):
                    continue
                expected += 1
                row = rows[topic, record.offset]
                assert (row["key"], row["value"], round(row["ms"])) == (record.key, record.value, record.timestamp_ms)
                assert tuple(tuple(pair) for pair in row["headers"] or ()) == record.headers
                assert row["leaderEpoch"] == batch["partitionLeaderEpoch"]
                assert row["producerId"] == batch["producerId"]
                assert row["codec"] == batch["compressionType"]
                assert row["batchPosition"] == batch["position"]
                assert row["segment"] == str(KAFKAS / batch["file"])
    assert len(rows) == expected > 500, "internal topics are not among them"


def test_log_source_reads_messages_of_old_formats(spark: "SparkSession") -> None:
    frame = frame_of(spark, LOGDIRS / "ibp-2.8" / "data", subscribePattern="golden1-v.*")
    found = {(row["topic"], row["offset"]): row["value"] for row in with_retry(frame.collect)}
    expected = {
        (topic, record.offset): record.value
        for topic in ("golden1-v0", "golden1-v1", "golden1-v1-append-time")
        for batch in batches("ibp-2.8", topic)
        for record in golden_records(batch)
    }
    assert found == expected


def test_read_committed_log_query_skips_aborted_transactions(spark: "SparkSession") -> None:
    expected, _ = committed("kafka-3.9", "golden1-txn")
    frame = frame_of(spark, KAFKAS, subscribe="golden1-txn", kafka_isolation_level="read_committed")
    assert (
        sorted((row["offset"], bytes(row["value"] or b"") or row["value"]) for row in with_retry(frame.collect))
        == expected
    )


def test_internal_topics_are_read_only_if_named(spark: "SparkSession") -> None:
    frame = frame_of(spark, KAFKAS, subscribe="__consumer_offsets")
    assert {row["topic"] for row in with_retry(frame.select("topic").distinct().collect)} == {"__consumer_offsets"}


def test_each_segment_is_a_task_and_path_may_be_a_partition_directory(spark: "SparkSession") -> None:
    frame = frame_of(spark, KAFKAS / "golden1-txn-0")
    assert tasks_of(frame) == 4
    assert with_retry(frame.select("segment").distinct().count) == 4


def test_log_directory_of_a_running_broker_can_be_read(spark: "SparkSession", tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, {**KEEPS_OLD_RECORDS, "log.segment.bytes": "20000"}) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, "t", 2)
        expected = produce(servers, numbered("t", [0, 1], 4000), batch_num_messages="100", compression_codec="zstd")
        assert found_in(frame_of(spark, broker.log_directory, subscribe="t")) == expected
        assert found_in(loaded(spark.read, servers, subscribe="t")) == expected
    assert found_in(frame_of(spark, broker.log_directory)) == expected


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(KAFKAS, tmp_path / "data"))


def test_incomplete_batch_at_the_log_end_is_left_for_the_next_query(spark: "SparkSession", copied: Path) -> None:
    log = copied / "golden1-plain-0" / "00000000000000000000.log"
    whole = log.read_bytes()
    last = sorted((copied / "golden1-plain-0").glob("*.log"))[-1]
    count = with_retry(frame_of(spark, copied, subscribe="golden1-plain").count)
    with last.open("ab") as file:
        file.write(whole[:100])
    assert with_retry(frame_of(spark, copied, subscribe="golden1-plain").count) == count


def test_damaged_batch_raises_with_its_position_or_warns(spark: "SparkSession", copied: Path) -> None:
    (batch, *_) = [each for each in batches("kafka-3.9", "golden1-plain") if each["baseOffset"] > 50]
    file = copied / batch["file"]
    data = bytearray(file.read_bytes())
    data[batch["position"] + 70] ^= 0x10
    file.write_bytes(data)
    count = sum(each["recordCount"] for each in batches("kafka-3.9", "golden1-plain"))
    with pytest.raises(Exception, match=f"{file.name}, position {batch['position']}: .*corrupt"):
        with_retry(frame_of(spark, copied, subscribe="golden1-plain").collect)
    found = frame_of(spark, copied, subscribe="golden1-plain", failOnDataLoss="false")
    assert with_retry(found.count) == count - batch["recordCount"]


def test_truncated_segment_before_the_last_is_an_error(spark: "SparkSession", copied: Path) -> None:
    first = copied / "golden1-txn-0" / "00000000000000000000.log"
    first.write_bytes(first.read_bytes()[:-10])
    with pytest.raises(Exception, match="is cut off after"):
        with_retry(frame_of(spark, copied, subscribe="golden1-txn").collect)


def test_path_without_a_log_is_refused_by_name(spark: "SparkSession") -> None:
    with pytest.raises(Exception, match="is neither a log directory nor one of a partition"):
        with_retry(frame_of(spark, LOGDIRS).count)
