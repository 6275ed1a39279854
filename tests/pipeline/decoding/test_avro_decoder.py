"""Tests of decoding Avro, against fastavro's writer."""

import io
import json
import pickle
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.pipeline.values.avro_decoder import AvroDecoder
from pybroker.pipeline.values.registry import SchemaRegistry
from pybroker.pipeline.values.schema_text import SchemaError, SchemaText
from pybroker.pipeline.values.wire_format import DecodeError
from support.spark.fake_registry import fake_registry

# Each Avro type, its Spark type, and the values that come back as they were written.
TYPES: list[tuple[Any, str, st.SearchStrategy[Any]]] = [
    ("boolean", "boolean", st.booleans()),
    ("int", "int", st.integers(-(1 << 31), (1 << 31) - 1)),
    ("long", "bigint", st.integers(-(1 << 63), (1 << 63) - 1)),
    ("float", "float", st.floats(width=32, allow_nan=False)),
    ("double", "double", st.floats(allow_nan=False)),
    ("bytes", "binary", st.binary()),
    ("string", "string", st.text(st.characters(exclude_categories=["Cs"]))),
    (["null", "long"], "bigint", st.none() | st.integers(0, 9)),
    (["string", "null"], "string", st.none() | st.text("ab")),
    (["null", "int", "long"], "bigint", st.none() | st.integers(0, 1 << 40)),
    ({"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}, "string", st.sampled_from(["RED", "BLUE"])),
    ({"type": "fixed", "name": "Two", "size": 2}, "binary", st.binary(min_size=2, max_size=2)),
    ({"type": "array", "items": "int"}, "array<int>", st.lists(st.integers(0, 9))),
    ({"type": "map", "values": ["null", "int"]}, "map<string,int>", st.dictionaries(st.text("ab"), st.none())),
    ({"type": "int", "logicalType": "date"}, "date", st.dates()),
    (
        {"type": "long", "logicalType": "timestamp-micros"},
        "timestamp",
        st.datetimes(timezones=st.just(UTC), min_value=datetime(1900, 1, 1)),
    ),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        "timestamp",
        st.integers(0, 1 << 41).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)),
    ),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz", st.just(datetime(2026, 1, 2, 3))),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        "decimal(9,2)",
        st.decimals(-1000, 1000, places=2),
    ),
    ({"type": "int", "logicalType": "time-millis"}, "int", st.integers(0, 86_399_999)),
    ({"type": "long", "logicalType": "time-micros"}, "bigint", st.integers(0, 86_399_999_999)),
    ({"type": "string", "logicalType": "uuid"}, "string", st.uuids().map(str)),
    (
        {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]},
        "struct<x:int>",
        st.integers(0, 9).map(lambda x: {"x": x}),
    ),
]


def record(*fields: tuple[str, Any], **further: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": of} for name, of in fields], **further}


def written(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def decoder(schema: Any, *references: tuple[str, str], **options: Any) -> AvroDecoder:
    made = AvroDecoder(SchemaText(json.dumps(schema), references), **options)
    copied: AvroDecoder = pickle.loads(pickle.dumps(made))
    return copied


EVERYTHING = record(*((f"f{number}", of) for number, (of, *_) in enumerate(TYPES)))
VALUES = st.fixed_dictionaries({f"f{number}": values for number, (*_, values) in enumerate(TYPES)})
OF_EVERYTHING = decoder(EVERYTHING)


def test_each_avro_type_has_its_spark_type() -> None:
    expected = ",".join(f"f{number}:{of}" for number, (_, of, _) in enumerate(TYPES))
    assert OF_EVERYTHING.type.simpleString() == f"struct<{expected}>"
    nullable = [field.name for field in OF_EVERYTHING.type.fields if field.nullable]
    assert nullable == ["f7", "f8", "f9"], "unions with null"


@given(VALUES)
def test_written_values_are_decoded(value: dict[str, Any]) -> None:
    assert OF_EVERYTHING.decode(written(EVERYTHING, value)) == value


@given(VALUES, st.binary(min_size=1, max_size=3))
def test_value_with_further_bytes_is_refused(value: dict[str, Any], further: bytes) -> None:
    with pytest.raises(DecodeError, match=f"^the value has {len(further)} bytes after its last field$"):
        OF_EVERYTHING.decode(written(EVERYTHING, value) + further)


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    with suppress(DecodeError):
        OF_EVERYTHING.decode(data)


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (["int", "string"], "f is a union of several types"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39}, "f is a decimal of 39 digits"),
        ({"type": "record", "name": "E", "fields": []}, "f has the Avro type E, which has no fields"),
        (["null", "R"], "f has the Avro type R, which contains itself"),
        ({"type": "array", "items": ["null", "R"]}, "an element of f has the Avro type R, which contains itself"),
        ("null", "f has the Avro type null, which has no Spark type"),
        ("nothing", "the Avro schema is invalid: UnknownType"),
    ],
)
def test_schema_without_spark_type_is_refused_with_its_field(of: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=f"^{says}"):
        decoder(record(("f", of)))


