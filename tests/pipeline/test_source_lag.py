"""Tests of how far a query is behind its source, at a broker."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.options.read_options import stream_options
from support.clients.produced import START_MS, numbered, produce
from support.clients.topics import create_topic
from support.spark.gathered_rows import need_columns


@pytest.fixture(autouse=True)
def _columns() -> None:
    need_columns()


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
