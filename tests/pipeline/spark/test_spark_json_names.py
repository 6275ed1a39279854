"""Tests of decoding JSON whose fields have unusual names, on real Spark."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.pipeline.jobs.command import BAD_INPUT
from support.clients.produced import START_MS, Produced, produce
from support.clients.topics import create_topic
from support.spark.archiving import Archiving
from support.spark.pipeline_commands import run_command
from support.spark.spark_rows import with_retry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASE_SENSITIVE = "spark.sql.caseSensitive"
TWO = "the value has two fields for one column, whose names differ only by case"
BAD = "the value is not JSON with these columns"


@pytest.fixture
def archiving(spark: "SparkSession", servers: str, tmp_path: Path) -> Archiving:
    return Archiving(spark, servers, tmp_path / "table")


@contextmanager
def case_sensitive(spark: "SparkSession") -> Iterator[None]:
    spark.conf.set(CASE_SENSITIVE, "true")
    try:
        yield
    finally:
        spark.conf.unset(CASE_SENSITIVE)


def inferred(spark: "SparkSession", values: Sequence[bytes]) -> tuple[str, list[Any]]:
    """Returns the inferred type, and the value as JSON text and the error of each value that is decoded by it."""
    from pybroker.pipeline.values import decode_json, infer_json_schema

    frame = spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)
    schema = infer_json_schema(spark, frame)
    return schema.simpleString(), decoded(spark, values, decode_json("value", schema))


def decoded(spark: "SparkSession", values: Sequence[bytes], column: Any) -> list[Any]:
    frame = spark.createDataFrame([(value,) for value in values], "value binary").select(column.alias("d"))
    rows = with_retry(frame.selectExpr("to_json(d.value)", "d.error").collect)
    return [row[1] if row[0] is None else json.loads(row[0]) for row in rows]


def test_fields_that_differ_only_by_case_are_one_column_and_a_value_with_two_of_them_an_error(
    spark: "SparkSession",
) -> None:
    values = [b'{"id":1}', b'{"Id":2,"x":true}', b'{"ID":3,"id":null}', b'{"Id":4,"id":5}', b"{}"]
    assert inferred(spark, values) == (
        "struct<ID:bigint,x:boolean>",
        [{"ID": 1}, {"ID": 2, "x": True}, {"ID": 3}, TWO, {}],
    )


def test_fields_that_differ_only_by_case_are_one_column_in_objects_and_arrays_too(spark: "SparkSession") -> None:
    values = [
        b'{"a":[{"Id":1},{"id":"x"},null]}',
        b'{"A":[{"id":2}],"b":{"c":{"D":1.5},"C":null}}',
        b'{"a":[{"id":1},{"Id":1,"id":2}]}',
        b'{"b":{"c":{"D":1,"d":12345678901234567890}}}',
        b'{"b":null}',
    ]
    assert inferred(spark, values) == (
        "struct<A:array<struct<Id:string>>,b:struct<C:string>>",
        [
            {"A": [{"Id": "1"}, {"Id": "x"}, None]},
            {"A": [{"Id": "2"}], "b": {"C": '{"D":1.5}'}},
            TWO,
            {"b": {"C": '{"D":1,"d":12345678901234567890}'}},
            {},
        ],
    )


def test_column_of_fields_that_differ_only_by_case_has_room_for_the_numbers_of_all(spark: "SparkSession") -> None:
    big = 10**20
    values = [b'{"a":1,"b":1,"c":[1]}', b'{"A":0.5,"B":%d,"C":[0.5]}' % big, b'{"A":%d}' % big]
    found = inferred(spark, values)
    assert found[0] == "struct<A:double,B:decimal(21,0),C:array<double>>"
    assert found[1] == [{"A": 1.0, "B": 1, "C": [1.0]}, {"A": 0.5, "B": big, "C": [0.5]}, {"A": 1e20}]


def test_fields_that_differ_only_by_case_are_columns_of_their_own_in_a_case_sensitive_session(
    spark: "SparkSession",
) -> None:
    values = [b'{"id":1,"a":{"B":1}}', b'{"Id":2,"id":3,"a":{"b":2}}', b'{"id":4,"id":5}']
    with case_sensitive(spark):
        assert inferred(spark, values) == (
            "struct<Id:bigint,a:struct<B:bigint,b:bigint>,id:bigint>",
            [{"id": 1, "a": {"B": 1}}, {"Id": 2, "id": 3, "a": {"b": 2}}, {"id": 5}],
        )


def test_given_columns_that_differ_only_by_case_are_decoded_as_by_from_json(spark: "SparkSession") -> None:
    from pybroker.pipeline.values import decode_json

    column = decode_json("value", "Id bigint, id string, a struct<b: bigint, B: array<bigint>>, m map<string, int>")
    values = [b'{"id":"x","Id":1,"a":{"B":[2],"b":3},"m":{"k":1,"K":2}}', b'{"ID":1}', b'{"Id":"x"}']
    whole = {"Id": 1, "id": "x", "a": {"b": 3, "B": [2]}, "m": {"k": 1, "K": 2}}
    assert decoded(spark, values, column) == [whole, {}, BAD]


def test_last_of_fields_with_the_same_name_counts(spark: "SparkSession") -> None:
    values = [b'{"id":1,"id":2}', b'{"a":{"x":1,"x":null}}', b'{"b":1,"b":"y"}', b'{"b":2}']
    assert inferred(spark, values) == (
        "struct<a:struct<x:string>,b:string,id:bigint>",
        [{"id": 2}, {"a": {}}, {"b": "y"}, {"b": "2"}],
    )


@pytest.mark.parametrize("content", ["1", '"x"', "null", "[1]", '{"_broken":1}'])
@pytest.mark.parametrize("name", ["_broken", "_BROKEN", "_corrupt_record"])
def test_field_may_have_the_name_of_a_column_for_broken_values(spark: "SparkSession", name: str, content: str) -> None:
    value = {name: json.loads(content), "id": 1}
    kept = {key: each for key, each in value.items() if each is not None}
    assert inferred(spark, [json.dumps(value).encode(), b"{no JSON", b'{"id":2}'])[1] == [kept, BAD, {"id": 2}]


def test_names_of_fields_may_have_any_characters(spark: "SparkSession") -> None:
    names = ["a.b", "a", " ", "a b", "`", "a`b", "*", "x[0]", "a,b;{}()\n\t=", '"', "\\", "\0", "0", "ä", "value.id"]
    value = {name: {name: at} if name != "a" else {"b": at} for at, name in enumerate(names)}
    assert inferred(spark, [json.dumps(value).encode()])[1] == [value]


def test_fields_without_a_name_are_no_columns_as_in_spark(spark: "SparkSession") -> None:
    assert inferred(spark, [b'{"":1,"id":2}']) == ("struct<id:bigint>", [{"id": 2}])


def test_archive_infers_columns_from_fields_that_differ_only_by_case(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    values = [b'{"id":1,"_broken":1}', b'{"Id":2,"a":{"b c.d":1,"X":1}}', b'{"id":3,"Id":4}', b'{"a":{"x":5}}', b"no"]
    create_topic(servers, topic, 1)
    produce(servers, [Produced(topic, 0, -1, START_MS, None, value) for value in values])
    archive = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(archiving.root)]
    archive += ["--available-now", "--value-format", "json"]
    assert run_command(spark, *archive) == 0, capsys.readouterr().err
    produce(servers, [Produced(topic, 0, -1, START_MS, None, b'{"id":6}')])
    assert run_command(spark, *archive) == 0, capsys.readouterr().err
    rows = with_retry(read_archive(spark, str(archiving.root)).selectExpr("offset", "to_json(decoded)").collect)
    assert sorted((row[0], json.loads(row[1])) for row in rows) == [
        (0, {"Id": 1, "_broken": 1}),
        (1, {"Id": 2, "a": {"X": 1, "b c.d": 1}}),
        (3, {"a": {"X": 5}}),
        (5, {"Id": 6}),
    ]
    assert [record.value for record in archiving.rows("dead-letters")] == [values[2], values[4]]
    assert archiving.faults() == []


def test_archive_keeps_fields_that_differ_only_by_case_apart_in_a_case_sensitive_session(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    create_topic(servers, topic, 1)
    produce(servers, [Produced(topic, 0, -1, START_MS, None, b'{"id":1,"Id":2,"a":[{"B":3,"b":4}]}')])
    archive = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(archiving.root)]
    archive += ["--available-now", "--value-format", "json"]
    with case_sensitive(spark):
        assert run_command(spark, *archive) == 0, capsys.readouterr().err
        rows = with_retry(read_archive(spark, str(archiving.root)).selectExpr("to_json(decoded)").collect)
        assert archiving.faults() == []
    assert [json.loads(row[0]) for row in rows] == [{"Id": 2, "a": [{"B": 3, "b": 4}], "id": 1}]
    assert run_command(spark, *archive) == BAD_INPUT
    assert "the names of the columns a.B and a.b differ at most by case" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--json-schema", "--value-schema"])
def test_archive_refuses_given_columns_that_differ_only_by_case(
    archiving: Archiving, spark: "SparkSession", option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = ["archive", "--bootstrap-servers", "127.0.0.1:1", "--topics", "x", "--to", str(archiving.root)]
    values = ["--value-format", "json"] if option == "--value-schema" else []
    columns = "a map<string, array<struct<b: int, B: int>>>"
    assert run_command(spark, *archive, *values, option, columns) == BAD_INPUT
    assert "the names of the columns a.b and a.B differ at most by case" in capsys.readouterr().err
    assert not archiving.root.exists() or not list(archiving.root.rglob("*.json"))
