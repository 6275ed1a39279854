"""Tests of reading ranges of offsets completely and exactly once, through failures of the broker and loss of data."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.options.data_loss import DataLossError
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.pipeline.topics.offset_ranges import OffsetRange
from pybroker.protocol.records.record import Record
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce
from support.clients.topics import create_topic, delete_records
from support.logs.kafka_directories import broker_on, committed, records
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import need_columns, records_of

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(autouse=True)
def _columns() -> None:
    need_columns()


def parts(
    servers: str,
    topic: str,
    start: int,
    end: int,
    *,
    fail_on_data_loss: bool = True,
    no_progress_ms: int = 60_000,
    **settings: Any,
) -> Iterator[list[Record]]:
    """Reader settings are keyword arguments with underscores for dots."""
    from pybroker.pipeline.topics.range_reader import RangeReader

    given = {name.replace("_", "."): str(value) for name, value in settings.items()}
    reader = RangeReader(
        OffsetRange(TopicPartition(topic, 0), start, end),
        reader_settings({"bootstrap.servers": servers, **given}),
        with_headers=True,
        fail_on_data_loss=fail_on_data_loss,
        no_progress_ms=no_progress_ms,
    )
    for gathered in reader.read():
        yield list(records_of(gathered))


def read(servers: str, topic: str, start: int, end: int, **settings: Any) -> list[Record]:
    return [record for part in parts(servers, topic, start, end, **settings) for record in part]


def test_range_is_read_by_many_fetches_with_all_codecs(servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = []
    for number, codec in enumerate(CODECS):
        expected += produce(
            servers,
            numbered(topic, [0], 300, first=300 * number),
            compression_codec=codec,
            batch_num_messages="20",
        )
    found = read(servers, topic, 13, 1490, max_partition_fetch_bytes=3000)
    assert [(each.offset, each.key, each.value) for each in found] == [
        (each.offset, each.key, each.value) for each in expected[13:1490]
    ]


def test_batch_larger_than_a_fetch_is_read(servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 500), linger_ms="100")
    assert len(read(servers, topic, 0, 500, max_partition_fetch_bytes=1)) == 500


def test_reader_continues_after_the_broker_restarts(tmp_path: Path) -> None:
    count = 40_000
    with BrokerProcess(tmp_path, KEEPS_OLD_RECORDS) as broker:
        create_topic(broker.bootstrap_servers, "t", 1)
        produce(broker.bootstrap_servers, numbered("t", [0], count), batch_num_messages="1000")
        found = []
        killed = False
        for part in parts(broker.bootstrap_servers, "t", 0, count, max_partition_fetch_bytes=50_000):
            found += part
            if not killed:
                killed = True
                broker.kill()
                broker.start()
        assert killed
    assert [record.offset for record in found] == list(range(count))


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker on a log directory of Apache Kafka: transactions, compacted topics, all codecs."""
    with broker_on("kafka-3.9", tmp_path_factory.mktemp("kafkas")) as broker:
        yield broker


@pytest.mark.parametrize("topic_name", ["golden1-plain", "golden1-txn", "golden1-compacted", "golden1-epochs"])
def test_gaps_by_compaction_and_control_batches_are_no_data_loss(kafkas: BrokerProcess, topic_name: str) -> None:
    expected = records("kafka-3.9", topic_name)
    found = read(kafkas.bootstrap_servers, topic_name, 0, expected[-1][0] + 1)
    assert [(record.offset, record.value) for record in found] == expected


def test_read_committed_reader_skips_aborted_transactions(kafkas: BrokerProcess) -> None:
    expected, stable = committed("kafka-3.9", "golden1-txn")
    for fetch_bytes in (300, 1 << 20):
        found = read(
            kafkas.bootstrap_servers,
            "golden1-txn",
            0,
            stable,
            isolation_level="read_committed",
            max_partition_fetch_bytes=fetch_bytes,
        )
        assert [(record.offset, record.value) for record in found] == expected
    assert len(expected) < len(records("kafka-3.9", "golden1-txn"))


def test_range_inside_an_aborted_transaction_is_empty(kafkas: BrokerProcess) -> None:
    expected, stable = committed("kafka-3.9", "golden1-txn")
    seen = {offset for offset, _ in expected}
    written = {offset for offset, _ in records("kafka-3.9", "golden1-txn")}
    hidden = min(offset for offset in written - seen if offset < stable)
    found = read(kafkas.bootstrap_servers, "golden1-txn", hidden, hidden + 1, isolation_level="read_committed")
    assert found == []


def test_deleted_records_are_data_loss(servers: str, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 30))
    delete_records(servers, topic, 0, before=10)
    with pytest.raises(DataLossError, match=f"offsets 0 to 9 of {topic}-0 no longer exist"):
        read(servers, topic, 0, 30)
    with caplog.at_level(logging.WARNING):
        found = read(servers, topic, 0, 30, fail_on_data_loss=False)
    assert [record.offset for record in found] == list(range(10, 30))
    assert f"offsets 0 to 9 of {topic}-0" in caplog.text
    assert read(servers, topic, 2, 8, fail_on_data_loss=False) == []


def test_deleted_topic_is_data_loss(servers: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pybroker.pipeline.topics import range_reader

    monkeypatch.setattr(range_reader, "MISSING_MS", 0)
    with pytest.raises(DataLossError, match=f"{topic}-0 no longer exists"):
        read(servers, topic, 0, 30)
    assert read(servers, topic, 0, 30, fail_on_data_loss=False) == []


def test_offsets_behind_the_end_are_data_loss_after_a_timeout(servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 30))
    with pytest.raises(
        DataLossError, match=f"offsets 30 to 39 of {topic}-0 do not exist; the partition ends before them"
    ):
        read(servers, topic, 20, 40, no_progress_ms=200)
    with pytest.raises(DataLossError, match="offsets 35 to 39"):
        read(servers, topic, 35, 40)
    found = read(servers, topic, 20, 40, no_progress_ms=200, fail_on_data_loss=False)
    assert [record.offset for record in found] == list(range(20, 30))
