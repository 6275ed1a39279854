"""Tests of Spark's own Kafka connector on pybroker, and comparisons of its rows with those of the pipeline's source."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka.partitioner.default import murmur2
from support.clients.produced import KEEPS_OLD_RECORDS, START_MS, Produced, numbered, produce
from support.clients.topics import create_topic, delete_records, grow_topic
from support.logs.kafka_directories import broker_on
from support.processes.broker_process import BrokerProcess
from support.spark.plain_rows import PlainRow, plain_rows, text
from support.spark.spark_rows import loaded, tasks_of, with_retry
from support.spark.spark_session import QueryError, Read, SparkSessionProcess, connector_home, spark_connector
from support.time.patience import LOOKS, await_that

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
GOLDEN = ("golden1-plain", "golden1-txn", "golden1-compacted", "golden1-epochs", "golden1-append-time")
OLD_FORMATS = ("golden1-v0", "golden1-v1", "golden1-v1-append-time")
ISOLATION_LEVELS = ("read_committed", "read_uncommitted")


@pytest.fixture(autouse=True, scope="module")
def _connector_is_there() -> None:
    connector_home()


@pytest.fixture(scope="module")
def connector(broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSessionProcess]:
    with spark_connector(broker.bootstrap_servers, tmp_path_factory.mktemp("connector")) as connector:
        yield connector


def ours(spark: "SparkSession", servers: str, **options: Any) -> Read:
    """Returns the rows by the pipeline's source."""
    frame = loaded(spark.read, servers, **options)
    return Read(frame.schema.simpleString(), tasks_of(frame), with_retry(lambda: plain_rows(frame)))


def row_of(record: Produced, with_headers: bool = False) -> PlainRow:
    """Returns a record with its own timestamp, as a row of Spark's sources."""
    headers = tuple((name, text(value)) for name, value in record.headers) or None
    at = (record.topic, record.partition, record.offset)
    return PlainRow(
        *at, record.timestamp * 1000, 0, text(record.key), text(record.value), headers if with_headers else None
    )


def in_order(records: list[Produced]) -> list[Produced]:
    return sorted(records, key=lambda record: record[:3])


@pytest.fixture(scope="module")
def many(broker: BrokerProcess) -> list[Produced]:
    """Two topics with every codec, tombstones, missing and empty keys, all kinds of headers; one is compacted."""
    servers = broker.bootstrap_servers
    create_topic(servers, "many-a", 3)
    create_topic(servers, "many-b", 1, {"cleanup.policy": "compact"})
    found = []
    for number, codec in enumerate(CODECS):
        first = 100 * number
        records = numbered("many-a", [0, 1, 2], 90, first)
        records += numbered("many-b", [0], 10, first)
        records += [
            Produced("many-a", 0, -1, START_MS + first + 90, None, b"no key"),
            Produced("many-a", 1, -1, START_MS + first + 91, b"tombstone", None),
            Produced("many-a", 1, -1, START_MS + first + 92, b"", b"", (("h", b"\xff"), ("h", None), ("ü", b""))),
            Produced("many-a", 2, -1, START_MS + first + 93, bytes(range(256)), b"x" * 50_000, (("one", b"1"),)),
        ]
        found += produce(servers, records, compression_codec=codec, batch_num_messages="20")
    return in_order(found)


