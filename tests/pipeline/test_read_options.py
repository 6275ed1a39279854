"""Tests of the options for reading topics: Spark's are supported, unknown and contradictory ones refused by name."""

import pickle
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.client_settings import READ_COMMITTED, READ_UNCOMMITTED
from pybroker.client.given_options import OptionError
from pybroker.pipeline.options.offset_limits import EndOfLog, GlobalTimestamp, SpecificOffsets, SpecificTimestamps
from pybroker.pipeline.options.read_options import (
    ReadOptions,
    batch_options,
    includes_headers,
    stream_options,
)
from pybroker.pipeline.options.subscription import Assigned, TopicPattern, Topics, reads_topic
from pybroker.protocol.sentinels import EARLIEST, LATEST

NEEDED = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "events"}
T0, T1 = TopicPartition("events", 0), TopicPartition("events", 1)


def batch(**given: str) -> ReadOptions:
    return batch_options({**NEEDED, **{name.replace("__", "."): value for name, value in given.items()}})


def stream(**given: str) -> ReadOptions:
    return stream_options({**NEEDED, **{name.replace("__", "."): value for name, value in given.items()}})


def test_batch_query_reads_everything_by_default() -> None:
    options = batch()
    assert options.starting == EndOfLog(EARLIEST)
    assert options.ending == EndOfLog(LATEST)
    assert options.subscription == Topics(("events",))
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.settings.bootstrap_servers == (("localhost", 9092),)
    assert options.settings.isolation_level == READ_UNCOMMITTED


def test_streaming_query_begins_at_latest_by_default() -> None:
    assert stream().starting == EndOfLog(LATEST)


def test_option_names_are_not_case_sensitive() -> None:
    options = batch_options(
        {"KAFKA.bootstrap.servers": "h:1", "SUBSCRIBE": "a", "failondataloss": "FALSE", "startingoffsets": "Earliest"}
    )
    assert not options.fail_on_data_loss
    assert options.starting == EndOfLog(EARLIEST)


def test_read_options_can_be_pickled() -> None:
    options = batch_options({"kafka.bootstrap.servers": "h:1", "subscribePattern": "a.*"})
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"assign": '{"events":[1,0]}'}, Assigned((T0, T1))),
        ({"subscribe": " a, b ,"}, Topics(("a", "b"))),
    ],
)
def test_subscription_options_are_parsed(given: dict[str, str], expected: Any) -> None:
    assert batch_options({"kafka.bootstrap.servers": "h:1", **given}).subscription == expected


@pytest.mark.parametrize(
    ("given", "read", "not_read"),
    [
        ({"assign": '{"events":[0]}'}, "events", "events-dead"),
        ({"subscribe": "events, logs"}, "logs", "logs-dead"),
        ({"subscribePattern": "events"}, "events-dead", "logs"),
        ({"SubscribePattern": "^events$"}, "events", "events-dead"),
    ],
)
def test_topic_is_read_if_the_query_reads_it_now_or_once_it_exists(
    given: dict[str, str], read: str, not_read: str
) -> None:
    subscription = batch_options({"kafka.bootstrap.servers": "h:1", **given}).subscription
    assert reads_topic(subscription, read)
    assert not reads_topic(subscription, not_read)


def test_subscribe_pattern_matches_anywhere_in_a_name() -> None:
    subscription = batch_options({"kafka.bootstrap.servers": "h:1", "subscribePattern": "logs-.*"}).subscription
    assert isinstance(subscription, TopicPattern)
    assert subscription.matches("logs-1")
    assert subscription.matches("my-logs-1")
    assert not subscription.matches("logs")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (
            "startingOffsets",
            '{"events":{"0":23,"1":-2}}',
            SpecificOffsets("startingOffsets", {T0: 23, T1: EARLIEST}),
        ),
        ("startingTimestamp", "1000", GlobalTimestamp("startingTimestamp", 1000, latest_when_none=False)),
        (
            "startingOffsetsByTimestamp",
            '{"events":{"0":1000}}',
            SpecificTimestamps("startingOffsetsByTimestamp", {T0: 1000}, latest_when_none=False),
        ),
    ],
)
def test_starting_options_are_parsed(name: str, value: str, expected: Any) -> None:
    assert batch_options({**NEEDED, name: value}).starting == expected
    assert stream_options({**NEEDED, name: value}).starting == expected


def test_strategy_decides_about_a_timestamp_behind_the_end() -> None:
    options = batch(startingTimestamp="5", startingOffsetsByTimestampStrategy="latest")
    assert options.starting == GlobalTimestamp("startingTimestamp", 5, latest_when_none=True)
    assert batch(endingTimestamp="5").ending == GlobalTimestamp("endingTimestamp", 5, latest_when_none=True)


def test_timeouts_and_retries_are_parsed() -> None:
    options = batch(kafkaConsumer__pollTimeoutMs="7", fetchOffset__numRetries="5", fetchOffset__retryIntervalMs="9")
    assert (options.no_progress_ms, options.fetch_retries, options.fetch_retry_ms) == (7, 5, 9)
    assert (batch().no_progress_ms, batch().fetch_retries, batch().fetch_retry_ms) == (120_000, 3, 1000)
    assert [stream(maxTriggerDelay=each).max_delay_ms for each in ("5999us", "5", "5 s", "5m", "1h")] == [
        5,
        5,
        5000,
        300_000,
        3_600_000,
    ]
    none = batch(fetchOffset__numRetries="0", fetchOffset__retryIntervalMs="0")
    assert (none.fetch_retries, none.fetch_retry_ms) == (0, 0)
    assert stream().max_delay_ms == 15 * 60_000


