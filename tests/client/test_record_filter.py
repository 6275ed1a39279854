"""Tests of queries for records: their syntax, their meaning, and searches of whole batches by needles."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.client.record_filter import BatchSearch, Candidate, QueryError, compile_query, needles_of, parse_query
from pybroker.client.record_filter.syntax import (
    And,
    BytesTerm,
    ErrorTerm,
    Not,
    NumberTerm,
    Or,
    PathTerm,
    Query,
    Word,
)
from pybroker.protocol.records.batch import read_header
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch, read_records

ORDER = {
    "status": "failed",
    "user": {"id": 42, "name": "Zoë"},
    "items": ["a1", {"sku": "b2"}],
    "paid": None,
    "ok": True,
}


def holds(query: str, value: Any = ORDER, *, key: bytes | None = b"k-1", headers: Any = (), partition: int = 3) -> bool:
    data = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    record = Record(17, 1_764_000_000_000, key, data, headers)
    return compile_query(parse_query(query))(Candidate(partition, record))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("failed", Word("failed")),
        ('"two words"', Word("two words")),
        ("key=a", BytesTerm("key", "", "=", "a")),
        ("status:failed", PathTerm(("status",), ":", "failed")),
        ("value.items[0].x>=3", PathTerm(("items", 0, "x"), ">=", "3")),
        ("value[1]?", PathTerm((1,), "?", "")),
        ("header.trace-id^ab", BytesTerm("header", "trace-id", "^", "ab")),
        ("offset<=9", NumberTerm("offset", "<=", 9)),
        ("time>=2026-11-25T08:00", NumberTerm("time", ">=", 1_795_593_600_000)),
        ("time<2026-11-25T08:00+01:00", NumberTerm("time", "<", 1_795_590_000_000)),
        ("error?", ErrorTerm("?", "")),
        ("a b or not (c and d)", Or((And((Word("a"), Word("b"))), Not(And((Word("c"), Word("d"))))))),
        ('x="a \\"b\\" \\u00e9"', PathTerm(("x",), "=", 'a "b" é')),
        ("order and more", And((Word("order"), Word("more")))),
    ],
)
def test_query_is_read_by_the_grammar(text: str, query: Query) -> None:
    assert parse_query(text) == query


@pytest.mark.parametrize(
    ("text", "says", "at"),
    [
        ("", "a condition is missing", 0),
        ("a or", "a condition is missing", 4),
        ("and b", "a condition is missing", 0),
        ("(a", "'(' is not closed", 0),
        ("a)", "no '('", 1),
        ('a "b', "'\"' is not closed", 2),
        ("key=", "what must key be compared with", 4),
        ("offset:3", "can be compared with", 6),
        ("size>big", "a whole number", 5),
        ("time>=yesterday", "2026-11-25T08:00", 6),
        ("key?x", "nothing may follow", 4),
        ('"\\x"', "escape", 0),
        ("a " * 65, "more than 64 conditions", 128),
        ("(" * 18 + "a" + ")" * 18, "more than 16 levels", 17),
        ("x" * 1_001, "1001 characters", 1_000),
        ('""', "empty", 0),
    ],
)
def test_wrong_query_names_the_place_of_the_mistake(text: str, says: str, at: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert says in str(caught.value)
    assert caught.value.at == at


@given(st.text(max_size=60) | st.text(alphabet='()"\\ andornt=:^?<>!.[]0key', max_size=40))
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    place = 0
    try:
        parse_query(text)
    except QueryError as error:
        place = error.at
    assert 0 <= place <= len(text)


TRUE = [
    "failed",
    "k-1",
    "key=k-1",
    "key^k",
    "key:1",
    "value:status",
    "value?",
    "status=failed",
    "status:ail",
    "status^fa",
    "status>e",
    "user.id=42",
    "user.id=42.0",
    "user.id>41.5",
    "user.id:4",
    "user.name=Zoë",
    "items:a1",
    "items[1].sku=b2",
    "paid?",
    "paid=null",
    "ok=true",
    "ok!=false",
    "missing!=1",
    "not missing?",
    "partition=3 offset=17 size>5",
    "time>=2025-01-01",
    "failed and (nothing or user.id=42)",
]
FALSE = [
    "Failed",
    "key=k",
    "key>5",
    "status=fail",
    "status<3",
    "user.id=43",
    "user.id<abc",
    "user=42",
    "items=a1",
    "items[7]?",
    "missing?",
    "missing=1",
    "ok=1",
    "error?",
    "not failed",
    "header.x?",
    "partition!=3",
]


@pytest.mark.parametrize("query", TRUE)
def test_record_matches(query: str) -> None:
    assert holds(query)


@pytest.mark.parametrize("query", FALSE)
def test_record_does_not_match(query: str) -> None:
    assert not holds(query)


def test_headers_match_if_one_of_the_same_name_does() -> None:
    headers = (("trace", b"abc"), ("trace", b"xyz"), ("none", None))
    assert holds("header.trace^xy header.trace=abc header.none? abc", headers=headers)
    assert not holds("header.trace!=abc", headers=headers)
    assert not holds("header.none:a", headers=headers)


def test_value_that_is_no_json_has_an_error_and_no_members() -> None:
    assert holds('error:"not JSON"', b"<xml/>")
    assert holds('error:"not UTF-8"', b"\xff")
    assert holds("error:nested", b"[" * 100_000)
    assert not holds("status?", b"<xml/>")
    assert not holds("error?", None)
    assert holds("not value?", None)


# -- searches of whole batches against a slow evaluator, which decodes each record

TEXTS = st.sampled_from(
    ["failed", "fail", "a", "b2", "user", "42", "1e2", "Infinity", "true", "Zoë", 'q"q', "s/s", "x\\y"]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-200, 200) | st.sampled_from([1e2, 0.5, 4.2e1]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def spelled(value: Any, kind: int) -> bytes:
    """One of the spellings that JSON has for a value."""
    text = json.dumps(value, ensure_ascii=kind != 1)
    if kind == 2:
        text = text.replace("a", "\\u0061")  # valid in texts; elsewhere it makes the value no JSON, which is fine too
    if kind == 3:
        text = text.replace("/", "\\/").replace("100", "1e2").replace("42", "4.2e1")
    return text.encode()


VALUES = st.none() | st.builds(spelled, JSON_VALUES, st.integers(0, 3)) | st.binary(max_size=8)
HEADERS = st.lists(st.tuples(TEXTS, st.none() | TEXTS.map(str.encode)), max_size=2).map(tuple)
RECORDS = st.lists(st.tuples(st.none() | TEXTS.map(str.encode), VALUES, HEADERS), min_size=1, max_size=20)
PATHS = st.lists(TEXTS | st.integers(0, 2), min_size=1, max_size=2).map(tuple)
TERMS = (
    TEXTS.map(Word)
    | st.builds(BytesTerm, st.sampled_from(["key", "value"]), st.just(""), st.sampled_from("=:^?<"), TEXTS)
    | st.builds(BytesTerm, st.just("header"), TEXTS, st.sampled_from(["=", ":", "^", "?", "!=", ">"]), TEXTS)
    | st.builds(PathTerm, PATHS, st.sampled_from(["=", ":", "^", "?", "!=", "<"]), TEXTS | st.just("100"))
    | st.builds(NumberTerm, st.just("offset"), st.sampled_from(["<", "!="]), st.integers(0, 20))
    | st.builds(ErrorTerm, st.sampled_from(["?", ":"]), TEXTS)
)
QUERIES = st.recursive(
    TERMS,
    lambda inner: (
        inner.map(Not)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts)))
    ),
    max_leaves=5,
)


@given(RECORDS, QUERIES, st.sampled_from([Codec.NONE, Codec.LZ4]))
def test_search_by_needles_finds_what_decoding_each_record_finds(
    records: list[Any], query: Query, codec: Codec
) -> None:
    built = [Record(at, 1_000 + at, key, value, headers) for at, (key, value, headers) in enumerate(records)]
    batch = read_header(data := build_batch(built, codec=codec), 0, len(data))
    assert batch is not None
    matches = compile_query(query)
    slowly = [each for each in read_records(batch) if matches(Candidate(0, each))]
    assert list(BatchSearch(query).records(batch, 0, 1 << 20)) == slowly


def test_a_rare_hit_in_a_long_batch_is_found_with_its_offset() -> None:
    records = [Record(at, 5, None, b"needle" if at == 777 else b"x" * (at % 200)) for at in range(1_000)]
    batch = read_header(data := build_batch(records, codec=Codec.ZSTD), 0, len(data))
    assert batch is not None
    assert list(BatchSearch(parse_query("needle")).records(batch, 0, 1 << 20)) == [records[777]]


@pytest.mark.parametrize(
    ("query", "needles"),
    [
        ("failed a", (b"failed",)),
        ("a or bb", (b"a", b"bb")),
        ("not failed", None),
        ("user.id=42", (b"user", b"\\u")),
        ("status=failed x", (b"x",)),
        ("status=failed", (b"failed", b"\\u")),
        ("header.trace=a offset>3", (b"a",)),
        ("header.trace? a", (b"a",)),
        ("header.trace!=a", None),
        ("offset>3", None),
        ("failed or offset>3", None),
    ],
)
def test_needles_are_the_bytes_that_a_match_must_contain(query: str, needles: tuple[bytes, ...] | None) -> None:
    found = needles_of(parse_query(query))
    assert (found and found.all()) == needles