QUERIES: dict[str, dict[str, Any]] = {
    "all": {"subscribe": "many-a,many-b"},
    "headers": {"subscribe": "many-a", "includeHeaders": "true"},
    "pattern": {"subscribePattern": "many-.*", "includeHeaders": "true"},
    "pattern of a part": {"subscribePattern": "any-[ab]"},
    "some partitions": {"assign": '{"many-a":[0,2],"many-b":[0]}'},
    "offsets": {
        "subscribe": "many-a",
        "startingOffsets": '{"many-a":{"0":5,"1":-2,"2":150}}',
        "endingOffsets": '{"many-a":{"0":-1,"1":40,"2":151}}',
    },
    "times": {"subscribe": "many-a,many-b", "startingTimestamp": START_MS + 101, "endingTimestamp": START_MS + 303},
    "times by partition": {
        "subscribe": "many-a",
        "startingOffsetsByTimestamp": f'{{"many-a":{{"0":{START_MS + 7},"1":{START_MS + 120},"2":{START_MS}}}}}',
        "endingOffsetsByTimestamp": f'{{"many-a":{{"0":{START_MS + 450},"1":{START_MS + 120},"2":{START_MS + 9999}}}}}',
    },
    "latest where nothing is as late": {
        "subscribe": "many-a",
        "startingTimestamp": START_MS + 485,
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "nothing": {"subscribe": "many-a", "startingTimestamp": START_MS + 10, "endingTimestamp": START_MS + 10},
    "in many tasks": {"subscribe": "many-a,many-b", "minPartitions": 11},
}

SHORT = ("pattern", "offsets", "times by partition", "latest where nothing is as late", "in many tasks")
"""Queries of the ordinary run: one of each kind of option. `test_spark_batch_read` has the others without Spark's own
connector.
"""


@pytest.mark.parametrize(
    "name", [*SHORT, *(pytest.param(each, marks=pytest.mark.long) for each in QUERIES if each not in SHORT)]
)
def test_connector_and_pipeline_return_the_same_rows(
    spark: "SparkSession", servers: str, connector: SparkSessionProcess, many: list[Produced], name: str
) -> None:
    theirs = connector.read(**QUERIES[name])
    found = ours(spark, servers, **QUERIES[name])
    assert (found.schema, found.rows) == (theirs.schema, theirs.rows)
    assert (len(theirs.rows) > 0) == (name != "nothing")
    if "minPartitions" in QUERIES[name]:
        assert found.tasks == theirs.tasks, "without it they make tasks of nothing, too"
    if name == "pattern":
        assert theirs.rows == [row_of(record, with_headers=True) for record in many]


def test_missing_topic_fails_both_queries(
    spark: "SparkSession", servers: str, connector: SparkSessionProcess, many: list[Produced]
) -> None:
    with pytest.raises(QueryError, match="UnknownTopicOrPartition"):
        connector.read(subscribe="many-a,many-c")
    with pytest.raises(Exception, match="there is no topic many-c"):
        ours(spark, servers, subscribe="many-a,many-c")


@pytest.mark.parametrize("level", ISOLATION_LEVELS)
def test_connector_and_pipeline_return_the_same_rows_of_topics_by_kafka(
    spark: "SparkSession", connector: SparkSessionProcess, tmp_path: Path, level: str
) -> None:
    """Topics with committed, aborted and open transactions, compacted logs, LogAppendTime, and all codecs."""
    with broker_on("kafka-3.9", tmp_path) as broker:
        servers = broker.bootstrap_servers
        options = {"subscribe": ",".join(GOLDEN), "includeHeaders": "true", "kafka_isolation_level": level}
        theirs = connector.at(servers).read(**options)
        assert ours(spark, servers, **options) == theirs
    assert {row.topic for row in theirs.rows} == set(GOLDEN)


def test_connector_and_pipeline_return_the_same_rows_of_old_formats(
    spark: "SparkSession", connector: SparkSessionProcess, tmp_path: Path
) -> None:
    with broker_on("ibp-2.8", tmp_path) as broker:
        servers = broker.bootstrap_servers
        options = {"subscribe": ",".join(OLD_FORMATS), "includeHeaders": "true"}
        theirs = connector.at(servers).read(**options)
        assert ours(spark, servers, **options) == theirs
    assert {row.topic for row in theirs.rows} == set(OLD_FORMATS)


def test_rows_written_by_the_connector_are_read_unchanged(
    spark: "SparkSession", servers: str, connector: SparkSessionProcess, topic: str
) -> None:
    create_topic(servers, topic, 3)
    rows = [
        Produced(topic, 0, 0, 0, b"k", b"v", (("h", b"1"), ("h", None))),
        Produced(topic, 1, 0, 0, None, b"", ()),
        Produced(topic, 2, 0, 0, b"tombstone", None, (("ü", b"\xff"),)),
    ]
    connector.write(rows, includeHeaders="true", kafka_compression_type="zstd")
    options = {"subscribe": topic, "includeHeaders": "true"}
    found = ours(spark, servers, **options)
    assert [row._replace(timestamp_us=0) for row in found.rows] == [row_of(row, with_headers=True) for row in rows]
    assert connector.read(**options) == found


def test_connector_sends_keys_to_the_partitions_of_kafkas_producer(
    servers: str, connector: SparkSessionProcess, topic: str
) -> None:
    create_topic(servers, topic, 5)
    keys = [b"key-%d" % number for number in range(50)]
    connector.write([Produced("", -1, 0, 0, key, b"v") for key in keys], topic=topic)
    found = {row.key: row.partition for row in connector.read(subscribe=topic).rows}
    assert found == {text(key): (murmur2(key) & 0x7FFFFFFF) % 5 for key in keys}


def test_deleted_records_fail_the_connectors_query_unless_fail_on_data_loss_is_false(
    servers: str, connector: SparkSessionProcess, topic: str
) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 20))
    delete_records(servers, topic, 0, before=5)
    options = {"subscribe": topic, "startingOffsets": f'{{"{topic}":{{"0":0}}}}'}
    with pytest.raises(QueryError, match="failOnDataLoss"):
        connector.read(**options)
    assert connector.read(**options, failOnDataLoss="false").rows == [row_of(record) for record in expected[5:]]


