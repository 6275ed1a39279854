"""The text of /metrics is read by Prometheus' own parsers, is made in slices, and is bounded."""

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import parser
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics_families
from pybroker.broker.metrics.exposition import OPEN_METRICS, TEXT, Exposition, content_type_for
from pybroker.broker.metrics.labels import LONGEST_VALUE, labels
from pybroker.broker.metrics.registry import Lines, Pace, Registry, Sample
from pybroker.broker.metrics.selection import Selection
from pybroker.broker.metrics.series.series import Detail, Spelling
from pybroker.broker.metrics.series.table import series_named
from support.examples import examples
from support.in_process.scraping import exposition_of, samples_in, text_of

DROPPED = series_named("pybroker_metrics_dropped_series")
FAILED = series_named("pybroker_metrics_failed_sources")
MESSAGES = series_named("kafka_server_brokertopicmetrics_messagesin_total")
LEADERS = series_named("kafka_server_replicamanager_leadercount")
SIZES = series_named("kafka_log_log_size")
TIMES = series_named("kafka_network_requestmetrics_totaltimems")
DURATIONS = series_named("pybroker_request_duration_seconds")


def scraped(exposition: Exposition, content_type: str = TEXT) -> str:
    return asyncio.run(text_of(exposition, content_type))


NUMBERS = st.one_of(st.integers(-(2**62), 2**62), st.floats())
PARTITION_LABELS = st.fixed_dictionaries({"topic": st.text(max_size=300), "partition": st.integers(0, 2**31)})


def as_read(value: str | int) -> str:
    """A label's value as Prometheus gets it: without what UTF-8 or its parser has no place for."""
    return str(value).encode("utf-8", "replace").decode().replace("\0", "\ufffd")


@pytest.mark.parametrize("content_type", [TEXT, OPEN_METRICS])
@given(values=st.dictionaries(st.tuples(st.text(max_size=LONGEST_VALUE), st.integers(0, 99)), NUMBERS, max_size=20))
def test_parser_reads_every_value_and_label_that_a_source_gave(
    content_type: str, values: dict[tuple[str, int], float]
) -> None:
    by_label = {(as_read(topic), str(partition)): value for (topic, partition), value in values.items()}
    registry = Registry()
    registry.add(SIZES, lambda: [(labels(topic=t, partition=int(p)), value) for (t, p), value in by_label.items()])
    found = samples_in(scraped(exposition_of(registry), content_type), content_type)
    for (topic, partition), value in by_label.items():
        read = found.pop((SIZES.name, frozenset({("topic", topic), ("partition", partition)})))
        assert float(read) == float(value) or (math.isnan(read) and math.isnan(value))
    assert found == {(DROPPED.name, frozenset()): 0, (FAILED.name, frozenset()): 0}


@given(PARTITION_LABELS, PARTITION_LABELS)
def test_labels_are_bounded_and_long_values_stay_distinct(
    one: dict[str, str | int], other: dict[str, str | int]
) -> None:
    texts = labels(**one), labels(**other)
    family = f"a{texts[0]} 1\n"
    (read,) = next(iter(parser.text_string_to_metric_families(family))).samples
    assert len(read.labels["topic"]) <= LONGEST_VALUE
    if any(as_read(one[name]) != as_read(other[name]) for name in one):
        assert texts[0] != texts[1]


def test_two_long_values_with_one_beginning_have_two_texts() -> None:
    assert labels(group="g" * 300 + "a") != labels(group="g" * 300 + "b")


