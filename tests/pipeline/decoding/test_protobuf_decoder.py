"""Tests of decoding Protobuf, against the writer of Google's library."""

import pickle
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf import message_factory
from hypothesis import given
from hypothesis import strategies as st
from pybroker.pipeline.values import protobuf_compiler
from pybroker.pipeline.values.protobuf_compiler import compiled_source, message_named, parsed_descriptors
from pybroker.pipeline.values.protobuf_decoder import ProtobufDecoder
from pybroker.pipeline.values.registry import SchemaRegistry
from pybroker.pipeline.values.schema_text import SchemaError, SchemaText
from pybroker.pipeline.values.wire_format import DecodeError
from support.spark.fake_registry import fake_registry

COMMON = 'syntax = "proto3"; package common; message Place { string city = 1; }'
ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "common/place.proto";
message Other { int32 x = 1; }
message Order {
  message Item { string name = 1; uint32 count = 2; }
  int64 id = 1;
  optional string note = 2;
  uint64 big = 3;
  repeated Item items = 4;
  map<string, Item> by_name = 5;
  map<int32, double> prices = 6;
  oneof paid { string card = 7; sint32 cash = 8; }
  google.protobuf.Timestamp at = 9;
  google.protobuf.StringValue maybe = 10;
  Color color = 11;
  common.Place place = 12;
  bytes raw = 13;
  repeated fixed64 marks = 14;
  bool done = 15;
  float share = 16;
}
enum Color { RED = 0; BLUE = 1; }
"""
SCHEMA = SchemaText(ORDER, (("common/place.proto", COMMON),))
START = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INT32, INT64 = st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 63), (1 << 63) - 1)
ITEM = st.fixed_dictionaries({"name": TEXTS, "count": st.integers(0, (1 << 32) - 1)})


@cache
def compiled() -> bytes:
    return compiled_source(SCHEMA)


@cache
def of_orders() -> ProtobufDecoder:
    made: ProtobufDecoder = pickle.loads(pickle.dumps(ProtobufDecoder(compiled(), "shop.Order")))
    return made


def order(**fields: Any) -> bytes:
    """Encodes an order; None leaves a field out."""
    message = message_factory.GetMessageClass(message_named(parsed_descriptors(compiled()), "shop.Order"))()
    for name, value in fields.items():
        match name, value:
            case _, None:
                continue
            case "items", _:
                for item in value:
                    message.items.add(**item)
            case "by_name", _:
                for key, item in value.items():
                    message.by_name[key].name, message.by_name[key].count = item["name"], item["count"]
            case "prices", _:
                message.prices.update(value)
            case "marks", _:
                message.marks.extend(int(each) for each in value)
            case "at", _:
                message.at.FromDatetime(value)
            case "maybe", _:
                message.maybe.value = value
            case "place", _:
                message.place.city = value["city"]
                message.place.SetInParent()
            case _:
                setattr(message, name, int(value) if isinstance(value, Decimal) else value)
    encoded: bytes = message.SerializeToString()
    return encoded


ORDERS = st.fixed_dictionaries(
    {
        "id": INT64,
        "note": st.none() | TEXTS,
        "big": st.integers(0, (1 << 64) - 1).map(Decimal),
        "items": st.lists(ITEM, max_size=3),
        "by_name": st.dictionaries(TEXTS, ITEM, max_size=3),
        "prices": st.dictionaries(INT32, st.floats(allow_nan=False), max_size=3),
        "card": st.none() | TEXTS,
        "cash": st.none(),
        "at": st.none() | st.integers(0, 1 << 50).map(lambda us: START + timedelta(microseconds=us)),
        "maybe": st.none() | TEXTS,
        "color": st.sampled_from(["RED", "BLUE"]),
        "place": st.none() | st.fixed_dictionaries({"city": TEXTS}),
        "raw": st.binary(max_size=5),
        "marks": st.lists(st.integers(0, (1 << 64) - 1).map(Decimal), max_size=3),
        "done": st.booleans(),
        "share": st.floats(width=32, allow_nan=False),
    }
)


def test_each_field_has_its_spark_type() -> None:
    item = "struct<name:string,count:bigint>"
    assert of_orders().type.simpleString() == (
        f"struct<id:bigint,note:string,big:decimal(20,0),items:array<{item}>,by_name:map<string,{item}>,"
        "prices:map<int,double>,card:string,cash:int,at:timestamp,maybe:string,color:string,"
        "place:struct<city:string>,raw:binary,marks:array<decimal(20,0)>,done:boolean,share:float>"
    )
    nullable = {field.name for field in of_orders().type.fields if field.nullable}
    assert nullable == {"note", "card", "cash", "at", "maybe", "place"}


@given(ORDERS)
def test_written_messages_are_decoded(fields: dict[str, Any]) -> None:
    assert of_orders().decode(order(**{**fields, "color": ["RED", "BLUE"].index(fields["color"])})) == fields


@given(st.binary(max_size=100))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    with suppress(DecodeError):
        of_orders().decode(data)


def test_absent_fields_are_null_or_the_default_of_proto3() -> None:
    found = of_orders().decode(b"")
    assert {name for name, value in found.items() if value is None} == {"note", "card", "cash", "at", "maybe", "place"}
    assert (found["id"], found["color"], found["items"], found["by_name"], found["raw"]) == (0, "RED", [], {}, b"")


def test_unknown_number_of_an_enum_is_kept_as_text() -> None:
    assert of_orders().decode(order(color=7))["color"] == "7"


def test_time_outside_the_calendar_is_refused() -> None:
    message = message_factory.GetMessageClass(message_named(parsed_descriptors(compiled()), "shop.Order"))()
    message.at.seconds = 1 << 60
    with pytest.raises(DecodeError, match=r"^a timestamp is not between the years 1 and 9999$"):
        of_orders().decode(message.SerializeToString())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("message A { A a = 1; }", "a has the message A, which contains itself"),
        ("message A { B b = 1; } message B { repeated A a = 1; }", r"b\.a has the message A, which contains itself"),
        ("message A { }", "the value has the message A, which has no fields"),
        ("message A { B b = 1; } message B { }", "b has the message B, which has no fields"),
        ("enum E { X = 0; }", "schema.proto declares no message"),
        ("message A { Missing x = 1; }", 'the Protobuf schema can\'t be compiled: schema.proto:.*"Missing"'),
        ('import "no.proto"; message A { int32 x = 1; }', r"the Protobuf schema can't be compiled: no\.proto: "),
    ],
)
def test_schema_without_spark_type_is_refused_with_its_field(body: str, says: str) -> None:
    with pytest.raises(SchemaError, match=f"^{says}"):
        ProtobufDecoder(compiled_source(SchemaText(f'syntax = "proto3"; {body}')), None)


def test_wrong_file_and_wrong_message_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"no compiled Protobuf schema"):
        ProtobufDecoder(b"\xff\xff", None)
    with pytest.raises(SchemaError, match=r"has no message shop\.Missing"):
        ProtobufDecoder(compiled(), "shop.Missing")
    with pytest.raises(SchemaError, match=r"outside the folder of the schema"):
        compiled_source(SchemaText("", (("../a.proto", ""),)))


def test_file_without_a_name_of_a_message_has_its_first_message() -> None:
    assert ProtobufDecoder(compiled(), None).message == "shop.Other"


def test_wire_format_says_which_message_of_which_schema_the_value_is() -> None:
    newer = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string added = 99; message Item {} }'
    with fake_registry() as served:
        served.register("place", COMMON, "PROTOBUF")
        place = {"name": "common/place.proto", "subject": "place", "version": 1}
        old = served.register("t-value", ORDER, "PROTOBUF", [place])
        new = served.register("t-value", newer, "PROTOBUF")
        reads = ProtobufDecoder(compiled(), "shop.Order", SchemaRegistry(served.url))

        def decoded(schema_id: int, indexes: bytes, data: bytes) -> Any:
            return reads.decode(b"\0" + schema_id.to_bytes(4, "big") + indexes + data)

        assert decoded(old, b"\x02\x02", order(id=5))["id"] == 5
        assert decoded(new, b"\0", order(id=6))["id"] == 6
        with pytest.raises(DecodeError, match=r"^the value is the message shop\.Other, not shop\.Order$"):
            decoded(old, b"\0", b"")
        with pytest.raises(DecodeError, match=r"^the value is the message shop\.Order\.Item, not shop\.Order$"):
            decoded(new, b"\x04\0\0", b"")
        with pytest.raises(DecodeError, match=r"no message with the indexes \[5\]"):
            decoded(new, b"\x02\x0a", b"")
        with pytest.raises(DecodeError, match=r"does not have schema 9"):
            decoded(9, b"\0", b"")
        assert served.asked.count(f"/schemas/ids/{old}") == 1


def test_schema_id_and_indexes_are_skipped_without_a_registry() -> None:
    reads = ProtobufDecoder(compiled(), "shop.Order", framed=True)
    assert reads.decode(b"\0\0\0\0\7\x02\x02" + order(id=5))["id"] == 5


def test_schema_that_cannot_be_compiled_starts_a_compiler_once_a_minute_and_names_its_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark copies the decoder for each task, and each value may have the schema."""
    clock: Any = SimpleNamespace(now_s=0.0)
    clock.monotonic = lambda: clock.now_s
    compiled_at = []

    def compile_source(schema: SchemaText) -> bytes:
        compiled_at.append(clock.now_s)
        return compiled_source(schema)

    monkeypatch.setattr(protobuf_compiler, "compiled_source", compile_source)
    monkeypatch.setattr(protobuf_compiler, "time", clock)
    missing = 'syntax = "proto3"; import "google/type/date.proto"; message Order { google.type.Date at = 1; }'
    with fake_registry() as served:
        schema_id = served.register("t-value", missing, "PROTOBUF")
        reads = ProtobufDecoder(compiled(), "shop.Order", SchemaRegistry(served.url))
        for now_s in (1000.0, 1001.0, 1059.0, 1061.0):
            clock.now_s = now_s
            task: ProtobufDecoder = pickle.loads(pickle.dumps(reads))
            with pytest.raises(DecodeError, match=r"^schema 1 can't be used: .*google/type/date\.proto"):
                task.decode(b"\0" + schema_id.to_bytes(4, "big") + b"\0")
    assert compiled_at == [1000.0, 1061.0]


@pytest.mark.parametrize("data", [b"\x0b" * 100_000, b"\x2a\x7f" * 50_000])
def test_deeply_nested_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^the value can't be decoded as the Protobuf message shop\.Order$"):
        of_orders().decode(data)


@pytest.mark.parametrize("data", ["12050a01ff1001", "1a0712050a01ff1001"])
def test_map_key_of_proto2_that_is_not_utf8_is_refused(data: str) -> None:
    """Protobuf's parser checks the strings of proto3 only; the keys of a map fail when they are read."""
    body = 'syntax = "proto2"; message A { optional string s = 1; map<string, int32> m = 2; optional A.B b = 3; '
    reads = ProtobufDecoder(compiled_source(SchemaText(f"{body} message B {{ map<string, int32> m = 2; }} }}")), None)
    assert reads.decode(bytes.fromhex(data.replace("01ff", "0161")))
    with pytest.raises(DecodeError, match=r"^a text in the value is not UTF-8$"):
        reads.decode(bytes.fromhex(data))
