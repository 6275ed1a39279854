"""What a query asks a cluster before it reads."""

from collections.abc import Callable

import pytest
from pybroker.pipeline.client import cluster
from pybroker.pipeline.data_loss import DataLossError
from pybroker.pipeline.options import OptionError
from pybroker.pipeline.read_options import batch_options, stream_options
from pybroker.pipeline.source_offsets import SourceOffsets
from support.produced import START_MS, numbered, produce
from support.topics import create_topic, delete_records


def begin_batch(given: dict[str, str]) -> None:
    with SourceOffsets(batch_options(given)) as offsets:
        offsets.batch_ranges()


def begin_stream(given: dict[str, str]) -> None:
    with SourceOffsets(stream_options(given)) as offsets:
        offsets.initial()


@pytest.mark.parametrize("begin", [begin_batch, begin_stream])
def test_a_topic_that_is_named_and_not_there_is_no_empty_one(
    begin: Callable[[dict[str, str]], None], servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MISSING_MS", 0)
    create_topic(servers, topic, 1)
    needed = {"kafka.bootstrap.servers": servers}
    begin({**needed, "subscribe": topic})
    with pytest.raises(OptionError, match=f"Option 'subscribe': there is no topic {topic}s"):
        begin({**needed, "subscribe": f"{topic},{topic}s"})
    begin({**needed, "subscribePattern": "nonsense.*"})


@pytest.mark.parametrize("begin", [begin_batch, begin_stream])
def test_a_partition_that_is_named_and_not_there_is_told_with_its_option(
    begin: Callable[[dict[str, str]], None], servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MISSING_MS", 0)
    create_topic(servers, topic, 2)
    needed = {"kafka.bootstrap.servers": servers}
    begin({**needed, "assign": f'{{"{topic}":[1]}}'})
    with pytest.raises(OptionError, match=f"Option 'assign': there is no partition {topic}-7, {topic}s-0$"):
        begin({**needed, "assign": f'{{"{topic}":[1,7],"{topic}s":[0]}}'})


def test_a_batch_that_ends_before_it_begins_is_told(servers: str, topic: str) -> None:
    """Which offsets a timestamp means only the cluster knows."""
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
        with pytest.raises(DataLossError, match=f"{topic}-0 ends at 20, before the offset 21 it is to be read from"):
            begin_batch({**needed, "startingOffsets": at(21), **end})
        begin_batch({**needed, "startingOffsets": at(21), **end, "failOnDataLoss": "false"})
    delete_records(servers, topic, 0, before=10)
    begin_batch({**needed, "endingOffsets": at(5)})  # what there is from the beginning on is nothing, as in Spark's own