@pytest.mark.parametrize("content_type", [TEXT, OPEN_METRICS])
def test_each_kind_of_series_is_read_with_its_type(content_type: str) -> None:
    registry = Registry()
    registry.add(LEADERS, lambda: [("", 3)])
    registry.add(MESSAGES, lambda: [("", 7)], Detail.BROKER)
    registry.add(MESSAGES, lambda: [(labels(topic="a"), 5), (labels(topic="b"), 2)])
    registry.add(TIMES, lambda: [('{request="Fetch",quantile="0.50"}', 1.5), ('_count{request="Fetch"}', 9)])
    registry.add(
        DURATIONS, lambda: [('_bucket{le="0.1"}', 1), ('_bucket{le="+Inf"}', 2), ("_count", 2), ("_sum", 0.25)]
    )
    text = scraped(exposition_of(registry), content_type)
    read = open_metrics_families if content_type == OPEN_METRICS else parser.text_string_to_metric_families
    types = {family.name: family.type for family in read(text)}
    assert types[LEADERS.name] == "gauge"
    assert types[MESSAGES.name.removesuffix("_total")] == "counter"
    assert types[TIMES.name] == "summary"
    assert types[DURATIONS.name] == "histogram"
    found = samples_in(text, content_type)
    assert found[MESSAGES.name, frozenset()] == 7
    assert found[f"{TIMES.name}_count", frozenset({("request", "Fetch")})] == 9
    assert text.endswith("# EOF\n") == (content_type == OPEN_METRICS)


def test_accept_header_of_prometheus_gets_openmetrics() -> None:
    accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
    assert content_type_for(accept) == OPEN_METRICS
    assert content_type_for("*/*") == content_type_for("") == TEXT


def many(number: int) -> Iterator[Sample]:
    yield from ((labels(topic="t", partition=partition), partition) for partition in range(number))


def three_details() -> Registry:
    registry = Registry()
    registry.add(SIZES, lambda: many(100))
    registry.add(MESSAGES, lambda: [(labels(topic="a"), 5), (labels(topic="b"), 2)])
    registry.add(MESSAGES, lambda: [("", 7)], Detail.BROKER)
    registry.add(LEADERS, lambda: [("", 3)])
    return registry


def counts_of(text: str) -> Mapping[str, int]:
    found = samples_in(text)
    return {series.name: sum(name == series.name for name, _ in found) for series in (LEADERS, MESSAGES, SIZES)}


@pytest.mark.parametrize("spelling", Spelling)
def test_only_selected_names_are_given(spelling: Spelling) -> None:
    registry = Registry()
    for name in ("kafka_brokers", "kafka_partition_latest_offset", LEADERS.name, "pybroker_ready"):
        registry.add(series_named(name), lambda: [("", 1)])
    found = samples_in(scraped(exposition_of(registry, Selection(names=frozenset({spelling})))))
    assert {series_named(name).spelling for name, _ in found} == {spelling}


@pytest.mark.parametrize(("detail", "messages", "sizes"), [("BROKER", 1, 0), ("TOPIC", 3, 0), ("PARTITION", 3, 100)])
def test_detail_leaves_out_finer_samples_and_keeps_sums(detail: str, messages: int, sizes: int) -> None:
    exposition = exposition_of(three_details(), Selection(detail=Detail[detail]))
    assert counts_of(scraped(exposition)) == {LEADERS.name: 1, MESSAGES.name: messages, SIZES.name: sizes}
    assert exposition.dropped == 0


def test_excluded_names_are_left_out_when_the_pattern_matches_the_whole_name() -> None:
    assert counts_of(scraped(exposition_of(three_details(), Selection(exclude=re.compile("kafka_log_.*|kafka"))))) == {
        LEADERS.name: 1,
        MESSAGES.name: 3,
        SIZES.name: 0,
    }


@pytest.mark.parametrize(
    ("limit", "messages", "sizes", "dropped"), [(104, 3, 100, 0), (103, 3, 0, 100), (3, 1, 0, 102), (0, 1, 0, 102)]
)
def test_partitions_go_first_beyond_the_limit_then_topics_and_the_brokers_series_stay(
    limit: int, messages: int, sizes: int, dropped: int, caplog: pytest.LogCaptureFixture
) -> None:
    exposition = exposition_of(three_details(), Selection(max_series=limit))
    for _ in range(2):
        text = scraped(exposition)
        assert counts_of(text) == {LEADERS.name: 1, MESSAGES.name: messages, SIZES.name: sizes}
        assert samples_in(text)[DROPPED.name, frozenset()] == dropped
    assert len(caplog.records) == bool(dropped), "logged once"
    assert (SIZES.name in caplog.text) is (sizes == 0)


