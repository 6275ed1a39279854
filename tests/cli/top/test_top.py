"""``pybroker top``: rates, tables, keys, and the looks at a broker by both ways."""

from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.top.drawing import drawn, fitted
from pybroker.cli.top.keys import ScreenState, keys_in, pressed
from pybroker.cli.top.rates import GroupLook, LogsLook, Look, view_of
from pybroker.cli.top.sections import SECTIONS
from pybroker.cli.top.shapes import BusyGroup, BusyTopic, TopView
from pybroker.cli.top.v1_looks import merged
from support.clients.commands import checked_json, rows_of, run
from support.clients.produced import Produced, produce
from support.examples import examples

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def look(at_s: float, ends: dict[TopicPartition, int], committed: int | None = None) -> Look:
    return Look(
        at_s=at_s,
        time_ms=0,
        brokers={1: "one:9092", 2: "two:9092"},
        controller=2,
        leaders={A: 1, B: 2},
        logs=LogsLook({A: 0, B: 0}, ends, {at: end * 10 for at, end in ends.items()}),
        groups={"g": GroupLook("Stable", 1, {A: 5 if committed is None else committed})},
        problems=(),
    )


def test_rates_are_the_growth_between_two_looks() -> None:
    view = view_of(look(1.0, {A: 100, B: 7}, committed=5), look(3.0, {A: 300, B: 7}, committed=45))
    assert [(each.broker, each.records_per_s, each.bytes_in_per_s) for each in view.brokers] == [
        (1, 100.0, 1000.0),
        (2, 0.0, 0.0),
    ]
    (topic,) = view.topics
    assert (topic.records_per_s, topic.size_bytes) == (100.0, 3070)
    (group,) = view.groups
    assert (group.lag, group.read_per_s) == (255, 20.0)
    assert [each.broker for each in view.brokers if each.is_controller] == [2]


def test_partition_that_shrank_or_is_new_has_no_rate() -> None:
    view = view_of(look(1.0, {A: 100}), look(2.0, {A: 3, B: 9}))
    assert [each.records_per_s for each in view.brokers] == [None, None]
    assert view_of(look(1.0, {A: 1}), look(1.0, {A: 1})).seconds is None


def document(broker: int, topic_size: int) -> dict[str, Any]:
    return {"source": {"broker_id": broker}, "items": [{"topic": "t", "partitions": 2, "size_bytes": topic_size}]}


def test_documents_of_several_brokers_are_added_up() -> None:
    clusters = [{"source": {"broker_id": 1}, "rates": {"messages_in_per_s": 7.5}}]
    brokers = [{"items": [{"id": number, "leaders": 3} for number in (1, 2)]}] * 2
    view = merged(clusters, brokers, [document(1, 10), document(2, 20)], [])
    assert [(each.broker, each.records_per_s) for each in view.brokers] == [(1, 7.5), (2, None)]
    assert [(each.topic, each.partitions, each.size_bytes) for each in view.topics] == [("t", 2, 30)]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["source", "rates", "items", "topic", "group", "id", "lag", "size_bytes", "endpoints"]),
            inner,
        )
    ),
    max_leaves=12,
)
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from(["source", "rates", "items"]), ANY), max_size=2)


@settings(max_examples=examples(40))
@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_documents_of_any_form_are_drawn(clusters: Any, brokers: Any, topics: Any, groups: Any) -> None:
    drawn(merged(clusters, brokers, topics, groups), ScreenState(), (80, 24), None)


KEYS = st.lists(st.sampled_from([*"btgasrp/jkx", "\x1b[A", "\x1b[6~", "\x1b", "\r", "\x7f"]), max_size=12)


@given(st.lists(st.text(max_size=30), max_size=30), KEYS, st.integers(1, 200), st.integers(1, 40))
def test_screen_has_exactly_its_size_whatever_the_names_are(
    names: list[str], keys: list[str], columns: int, height: int
) -> None:
    view = TopView(
        source="protocol",
        time_ms=0,
        seconds=1.0,
        brokers=(),
        topics=tuple(
            BusyTopic(
                topic=name,
                partitions=1,
                records_per_s=None if number % 2 else float(number),
                bytes_in_per_s=None,
                bytes_out_per_s=None,
                size_bytes=number,
            )
            for number, name in enumerate(names)
        ),
        groups=tuple(
            BusyGroup(group=name, state=None, members=None, lag=None, lag_seconds=None, read_per_s=None)
            for name in names
        ),
        problems=(),
    )
    state = ScreenState()
    for key in keys:
        state = pressed(state, key)
    lines = drawn(view, state, (columns, height), None)
    assert len(lines) == height
    assert all(line.text.isprintable() and line.text == fitted(line.text, columns) for line in lines)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abc", 5, "abc  "), ("abcdef", 4, "abc…"), ("日本語", 6, "日本語"), ("日本語", 4, "日… "), ("x", 0, "")],
)
def test_text_fits_its_width(text: str, width: int, expected: str) -> None:
    assert fitted(text, width) == expected


def test_keys_are_told_apart_and_a_filter_takes_letters_that_are_keys() -> None:
    assert keys_in("q\x1b[5~\x1b[A/\x1b") == ["q", "\x1b[5~", "\x1b[A", "/", "\x1b"]
    state = ScreenState()
    for key in "/qt\x7fs\r":
        state = pressed(state, key)
    assert (state.filter, state.is_typing, state.is_over, state.section) == ("qs", False, False, -1)
    assert pressed(state, "\x1b").filter == ""
    assert pressed(state, "q").is_over


def test_each_table_has_a_width_and_a_value_for_each_column() -> None:
    for section in SECTIONS:
        assert len(section.columns) == len(section.values) == len(section.widths) + 1
        assert all(len(each.title) < width for each, width in zip(section.columns[1:], section.widths, strict=True))


def test_top_prints_its_tables_once_without_a_terminal(servers: str, http: str) -> None:
    run(servers, "topics", "create", "busy", "-p", "2", "--wait")
    produce(servers, [Produced("busy", 0, -1, -1, None, b"value")] * 3)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "behind"})
    consumer.commit(offsets=[Place("busy", 0, 1)], asynchronous=False)
    consumer.close()
    for way in ((), ("--v1", http)):
        (row,) = checked_json(servers, TopView, "top", "-d", "0.1", *way)
        (topic,) = [each for each in row["topics"] if each["topic"] == "busy"]
        assert (topic["partitions"], topic["size_bytes"] > 0) == (2, True)
        (group,) = [each for each in row["groups"] if each["group"] == "behind"]
        assert (group["state"], group["members"], group["lag"]) == ("Empty", 0, 2)
        (broker,) = row["brokers"]
        assert broker["is_controller"]
        assert way or (broker["records_per_s"], topic["records_per_s"]) == (0.0, 0.0)
    ran = run(servers, "top", "-n", "2", "-d", "0.1", "--filter", "busy")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[:2] for line in ran.out.splitlines() if line.startswith("busy")] == [["busy", "2"]] * 2
    assert rows_of(run(servers, "top", "-o", "json", "-d", "0.1", "--v1", http).out, TopView)[0]["seconds"] is None
