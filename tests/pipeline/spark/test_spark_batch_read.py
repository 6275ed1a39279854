"""Tests of batch queries on real Spark over topics of a real broker."""

from typing import TYPE_CHECKING, Any

import pytest
from support.clients.produced import START_MS, Produced, numbered, produce
from support.clients.topics import create_topic, delete_records
from support.spark.spark_rows import found_in, loaded, tasks_of, with_retry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def frame_of(spark: "SparkSession", servers: str, **options: Any) -> "DataFrame":
    return loaded(spark.read, servers, **options)


def test_batch_query_returns_all_produced_records(spark: "SparkSession", servers: str, topic: str) -> None:
    """Records with every codec, tombstones, empty and missing keys, all kinds of headers, and their own timestamps."""
    create_topic(servers, topic, 3)
    expected = []
    for number, codec in enumerate(CODECS):
        records = numbered(topic, [0, 1, 2], 60, first=100 * number)
        records += [
            Produced(topic, 0, -1, START_MS, None, b"no key"),
            Produced(topic, 1, -1, START_MS + 5, b"tombstone", None),
            Produced(topic, 2, -1, START_MS - 5, b"", b"", (("h", b"\xff"), ("h", None), ("ü", b""))),
            Produced(topic, 2, -1, START_MS, bytes(range(256)), b"x" * 100_000, (("one", b"1"),)),
        ]
        expected += produce(servers, records, compression_codec=codec)
    expected.sort(key=lambda record: (record.partition, record.offset))
    assert found_in(frame_of(spark, servers, subscribe=topic, includeHeaders="true")) == expected
    plain = frame_of(spark, servers, subscribe=topic)
    assert plain.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    assert found_in(plain) == [record._replace(headers=()) for record in expected]


def test_rows_have_the_timestamp_type(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 1, {"message.timestamp.type": "LogAppendTime"})
    create_topic(servers, f"{topic}-own", 1)
    produce(servers, [*numbered(topic, [0], 1), *numbered(f"{topic}-own", [0], 1)])
    rows = with_retry(frame_of(spark, servers, subscribePattern=f"{topic}.*").select("topic", "timestampType").collect)
    assert dict(tuple(row) for row in rows) == {topic: 1, f"{topic}-own": 0}


def test_batch_query_begins_and_ends_as_options_say(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    expected = produce(servers, numbered(topic, [0, 1], 40))

    def offsets(**options: Any) -> dict[int, tuple[int, int]]:
        """Returns the first and last offset by partition."""
        found = found_in(frame_of(spark, servers, subscribe=topic, **options))
        by_partition: dict[int, list[int]] = {}
        for record in found:
            by_partition.setdefault(record.partition, []).append(record.offset)
        assert set(found) <= set(expected)
        return {partition: (min(found), max(found)) for partition, found in by_partition.items()}

    assert offsets(
        startingOffsets=f'{{"{topic}":{{"0":5,"1":-2}}}}', endingOffsets=f'{{"{topic}":{{"0":-1,"1":7}}}}'
    ) == {0: (5, 19), 1: (0, 6)}
    assert offsets(startingTimestamp=START_MS + 11, endingTimestamp=START_MS + 20) == {0: (6, 9), 1: (5, 9)}
    assert offsets(startingOffsetsByTimestamp=f'{{"{topic}":{{"0":{START_MS + 30},"1":{START_MS + 39}}}}}') == {
        0: (15, 19),
        1: (19, 19),
    }
    late = START_MS + 10_000
    assert offsets(startingTimestamp=late, startingOffsetsByTimestampStrategy="latest") == {}
    with pytest.raises(Exception, match=f"'startingTimestamp': {topic}-0 has no record at or after"):
        offsets(startingTimestamp=late)
    with pytest.raises(Exception, match=f"'startingOffsets' lacks {topic}-1"):
        offsets(startingOffsets=f'{{"{topic}":{{"0":5}}}}')


def test_assign_reads_only_the_named_partitions(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 3)
    expected = produce(servers, numbered(topic, [0, 1, 2], 9))
    found = found_in(frame_of(spark, servers, assign=f'{{"{topic}":[0,2]}}'))
    assert found == [record for record in expected if record.partition != 1]
    with pytest.raises(Exception, match=f"Option 'subscribe': there is no topic {topic}-that-is-not-there"):
        with_retry(frame_of(spark, servers, subscribe=f"{topic}-that-is-not-there").count)


def test_partition_is_split_into_min_partitions_tasks(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 1000), batch_num_messages="70")
    for option, tasks in ({"minPartitions": 7}, 7), ({}, 1):
        frame = frame_of(spark, servers, subscribe=topic, **option)
        assert tasks_of(frame) == tasks
        assert found_in(frame) == expected


def test_deleted_records_raise_or_warn_by_fail_on_data_loss(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 20))
    delete_records(servers, topic, 0, before=5)
    start = f'{{"{topic}":{{"0":0}}}}'
    with pytest.raises(Exception, match=f"Data is lost: offsets 0 to 4 of {topic}-0 no longer exist"):
        with_retry(frame_of(spark, servers, subscribe=topic, startingOffsets=start).collect)
    found = found_in(frame_of(spark, servers, subscribe=topic, startingOffsets=start, failOnDataLoss="false"))
    assert found == expected[5:]


def test_ending_offset_behind_the_log_raises_or_warns_by_fail_on_data_loss(
    spark: "SparkSession", servers: str, topic: str
) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 5))
    options = {
        "subscribe": topic,
        "startingOffsets": f'{{"{topic}":{{"0":0}}}}',
        "endingOffsets": f'{{"{topic}":{{"0":9}}}}',
        "fetchOffset_retryIntervalMs": 1,
    }
    with pytest.raises(Exception, match=f"{topic}-0 ends at 5, before its ending offset 9"):
        with_retry(frame_of(spark, servers, **options).collect)
    assert found_in(frame_of(spark, servers, **options, failOnDataLoss="false")) == expected


def test_invalid_options_are_refused_by_name_on_spark(spark: "SparkSession", servers: str) -> None:
    """Other refused options: test_read_options. Spark passes names in lower case."""
    frame = frame_of(spark, servers, subscribe="a", startingOffset="earliest")
    with pytest.raises(Exception, match="Unknown option 'startingoffset'; did you mean 'startingOffsets'"):
        with_retry(frame.count)


def test_sql_view_reads_a_topic(spark: "SparkSession", servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 5))
    options = f"`kafka.bootstrap.servers` '{servers}', subscribe '{topic}', includeHeaders 'true'"
    with_retry(lambda: spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW topic_view USING pybroker OPTIONS ({options})"))
    assert found_in(spark.sql("SELECT * FROM topic_view WHERE offset >= 2")) == expected[2:]
