"""Tests of the names of columns."""

import pytest
from pybroker.pipeline.values.column_names import check_names, unused_name
from pybroker.pipeline.values.schema_text import SchemaError
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StringType, StructField, StructType

LONG, TEXT = LongType(), StringType()


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, column) for name, column in columns.items()])


@pytest.mark.parametrize(
    "columns",
    [
        struct(id=LONG, x=LONG, ID=TEXT),
        struct(x=struct(id=LONG, ID=LONG)),
        struct(x=ArrayType(ArrayType(struct(id=LONG, ID=LONG)))),
        struct(x=MapType(TEXT, struct(id=LONG, ID=LONG))),
    ],
)
def test_names_that_differ_only_by_case_are_refused(columns: StructType) -> None:
    with pytest.raises(SchemaError, match=r"^the names of the fields id and ID differ only by case: "):
        check_names(columns)


def test_same_name_in_different_places_is_allowed() -> None:
    check_names(struct(id=LONG, x=struct(ID=LONG), y=struct(Id=LONG)))


def test_unused_name_does_not_occur_in_the_text() -> None:
    assert unused_name("_broken", "id _Broken") == "__broken"
    assert unused_name("_broken", "id") == "_broken"
