"""Converts rows of topics to rows of a table, and reads committed rows back, as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import StructField, StructType

from ..values.json_columns import decode_json
from ..values.value_schema import JSON
from .commit_reader import CommitReader
from .manifest import Commit, ManifestError, current_files
from .table_files import HadoopFiles
from .table_values import stored_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DATA = "data"
DEAD_LETTERS = "dead-letters"
TABLE = "table"
PARTITIONED_BY = ("topic", "date")

_DAY = "date_add(date'1970-01-01', cast(floor(unix_micros(timestamp) / 86400000000) as int))"
_ERROR = "error"
DECODED = "decoded"
"""The value as typed columns."""


def archive_rows(
    frame: DataFrame, json_schema: StructType | None = None, decode: Callable[[str], Column] | None = None
) -> DataFrame:
    """Returns rows of the format "pybroker" with two more columns: `date`, the day of the timestamp in UTC whatever the
    session's time zone, and `table`, which is DATA or DEAD_LETTERS.

    With `decode`, a function on columns of `pipeline/values/`, there are also `decoded`, the value as typed columns,
    and `error`; a row with an error is a dead letter. A tombstone has no value, so its `decoded` is null. `json_schema`
    is an older form of decoding JSON: the column is `json`, and there is no `error`.
    """
    rows = frame.withColumn("date", F.expr(_DAY))
    if json_schema is not None:
        return _decoded(rows, JSON, decode_json("value", json_schema)).drop(_ERROR)
    if decode is not None:
        return _decoded(rows, DECODED, decode("value"))
    return rows.withColumn(TABLE, F.lit(DATA))


def _decoded(rows: DataFrame, name: str, result: Column) -> DataFrame:
    rows = rows.withColumn(name, result)
    rows = rows.withColumn(_ERROR, F.col(f"{name}.error")).withColumn(name, F.col(f"{name}.value"))
    return rows.withColumn(TABLE, F.when(F.col(_ERROR).isNotNull(), DEAD_LETTERS).otherwise(DATA))


def commits_of(files: HadoopFiles) -> list[Commit]:
    """Returns all commits of an archive. Raises ManifestError for an unreadable manifest, and if there is no archive.

    An archive without commits may have data: the first commit of a job was interrupted, or the manifest was lost.
    """
    commits = CommitReader(files).all()
    if not commits and not any(files.exists(table) for table in (DATA, DEAD_LETTERS)):
        raise ManifestError(f"there is no archive at {files.given}")
    return commits


def read_archive(spark: SparkSession, root: str, table: str = DATA) -> DataFrame:
    """Returns the committed rows of a table: the rows of the files in the manifest. Raises ManifestError."""
    files = HadoopFiles(spark, root)
    paths = [path for path in current_files(commits_of(files)) if path.startswith(f"{table}/")]
    reader = spark.read.option("basePath", f"{files.root}/{table}")
    if not paths:
        return spark.createDataFrame([], StructType.fromDDL(f"{_COLUMNS}, topic string, date date"))
    # Columns come from one file; the types of topic and date are given, because directory names do not tell them.
    columns = spark.read.parquet(f"{files.root}/{paths[0]}").schema.fields
    if (stored := stored_schema(files)) is not None:  # later files may have more columns in it than that file
        columns = [StructField(DECODED, stored.columns) if field.name == DECODED else field for field in columns]
    schema = StructType([*columns, *StructType.fromDDL("topic string, date date").fields])
    return reader.schema(schema).parquet(*(f"{files.root}/{path}" for path in paths))


def rows_of_topics(rows: DataFrame, root: str, topics: Sequence[str]) -> DataFrame:
    """Returns the rows of these topics. `rows`: of the archive `root`. Raises ManifestError for a topic of which
    nothing is archived.
    """
    files = HadoopFiles(rows.sparkSession, root)
    there = {at.topic for commit in commits_of(files) for at in commit.ranges}
    if missing := sorted(set(topics) - there):
        raise ManifestError(
            f"the archive at {root} has no topic {', '.join(missing)}; it has {', '.join(sorted(there))}"
        )
    return rows.where(F.col("topic").isin(*topics))


_COLUMNS = (
    "key binary, value binary, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)
