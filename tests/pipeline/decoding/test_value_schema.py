"""Tests of the schema that all rows of a table share."""

import json
from pathlib import Path

import pytest
from pybroker.pipeline.archive.manifest import Commit, ManifestError, batch_name
from pybroker.pipeline.archive.table_commits import TableCommits
from pybroker.pipeline.archive.table_values import WantedValues, fixed_schema, stored_schema
from pybroker.pipeline.values.protobuf_compiler import compiled_source
from pybroker.pipeline.values.schema_text import SchemaError, SchemaText
from pybroker.pipeline.values.value_schema import ValueSchema, avro_schema, json_schema, protobuf_schema
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StringType, StructField, StructType
from support.spark.breaking_files import BreakingFiles

AVRO = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
PROTO = 'syntax = "proto3"; message R { int64 id = 1; repeated string tags = 2; }'
LONG, TEXT = LongType(), StringType()


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, column) for name, column in columns.items()])


def of(**columns: DataType) -> ValueSchema:
    return json_schema(struct(**columns), framed=False)


def wanted(schema: ValueSchema, *, given: bool = True) -> WantedValues:
    return WantedValues(schema.format, given, lambda: schema)


def test_schema_of_each_format_can_be_stored() -> None:
    schemas = [
        of(id=LONG),
        avro_schema(SchemaText(AVRO, (("Other", '"string"'),)), framed=True),
        protobuf_schema(compiled_source(SchemaText(PROTO)), None, framed=False),
    ]
    for schema in schemas:
        assert ValueSchema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    assert [schema.columns.simpleString() for schema in schemas] == [
        "struct<id:bigint>",
        "struct<id:bigint>",
        "struct<id:bigint,tags:array<string>>",
    ]
    assert schemas[1].columns["id"].nullable, "a later schema may leave it out"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (of(a=LONG), of(a=LONG)),
        (of(a=LONG), of(b=TEXT, a=LONG)),
        (of(a=struct(x=LONG)), of(a=struct(x=LONG, y=TEXT))),
        (of(a=ArrayType(struct(x=LONG))), of(a=ArrayType(struct(y=LONG, x=LONG)))),
        (of(a=MapType(TEXT, struct(x=LONG))), of(a=MapType(TEXT, struct(x=LONG, y=LONG)))),
    ],
)
def test_schema_with_the_same_or_more_columns_follows(old: ValueSchema, new: ValueSchema) -> None:
    new.check_that_it_follows(old)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (of(a=LONG, b=LONG), of(a=LONG), "the table has the column b, which the new schema lacks"),
        (of(a=LONG), of(a=TEXT), "the column a is bigint in the table, but string in the new schema"),
        (of(a=struct(x=LONG)), of(a=struct(y=LONG)), "the table has the column a.x, which"),
        (of(a=ArrayType(struct(x=LONG))), of(a=ArrayType(struct(x=TEXT))), "the column a.x is bigint"),
        (of(a=MapType(TEXT, LONG)), of(a=MapType(LONG, LONG)), "the column a is string"),
        (of(a=LONG), of(a=ArrayType(LONG)), "the column a is bigint in the table, but array<bigint> in"),
        (of(id=LONG), avro_schema(SchemaText(AVRO), framed=False), "the values of the table are json, not avro"),
    ],
)
def test_schema_that_lacks_or_changes_a_column_is_refused(old: ValueSchema, new: ValueSchema, says: str) -> None:
    with pytest.raises(SchemaError, match=f"^{says}"):
        new.check_that_it_follows(old)


def test_first_commit_of_a_table_fixes_its_schema(tmp_path: Path) -> None:
    files = BreakingFiles(tmp_path)
    first, other, more = of(a=LONG), of(a=TEXT), of(a=LONG, b=LONG)
    assert fixed_schema(files, None) is None
    assert fixed_schema(files, wanted(other)) == other
    assert fixed_schema(files, wanted(first)) == first, "there are no rows yet"
    TableCommits(files).publish(Commit(batch_name(0), {}, ()), "none", {})
    assert fixed_schema(files, wanted(other, given=False)) == first
    with pytest.raises(SchemaError, match="the column a is bigint in the table"):
        fixed_schema(files, wanted(other))
    with pytest.raises(SchemaError, match="give --value-format json"):
        fixed_schema(files, None)
    assert stored_schema(files) == first
    assert fixed_schema(files, wanted(more)) == more
    assert stored_schema(files) == more
    assert fixed_schema(files, wanted(more)) == more
    assert sorted(path.name for path in (tmp_path / "values").iterdir()) == [f"schema-0000{n}.json" for n in range(3)]


def test_table_with_rows_that_are_not_decoded_stays_so(tmp_path: Path) -> None:
    files = BreakingFiles(tmp_path)
    TableCommits(files).publish(Commit(batch_name(0), {}, ()), "none", {})
    with pytest.raises(SchemaError, match="the values of this table's rows are not decoded"):
        fixed_schema(files, wanted(of(a=LONG)))
    assert fixed_schema(files, None) is None


def test_damaged_stored_schema_is_named(tmp_path: Path) -> None:
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "schema-00000.json").write_text("{}")
    with pytest.raises(ManifestError, match=r"^values/schema-00000\.json can't be read"):
        stored_schema(BreakingFiles(tmp_path))
