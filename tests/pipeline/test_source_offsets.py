"""Tests of the offsets that a query looks up before it reads."""

import re
from collections.abc import Callable

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.client import cluster
from pybroker.client.given_options import OptionError
from pybroker.pipeline.options.data_loss import DataLossError
from pybroker.pipeline.options.read_options import batch_options, stream_options
from pybroker.pipeline.topics import source_offsets
from pybroker.pipeline.topics.source_offsets import SourceOffsets
from support.clients.produced import START_MS, numbered, produce
from support.clients.topics import create_topic, delete_records


def begin_batch(given: dict[str, str]) -> None:
    with SourceOffsets(batch_options(given)) as offsets:
        offsets.batch_ranges()


def begin_stream(given: dict[str, str]) -> None:
    with SourceOffsets(stream_options(given)) as offsets:
        offsets.initial()


@pytest.mark.parametrize("begin", [begin_batch, begin_stream])
def test_missing_subscribed_topic_is_an_error(
    begin: Callable[[dict[str, str]], None], servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MISSING_MS", 0)
    create_topic(servers, topic, 1)
    needed = {"kafka.bootstrap.servers": servers}
    begin({**needed, "subscribe": topic})
    with pytest.raises(OptionError, match=f"Option 'subscribe': there is no topic {topic}s"):
        begin({**needed, "subscribe": f"{topic},{topic}s"})
    begin({**needed, "subscribePattern": "nonsense.*"})


def test_topic_that_a_continued_query_names_anew_must_exist(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MISSING_MS", 0)
    create_topic(servers, topic, 1)
    given = {"kafka.bootstrap.servers": servers, "subscribe": f"{topic},{topic}s"}

    def continued(at: TopicPartition, **further: str) -> None:
        with SourceOffsets(stream_options(given | further)) as offsets:
            offsets.check_added({at})

    continued(TopicPartition(f"{topic}s", 0))
    with pytest.raises(OptionError, match=f"Option 'subscribe': there is no topic {topic}s"):
        continued(TopicPartition(topic, 0))
    continued(TopicPartition(topic, 0), failOnDataLoss="false")


@pytest.mark.parametrize("begin", [begin_batch, begin_stream])
def test_missing_assigned_partition_is_an_error_that_names_the_option(
    begin: Callable[[dict[str, str]], None], servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MISSING_MS", 0)
    create_topic(servers, topic, 2)
    needed = {"kafka.bootstrap.servers": servers}
    begin({**needed, "assign": f'{{"{topic}":[1]}}'})
    with pytest.raises(OptionError, match=f"Option 'assign': there is no partition {topic}-7, {topic}s-0$"):
        begin({**needed, "assign": f'{{"{topic}":[1,7],"{topic}s":[0]}}'})


def test_batch_range_that_ends_before_it_begins_is_reported(servers: str, topic: str) -> None:
    """Only the cluster knows the offsets of a timestamp."""
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 20))
    needed = {"kafka.bootstrap.servers": servers, "subscribe": topic}

    def at(offset: int) -> str:
        return f'{{"{topic}":{{"0":{offset}}}}}'

    with pytest.raises(OptionError, match=rf"'startingTimestamp' and 'endingOffsets': {topic}-0 begins at 10, after 5"):
        begin_batch({**needed, "startingTimestamp": str(START_MS + 10), "endingOffsets": at(5)})
    with pytest.raises(OptionError, match=rf"'startingOffsets' and 'endingTimestamp': {topic}-0 begins at 10, after 5"):
        begin_batch({**needed, "startingOffsets": at(10), "endingTimestamp": str(START_MS + 5)})
    begin_batch({**needed, "startingOffsets": at(20), "endingTimestamp": str(START_MS + 99)})
    ends: list[dict[str, str]] = [{}, {"endingTimestamp": str(START_MS + 5)}, {"endingOffsets": at(-1)}]
    for end in ends:
        with pytest.raises(DataLossError, match=f"{topic}-0 ends at 20, before its starting offset 21"):
            begin_batch({**needed, "startingOffsets": at(21), **end})
        begin_batch({**needed, "startingOffsets": at(21), **end, "failOnDataLoss": "false"})
    delete_records(servers, topic, 0, before=10)
    begin_batch(
        {**needed, "endingOffsets": at(5)}
    )  # empty, because it ends below the first offset; as in Spark's own source


# --- between micro-batches --------------------------------------------------------------------------------------------


def between(
    servers: str, topic: str, start: dict[int, int], end: dict[int, int], **options: str
) -> list[tuple[int, int, int]]:
    """Returns partition, start and end of each task of a micro-batch; offsets are given by partition."""
    given = {"kafka.bootstrap.servers": servers, "subscribe": topic, **options}
    begun, ended = ({TopicPartition(topic, number): at for number, at in each.items()} for each in (start, end))
    with SourceOffsets(stream_options(given)) as offsets:
        return [(each.topic_partition.partition, each.start, each.end) for each in offsets.ranges_between(begun, ended)]


@pytest.mark.parametrize(
    ("start", "end", "says", "left"),
    [
        ({0: 4, 1: 2}, {0: 9}, "{}-1 was deleted", [(0, 4, 9)]),
        ({0: 9, 1: 2}, {0: 4, 1: 5}, "{}-0 ends at 4, before the offset 9 that was already read", [(1, 2, 5)]),
        ({0: 4}, {0: 9, 1: 5}, "the new partition {}-1 starts at 3, not at 0", [(0, 4, 9), (1, 3, 5)]),
        ({0: 4}, {0: 9, 7: 5}, "{}-7 was deleted before it was read", [(0, 4, 9)]),
    ],
)
def test_deleted_or_recreated_partitions_are_data_loss(
    servers: str,
    topic: str,
    caplog: pytest.LogCaptureFixture,
    start: dict[int, int],
    end: dict[int, int],
    says: str,
    left: list[tuple[int, int, int]],
) -> None:
    create_topic(servers, topic, 2)
    produce(servers, numbered(topic, [0, 1], 20))
    delete_records(servers, topic, 1, before=3)
    lost = f"Data is lost: {says.format(topic)}."
    with pytest.raises(DataLossError, match=re.escape(lost)):
        between(servers, topic, start, end)
    assert between(servers, topic, start, end, failOnDataLoss="false") == left
    assert lost in caplog.text


def test_decreased_end_offsets_are_looked_up_again(servers: str, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    create_topic(servers, topic, 1)
    given = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    retries = {"fetchOffset.numRetries": "4", "fetchOffset.retryIntervalMs": "1"}
    at = TopicPartition(topic, 0)
    with SourceOffsets(stream_options({**given, **retries})) as offsets:
        assert offsets.latest({at: 0}) == {at: 0}
        assert caplog.records == []
        assert offsets.latest({at: 1}) == {at: 0}
    assert [record.message.rpartition("; ")[2] for record in caplog.records] == ["asking for their ends again"] * 3
    caplog.clear()
    with SourceOffsets(stream_options({**given, "fetchOffset.numRetries": "0"})) as offsets:
        assert offsets.latest({at: 1}) == {at: 0}
    assert caplog.records == [], "asked once"


def test_task_size_follows_options_or_a_default_maximum(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_offsets, "DEFAULT_MAX_RECORDS", 9)
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 20))
    assert between(servers, topic, {0: 0}, {0: 20}) == [(0, 0, 6), (0, 6, 13), (0, 13, 20)]
    assert between(servers, topic, {0: 0}, {0: 20}, maxRecordsPerPartition="10") == [(0, 0, 10), (0, 10, 20)]
    assert between(servers, topic, {0: 0}, {0: 20}, minPartitions="1") == [(0, 0, 20)]
