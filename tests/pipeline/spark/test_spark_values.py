"""Tests of decoding values in DataFrames on real Spark."""

import io
import json
from collections.abc import Sequence
from decimal import Decimal
from traceback import format_exception
from typing import TYPE_CHECKING, Any

import pytest
from support.spark.spark_rows import with_retry

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}
AVRO_TYPE = "struct<id:bigint,note:string,price:decimal(4,2),tags:map<string,int>,at:timestamp>"


def avro(**fields: Any) -> bytes:
    import fastavro

    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(ORDER), fields)
    return stream.getvalue()


def decoded(spark: "SparkSession", values: Sequence[bytes | None], column: "Column") -> list[Any]:
    """Returns the decoded value as JSON text and the error of each value."""
    frame = spark.createDataFrame([(value,) for value in values], "value binary").select(column.alias("d"))
    rows = with_retry(frame.selectExpr("to_json(d.value)", "d.error").collect)
    return [(None if row[0] is None else json.loads(row[0]), row[1]) for row in rows]


@pytest.mark.parametrize("of_rows", [False, True])
def test_avro_values_become_columns_and_bad_ones_errors(
    spark: "SparkSession", of_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark 4.0 has no functions of Arrow arrays, so the function is called for each row."""
    pytest.importorskip("fastavro")
    from pybroker.pipeline.values import FAIL, decode_avro
    from pyspark.sql import functions

    if of_rows:
        monkeypatch.delattr(functions, "arrow_udf")
    good = avro(id=7, note=None, price=Decimal("1.50"), tags={"a": 1, "b": 2}, at=1_000_000)
    column = decode_avro("value", json.dumps(ORDER))
    expected = {"id": 7, "price": 1.5, "tags": {"a": 1, "b": 2}, "at": "1970-01-01T00:00:01.000Z"}
    found = decoded(spark, [good, None, good[:-1]], column)
    assert found[:2] == [(expected, None), (None, None)]
    assert found[2][0] is None
    assert found[2][1].startswith("the value can't be decoded as Avro: ")
    frame = spark.createDataFrame([(good,)], "value binary").select(column.alias("d"))
    assert frame.schema["d"].dataType.simpleString() == f"struct<value:{AVRO_TYPE},error:string>"
    with pytest.raises(Exception, match="can't be decoded as Avro"):
        decoded(spark, [good[:-1]], decode_avro("value", json.dumps(ORDER), mode=FAIL))


def test_value_is_one_json_object_of_valid_utf_8_and_nothing_else(spark: "SparkSession") -> None:
    from pybroker.pipeline.values import decode_json

    good = [b'{"id":1}', b' {"id":1}\n', b'{"id":1,"name":"a]}, \xc3\xa4"}', b"{}"]
    bad = [
        *(b'{"id":1} garbage', b'{"id":1}{"id":2}', b'{"id":1},{"id":2}', b'{"id":1}] x', b'{"id":1}}', b'{"id":1},'),
        b'{"id":1},"the end of the value"] garbage',
        *(b"{'id':1}", b'{"name":"\xff"}', b'\xff{"id":1}', b'[{"id":1}]', b"[]", b"", b"null", b'{"id":"7"}'),
    ]
    found = decoded(spark, [*good, *bad, None], decode_json("value", "id bigint, name string"))
    assert found[: len(good)] == [({"id": 1}, None), ({"id": 1}, None), ({"id": 1, "name": "a]}, ä"}, None), ({}, None)]
    assert found[len(good) : -1] == [(None, "the value is not JSON with these columns")] * len(bad)
    assert found[-1] == (None, None)


def test_unreachable_registry_fails_the_query_and_its_user_is_in_no_plan_and_no_error(spark: "SparkSession") -> None:
    pytest.importorskip("fastavro")
    from pybroker.pipeline.values import SchemaRegistry, decode_avro

    registry = SchemaRegistry("http://127.0.0.1:1", "alice:canary")
    frame = spark.createDataFrame([(b"\0\0\0\0\7x",)], "value binary")
    found = frame.select(decode_avro("value", json.dumps(ORDER), registry=registry))
    with pytest.raises(Exception, match=r"schema registry http://127\.0\.0\.1:1 did not give schema 7") as error:
        with_retry(found.collect)
    seen = [str(found._jdf.queryExecution().toString()), "".join(format_exception(error.value))]
    assert [text for text in seen if "canary" in text] == []


def test_protobuf_values_become_columns_and_bad_ones_errors(spark: "SparkSession") -> None:
    pytest.importorskip("google.protobuf")
    pytest.importorskip("grpc_tools")
    from pybroker.pipeline.values import decode_protobuf

    source = (
        'syntax = "proto3"; message Order { int64 id = 1; repeated string tags = 2; oneof paid { string card = 3; } }'
    )
    good = b"\x08\x07\x12\x01a\x12\x01b"
    found = decoded(spark, [good, b"\xff", None], decode_protobuf("value", source))
    bad = "the value can't be decoded as the Protobuf message Order"
    assert found == [({"id": 7, "tags": ["a", "b"]}, None), (None, bad), (None, None)]


def test_json_values_become_columns_and_bad_ones_errors(spark: "SparkSession") -> None:
    from pybroker.pipeline.values import FAIL, SchemaError, decode_json, infer_json_schema

    values = [b'{"id": 1, "tags": ["a"]}', b'{"id": "x"}', b"no JSON", None]
    bad = "the value is not JSON with these columns"
    found = decoded(spark, values, decode_json("value", "id bigint, tags array<string>"))
    assert found == [({"id": 1, "tags": ["a"]}, None), (None, bad), (None, bad), (None, None)]

    framed = [b'\0\0\0\0\1{"id": 1}', b'{"id": 1}']
    found = decoded(spark, framed, decode_json("value", "id bigint", framed=True))
    assert found == [({"id": 1}, None), (None, "the value does not begin with 0 and a schema id")]
    with pytest.raises(Exception, match=bad):
        decoded(spark, values, decode_json("value", "id bigint", mode=FAIL))

    sample = spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)
    assert infer_json_schema(spark, sample, 1).simpleString() == "struct<id:bigint,tags:array<string>>"
    assert infer_json_schema(spark, sample).simpleString() == "struct<id:string,tags:array<string>>"
    with pytest.raises(SchemaError, match=r"^no JSON object is among the first 1 values"):
        infer_json_schema(spark, sample.where("value = cast('no JSON' as binary)"))
