"""Tests of how far a query is behind its source, at a broker."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.options.read_options import stream_options
from pybroker.protocol.messages.fetch import FetchRequest
from support.clients.produced import START_MS, numbered, produce
from support.clients.topics import create_topic
from support.spark.gathered_rows import need_columns


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    need_columns()
    from pybroker.pipeline.topics import source_lag

    monkeypatch.setattr(source_lag, "_MOST_S", 600.0)


def test_lag_has_the_unread_records_and_the_age_of_the_oldest(servers: str, topic: str) -> None:
    """Record n of `numbered` has the timestamp START_MS + n; they alternate between the partitions."""
    from pybroker.pipeline.topics.source_lag import Lag, measure_lag

    create_topic(servers, topic, 2)
    produce(servers, numbered(topic, [0, 1], 20))
    options = stream_options({"kafka.bootstrap.servers": servers, "subscribe": topic})
    one, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    now_ms = START_MS + 10_000
    assert measure_lag(options, {one: 10, other: 4}, now_ms) == Lag(6, (10_000 - 9) / 1000)
    assert measure_lag(options, {one: 10}, now_ms) == Lag(10, (10_000 - 1) / 1000), "a partition that is new"
    assert measure_lag(options, {one: 10, other: 10}, now_ms) == Lag(0, None)
    assert measure_lag(options, {one: 12, other: 12}, now_ms) == Lag(0, None), "the log was cut"


def test_lag_is_measured_without_the_memory_of_compiled_code(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pybroker.pipeline.columns import batch_decoder
    from pybroker.pipeline.topics.source_lag import Lag, measure_lag

    monkeypatch.delattr(batch_decoder, "_compiled_walk")
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 5), compression_codec="zstd")
    options = stream_options({"kafka.bootstrap.servers": servers, "subscribe": topic})
    assert measure_lag(options, {TopicPartition(topic, 0): 3}, START_MS + 1000) == Lag(2, (1000 - 3) / 1000)


def test_age_of_unread_records_is_measured_once_in_ten_seconds(servers: str, topic: str) -> None:
    from pybroker.pipeline.topics.source_lag import LagGauge

    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 10))
    now_s = 0.0
    options = stream_options({"kafka.bootstrap.servers": servers, "subscribe": topic})
    gauge = LagGauge(options, lambda: now_s)
    at = TopicPartition(topic, 0)
    first = gauge.seconds({at: 2}, {at: 10})
    assert first is not None
    now_s = 9.0
    assert gauge.seconds({at: 5}, {at: 10}) == first
    now_s = 10.0
    assert gauge.seconds({at: 10}, {at: 10}) is None


def test_lag_is_unknown_without_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    from pybroker.pipeline.topics import source_lag

    def refuse(options: object) -> object:
        raise ConnectionRefusedError

    monkeypatch.setattr(source_lag, "SourceOffsets", refuse)
    options = stream_options({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
    unknown = source_lag.measure_lag(options, {}, 0.0)
    assert unknown == source_lag.Lag(None, None)
    assert [lag.words for lag in (unknown, source_lag.Lag(0, None), source_lag.Lag(1200, 3.6))] == [
        "lag unknown",
        "0 behind",
        "1,200 behind, 4 s",
    ]


def test_first_record_behind_many_aborted_batches_is_found_by_few_fetches(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pybroker.pipeline.topics import range_reader
    from pybroker.pipeline.topics.source_lag import measure_lag

    create_topic(servers, topic, 1)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic, "batch.num.messages": 1})
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(50):
        producer.produce(topic, b"aborted", partition=0)
    producer.flush()
    producer.abort_transaction()
    produce(servers, numbered(topic, [0], 1))
    fetches = 0

    def counted(**fields: Any) -> Any:
        nonlocal fetches
        fetches += 1
        return FetchRequest(**fields)

    monkeypatch.setattr(range_reader, "FetchRequest", counted)
    given = {"kafka.bootstrap.servers": servers, "subscribe": topic, "kafka.isolation.level": "read_committed"}
    lag = measure_lag(stream_options(given), {TopicPartition(topic, 0): 0}, START_MS + 1000)
    assert (lag.records, lag.seconds) == (52, 1.0)
    assert fetches < 10


def test_partitions_that_are_not_read_in_time_are_left_out_of_the_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of the partitions has only aborted records, whose reading never ends by itself."""
    from pybroker.pipeline.topics import source_lag

    now_s, asked = 100.0, []

    class Reader:
        def __init__(self, offsets: Any, settings: Any, *, deadline_s: float, **_: Any) -> None:
            asked.append((offsets.topic_partition.partition, deadline_s, settings.request_timeout_ms))

        def batches(self) -> Iterator[Any]:
            nonlocal now_s
            now_s += 0.75
            yield from ()
            raise TimeoutError

    monkeypatch.setattr(source_lag, "_MOST_S", 1.0)
    monkeypatch.setattr(source_lag, "RangeReader", Reader)
    monkeypatch.setattr(source_lag, "time", SimpleNamespace(monotonic=lambda: now_s, time=lambda: 0.0))
    options = stream_options({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
    gauge = source_lag.LagGauge(options, lambda: 0.0)
    places = [TopicPartition("t", number) for number in range(4)]
    assert gauge.seconds(dict.fromkeys(places, 0), dict.fromkeys(places, 5)) is None
    assert asked == [(0, 101.0, 1000), (1, 101.0, 250)]