def test_series_that_no_board_reads_go_first() -> None:
    registry = Registry()
    for name in ("kafka_log_log_numlogsegments", SIZES.name):
        registry.add(series_named(name), lambda: many(50))
    found = samples_in(scraped(exposition_of(registry, Selection(max_series=50))))
    assert {name for name, _ in found} == {SIZES.name, DROPPED.name, FAILED.name}


@settings(max_examples=examples(30))
@given(
    groups=st.lists(st.lists(st.integers(0, 10**12), max_size=5), max_size=8),
    limit=st.sampled_from([0, 5, 1000]),
    piece=st.sampled_from([1, 100, 10_000]),
)
def test_lines_give_the_same_text_as_the_same_samples_one_by_one(
    groups: list[list[int]], limit: int, piece: int
) -> None:
    texts = []
    for as_lines in (True, False):
        registry = Registry()
        if as_lines:
            registry.add(SIZES, lambda: [Lines([f'{{topic="{value}"}} {value}' for value in some]) for some in groups])
        else:
            registry.add(SIZES, lambda: [(labels(topic=str(value)), value) for some in groups for value in some])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pybroker.broker.metrics.exposition._PIECE_CHARACTERS", piece)
            texts.append(scraped(exposition_of(registry, Selection(max_series=limit))))
    assert texts[0] == texts[1]


def test_source_that_raises_an_error_costs_its_own_series_only(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[Sample]:
        yield "", 1
        raise RuntimeError("a bug")

    registry = three_details()
    registry.add(series_named("kafka_brokers"), broken)
    text = scraped(exposition_of(registry))
    assert counts_of(text) == {LEADERS.name: 1, MESSAGES.name: 3, SIZES.name: 100}
    found = samples_in(text)
    assert ("kafka_brokers", frozenset()) not in found
    assert found[FAILED.name, frozenset()] == 1
    assert "a bug" in caplog.text


@pytest.mark.parametrize("has_samples", [True, False])
def test_loop_turns_while_samples_are_read(has_samples: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybroker.broker.metrics.exposition.SLICE_S", 0)
    registry = Registry()
    registry.add(SIZES, lambda: many(10_000) if has_samples else (None for _ in range(10_000)))

    async def turns_of_a_scrape() -> int:
        turns = 0
        loop = asyncio.get_running_loop()

        def turn() -> None:
            nonlocal turns
            turns += 1
            handle[0] = loop.call_soon(turn)

        handle = [loop.call_soon(turn)]
        async for _ in exposition_of(registry).text(TEXT):
            pass
        handle[0].cancel()
        return turns

    assert asyncio.run(turns_of_a_scrape()) >= 10_000


def test_loop_turns_between_the_pieces_of_one_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybroker.broker.metrics.exposition.SLICE_S", 0)
    monkeypatch.setattr("pybroker.broker.metrics.exposition._PIECE_CHARACTERS", 1)
    registry = Registry()
    registry.add(SIZES, lambda: [Lines(['{topic="a"} 1'] * 10)] * 20)

    async def turns_at_pieces() -> list[int]:
        turns = [0]

        def turn() -> None:
            turns[0] += 1
            handle[0] = asyncio.get_running_loop().call_soon(turn)

        handle = [asyncio.get_running_loop().call_soon(turn)]
        seen = [turns[0] async for _ in exposition_of(registry).text(TEXT)]
        handle[0].cancel()
        return seen

    seen = asyncio.run(turns_at_pieces())
    assert len(set(seen[1:21])) == 20


class Walk:
    """A walk that has found a thousand things."""

    def __init__(self) -> None:
        self.found = list(range(1_000))

    async def collect(self, pace: Pace) -> None:
        await pace()

    def release(self) -> list[list[int]]:
        return [self.found]


async def test_loop_turns_while_the_findings_of_a_walk_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybroker.broker.metrics.exposition._FREED_AT_A_TIME", 100)
    registry, walk = three_details(), Walk()
    registry.add_walk(walk)
    text = cast("AsyncGenerator[bytes, None]", exposition_of(registry).text(TEXT))
    await anext(text)
    ending = asyncio.ensure_future(text.aclose())
    left = []
    while not ending.done():
        await asyncio.sleep(0)
        left.append(len(walk.found))
    assert set(left) >= set(range(0, 1_000, 100))