def test_connector_streams_limited_batches_and_the_next_query_continues(
    servers: str, connector: SparkSessionProcess, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, 2)
    expected = produce(servers, numbered(topic, [0, 1], 50))
    table, checkpoint = tmp_path / "table", tmp_path / "checkpoint"
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20}
    assert connector.load(table, checkpoint, **options) == [20, 20, 10]
    assert connector.load(table, checkpoint, **options) == []
    grow_topic(servers, topic, 3)
    create_topic(servers, f"{topic}-new", 1)
    expected += produce(servers, [*numbered(topic, [0, 1, 2], 9, 50), *numbered(f"{topic}-new", [0], 4)])
    connector.load(table, checkpoint, **options)
    assert connector.table(table) == [row_of(record) for record in in_order(expected)]


def test_connector_streams_a_topic_into_another(
    servers: str, connector: SparkSessionProcess, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 1)
    records = numbered(topic, [0, 1], 40)
    expected = produce(servers, [record._replace(headers=(("h", b"x"),)) for record in records])
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20, "includeHeaders": "true"}
    assert connector.copy(f"{topic}-copy", tmp_path / "checkpoint", **options) == [20, 20]
    assert connector.copy(f"{topic}-copy", tmp_path / "checkpoint", **options) == []
    found = connector.read(subscribe=f"{topic}-copy", includeHeaders="true").rows
    assert sorted((row.key, row.value, row.headers) for row in found) == sorted(
        (text(record.key), text(record.value), (("h", text(b"x")),)) for record in expected
    )


def test_killed_connector_stream_continues_from_its_checkpoint_exactly_once(
    connector: SparkSessionProcess, topic: str, tmp_path: Path
) -> None:
    """A separate session and the broker are killed in the middle of the stream; `connector` continues it."""
    table, checkpoint = tmp_path / "table", tmp_path / "checkpoint"
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20}
    with BrokerProcess(tmp_path / "broker", KEEPS_OLD_RECORDS) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, topic, 2)
        expected = produce(servers, numbered(topic, [0, 1], 800))
        with spark_connector(servers, tmp_path) as killed:
            killed.follow(table, checkpoint, **options)
            await_that(lambda: len(list(checkpoint.glob("commits/[0-9]*"))) > 2, "three batches", looks=LOOKS * 2)
            broker.kill()
            killed.kill()
        broker.start()
        expected += produce(servers, numbered(topic, [0, 1], 100, 800))
        connector.at(servers).load(table, checkpoint, **{**options, "maxOffsetsPerTrigger": 400})
        assert connector.table(table) == [row_of(record) for record in in_order(expected)]
