"""Queries: defaults, and one line for each wrong parameter."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.views.query import QueryError, read_query
from pybroker.views.resources import RESOURCES, sort_fields
from pybroker.views.topics import TopicRow

TOPIC_FIELDS = [each.name for each in fields(TopicRow)]
BY_PATH = {resource.path: resource for resource in RESOURCES}
TOPICS = BY_PATH["/v1/topics"]


def test_missing_parameters_have_their_defaults() -> None:
    query = read_query(TOPICS, {})
    assert (query.number("limit"), query.number("offset")) == (10_000, 0)
    assert (query.text("sort"), query.text("filter"), query.text("state")) == ("topic", None, None)


def test_given_parameters_are_read() -> None:
    query = read_query(TOPICS, {"limit": "7", "sort": "-size_bytes", "filter": "a b", "state": "offline"})
    assert (query.number("limit"), query.text("sort")) == (7, "-size_bytes")
    assert (query.text("filter"), query.text("state")) == ("a b", "offline")
    assert query.names("fields") == ()
    assert read_query(TOPICS, {"fields": "records,topic"}).names("fields") == ("records", "topic")


@pytest.mark.parametrize(
    ("given_query", "line"),
    [
        ({"colour": "red"}, "there is no parameter 'colour'; allowed: filter, sort, limit, offset, state, fields"),
        ({"limit": "0"}, "limit='0': must be a whole number from 1 to 100000"),
        ({"limit": "-1"}, "limit='-1': must be a whole number from 1 to 100000"),
        ({"limit": "٣"}, "limit='\\u0663': must be a whole number from 1 to 100000"),
        ({"offset": "1_0"}, "offset='1_0': must be a whole number from 0 to 10000000"),
        ({"state": "on\nfire"}, "state='on\\nfire': must be one of offline, under_replicated, under_min_isr, internal"),
        *(
            (
                {"fields": text},
                f"fields='{text}': must be different ones, separated by commas, of {', '.join(TOPIC_FIELDS)}",
            )
            for text in ("", "topic,", "colour", "topic,topic", "topic, records")
        ),
        ({"filter": "x" * 1001}, "filter: longer than 1000 characters"),
    ],
)
def test_a_wrong_query_is_refused_in_one_line(given_query: dict[str, str], line: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_query(TOPICS, given_query)
    assert str(caught.value) == line


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.path)
def test_any_query_is_read_or_refused_in_one_short_line(resource) -> None:  # type: ignore[no-untyped-def]
    names = st.sampled_from([*(each.name for each in resource.parameters), "x"]) | st.text(max_size=5)

    @given(st.dictionaries(names, st.text(max_size=200) | st.integers().map(str), max_size=3))
    def check(query: dict[str, str]) -> None:
        try:
            read_query(resource, query)
        except QueryError as error:
            text = str(error)
            assert text.isascii()
            assert text.isprintable()
            assert len(text) < 1_500

    check()


def test_lists_can_be_sorted_by_texts_and_numbers_only() -> None:
    assert "is_internal" not in sort_fields(TopicRow)
    assert {"topic", "size_bytes", "bytes_in_per_s", "retention_ms"} <= set(sort_fields(TopicRow))