def test_isolation_level_is_parsed() -> None:
    assert batch(kafka__isolation__level="read_committed").settings.isolation_level == READ_COMMITTED


def test_includes_headers_needs_no_other_option() -> None:
    assert includes_headers({"includeHeaders": "true"})
    assert not includes_headers({"subscribe": "a", "nonsense": "1"})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"subscribes": "a"}, "'subscribes'; did you mean 'subscribe'"),
        ({"path": "/tmp"}, "'path'"),
        ({"subscribePattern": "a.*"}, "'subscribe' and 'subscribePattern'"),
        ({"assign": '{"a":[0]}'}, "'assign' and 'subscribe'"),
        ({"startingOffsets": "earliest", "startingTimestamp": "5"}, "'startingTimestamp' and 'startingOffsets'"),
        ({"startingOffsets": "yesterday"}, "'startingOffsets'"),
        ({"startingOffsets": '{"events":{"0":-3}}'}, "-3"),
        ({"startingOffsets": '{"events":{"zero":1}}'}, "zero"),
        ({"startingOffsets": '{"events":[0]}'}, "'events'"),
        ({"startingOffsetsByTimestampStrategy": "guess"}, "'startingOffsetsByTimestampStrategy'"),
        ({"startingTimestamp": "noon"}, "'startingTimestamp'"),
        ({"startingTimestamp": "-1"}, "'startingTimestamp' must not be negative, not -1"),
        ({"startingOffsetsByTimestamp": '{"events":{"0":-2}}'}, "events-0 has the negative timestamp -2"),
        ({"failOnDataLoss": "perhaps"}, "'failOnDataLoss'"),
        ({"minPartitions": "0"}, "'minPartitions'"),
        ({"maxRecordsPerPartition": "many"}, "'maxRecordsPerPartition'"),
        ({"minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "5"}, "'minOffsetsPerTrigger'"),
        ({"fetchOffset.numRetries": "-1"}, "'fetchOffset.numRetries'"),
        ({"maxTriggerDelay": "soon"}, "'maxTriggerDelay'"),
        ({"commitOffsetsToGroup": " "}, "'commitOffsetsToGroup'"),
        ({"kafka.auto.offset.reset": "latest"}, "'kafka.auto.offset.reset'"),
        ({"kafka.enable.auto.commit": "true"}, "'kafka.enable.auto.commit'"),
        ({"kafka.key.deserializer": "x"}, "'kafka.key.deserializer'"),
        ({"kafka.isolation.level": "serializable"}, "'kafka.isolation.level'"),
        ({"kafka.fetch.max.byte": "1"}, "'kafka.fetch.max.byte'"),
        ({"kafka.fetch.max.bytes": "1 MB"}, "'kafka.fetch.max.bytes'"),
        ({"kafka.security.protocol": "SASL_SSL"}, "'kafka.sasl.mechanism'"),
        ({"kafka.security.protocol": "TLS"}, "'kafka.security.protocol'"),
        ({"kafka.security.protocol": "SSL", "kafka.ssl.truststore.type": "BKS"}, "'kafka.ssl.truststore.type'"),
        ({"kafka.bootstrap.servers": "nowhere"}, "'kafka.bootstrap.servers'"),
    ],
)
def test_invalid_read_options_are_refused_by_name(given: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError) as batch_error:
        batch_options({**NEEDED, **given})
    with pytest.raises(OptionError) as stream_error:
        stream_options({**NEEDED, **given})
    assert named in str(batch_error.value)
    assert named in str(stream_error.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"startingOffsets": "latest"}, "'startingOffsets'"),
        ({"startingOffsets": '{"events":{"0":-1}}'}, "events-0"),
        ({"endingOffsets": "earliest"}, "'endingOffsets'"),
        ({"endingOffsets": '{"events":{"0":-2}}'}, "events-0"),
        ({"startingOffsets": '{"events":{"0":7}}', "endingOffsets": '{"events":{"0":6}}'}, "begins at 7"),
        ({"startingOffsets": '{"events":{"0":7}}', "endingOffsets": '{"events":{"1":8}}'}, "events-0, events-1"),
        ({"startingTimestamp": "7", "endingTimestamp": "6"}, "'startingTimestamp' 7"),
    ],
)
def test_batch_query_that_ends_before_it_begins_is_refused(given: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError) as error:
        batch_options({**NEEDED, **given})
    assert named in str(error.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_ending_options_are_refused_in_a_streaming_query(name: str) -> None:
    with pytest.raises(OptionError, match=name):
        stream_options({**NEEDED, name: "1"})


def test_bootstrap_servers_and_a_subscription_are_required() -> None:
    with pytest.raises(OptionError, match="'assign', 'subscribe', 'subscribePattern'"):
        batch_options({"kafka.bootstrap.servers": "h:1"})
    with pytest.raises(OptionError, match=r"'kafka\.bootstrap\.servers' must be given"):
        batch_options({"subscribe": "a"})
    with pytest.raises(OptionError, match="'subscribe' names no topic"):
        batch_options({"kafka.bootstrap.servers": "h:1", "subscribe": " , "})


def test_consumer_setting_without_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    batch(kafka__session__timeout__ms="5000", maxOffsetsPerTrigger="5", groupIdPrefix="g", **strategy)
    assert "'startingOffsetsByTimestampStrategy' has no effect without a timestamp" in caplog.text
    assert "'kafka.session.timeout.ms' has no effect" in caplog.text
    assert "'groupIdPrefix' has no effect" in caplog.text
    assert "'maxOffsetsPerTrigger' has no effect on a batch query" in caplog.text
    caplog.clear()
    batch(startingTimestamp="5", **strategy)
    assert caplog.text == ""