def test_schema_that_is_no_record_is_refused() -> None:
    for text in ('"string"', "[]", "no JSON", '{"type": "array", "items": "int"}'):
        with pytest.raises(SchemaError, match=r"^the Avro schema "):
            AvroDecoder(SchemaText(text))


def test_values_of_other_schemas_in_the_registry_become_the_columns_that_were_given() -> None:
    old = record(("id", "int"), ("gone", "string"))
    new = record(("id", "long"))
    new["fields"].append({"name": "added", "type": "string", "default": "?"})
    other = record(("id", "string"))
    with fake_registry() as served:
        ids = [served.register("t-value", json.dumps(each)) for each in (old, new, other)]
        reads = decoder(new, registry=SchemaRegistry(served.url))

        def decoded(schema_id: int, data: bytes) -> Any:
            return reads.decode(b"\0" + schema_id.to_bytes(4, "big") + data)

        assert decoded(ids[0], written(old, {"id": 1, "gone": "x"})) == {"id": 1, "added": "?"}
        assert decoded(ids[1], written(new, {"id": 2, "added": "y"})) == {"id": 2, "added": "y"}
        with pytest.raises(DecodeError, match=r"its schema does not fit the columns"):
            decoded(ids[2], written(other, {"id": "z"}))
        with pytest.raises(DecodeError, match=r"schema 9 can't be used: the schema registry does not have schema 9"):
            decoded(9, b"")
        assert len(served.asked) == 4


def test_schema_may_refer_to_others_and_skip_ids_without_a_registry() -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
    reads = decoder(record(("i", "Inner")), ("Inner", json.dumps(inner)), framed=True)
    assert reads.type.simpleString() == "struct<i:struct<x:int>>"
    assert reads.decode(b"\0\0\0\0\7" + written(inner, {"x": 5})) == {"i": {"x": 5}}


def test_time_outside_the_calendar_is_refused() -> None:
    reads = decoder(record(("t", {"type": "long", "logicalType": "timestamp-micros"})))
    assert reads.decode(written(record(("t", "long")), {"t": 0})) == {"t": datetime(1970, 1, 1, tzinfo=UTC)}
    with pytest.raises(DecodeError):
        reads.decode(written(record(("t", "long")), {"t": 1 << 62}))


NODE = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
TREE = {"type": "record", "name": "N", "fields": [{"name": "children", "type": {"type": "array", "items": "N"}}]}
EMPTY = {"type": "record", "name": "E", "fields": [{"name": "no", "type": {"type": "fixed", "name": "F", "size": 0}}]}


def decoded_with(writer: Any, data: bytes) -> Any:
    """Decodes a value that was written with a schema of the registry into one column."""
    with fake_registry() as served:
        schema_id = served.register("t-value", json.dumps(writer))
        reads = decoder(record(("id", "long")), registry=SchemaRegistry(served.url))
        return reads.decode(b"\0" + schema_id.to_bytes(4, "big") + data)


@pytest.mark.parametrize("of", [NODE, ["null", NODE], TREE])
def test_value_of_a_recursive_schema_is_decoded_unless_it_is_nested_too_deeply(of: Any) -> None:
    writer = record(("nested", of), ("id", "long"))
    nested: Any = {"children": [{"children": []}] * 3} if of is TREE else {"next": {"next": None}}
    assert decoded_with(writer, written(writer, {"nested": nested, "id": 7})) == {"id": 7}
    with pytest.raises(DecodeError, match=r"^the value can't be decoded as Avro: it is nested too deeply$"):
        decoded_with(writer, b"\x02" * 100_000 + b"\0\x0e")


def test_record_that_contains_itself_without_bytes_between_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"nested too deeply$"):
        decoded_with(record(("again", "R"), ("id", "long")), b"\x0e")


@pytest.mark.parametrize("items", ["null", {"type": "null"}, EMPTY, {**EMPTY, "fields": []}, record(("n", "null"))])
def test_array_whose_items_take_no_bytes_is_refused(items: Any) -> None:
    """A block that claims a billion items has five bytes."""
    fields = [{"name": "x", "type": {"type": "array", "items": items}}, {"name": "id", "type": "long"}]
    writer = {"type": "record", "name": "W", "fields": fields}
    with pytest.raises(DecodeError, match=r"^schema 1 can't be used: .* an array whose items take no bytes$"):
        decoded_with(writer, b"\x80\xa8\xd6\xb9\x07\0\x0e")
