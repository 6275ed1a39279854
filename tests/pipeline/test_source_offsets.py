"""What a query asks a cluster before it reads."""

from collections.abc import Callable

import pytest
from pybroker.pipeline.client import cluster
from pybroker.pipeline.options import OptionError
from pybroker.pipeline.read_options import batch_options, stream_options
from pybroker.pipeline.source_offsets import SourceOffsets
from support.topics import create_topic


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
