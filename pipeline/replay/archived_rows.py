"""Selects the rows of an archive to replay."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ..archive.archive_rows import DATA, DEAD_LETTERS, read_archive, rows_of_topics
from ..columns.row_ddl import HEADERS_DDL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEADERS_TYPE = HEADERS_DDL.partition("headers ")[2]
_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


class SelectionError(ValueError):
    """The selection is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of rows; None means no restriction. Ends are exclusive, times are microseconds.

    Attributes:
        archive: root of the table.
        where: an SQL condition on the columns of the rows.
    """

    archive: str
    topics: tuple[str, ...] | None = None
    from_offset: int | None = None
    until_offset: int | None = None
    from_us: int | None = None
    until_us: int | None = None
    where: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the set fields, by name."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value is not None
        }


def archived_rows(spark: SparkSession, selection: Selection) -> DataFrame:
    """Returns the selected rows with `ms`, their timestamp. Dead letters are included, as rows of their topic.

    Raises ManifestError, SelectionError, and Spark's errors for an invalid condition.
    """
    rows = _with_headers(read_archive(spark, selection.archive, DATA)).select(*_COLUMNS)
    dead = _with_headers(read_archive(spark, selection.archive, DEAD_LETTERS)).select(*_COLUMNS)
    rows = rows.unionByName(dead)
    if selection.topics is not None:
        rows = rows_of_topics(rows, selection.archive, selection.topics)
    for condition in _conditions(selection):
        rows = rows.where(condition)
    if selection.where is not None and not rows._jdf.queryExecution().analyzed().deterministic():
        raise SelectionError(f"'{selection.where}' is not deterministic: it would select other rows at each evaluation")
    return rows.withColumn("ms", F.expr("unix_millis(timestamp)"))


def _conditions(selection: Selection) -> list[Any]:
    offset, us = F.col("offset"), F.expr("unix_micros(timestamp)")
    found = []
    if selection.from_offset is not None:
        found.append(offset >= selection.from_offset)
    if selection.until_offset is not None:
        found.append(offset < selection.until_offset)
    if selection.from_us is not None:
        found.append(us >= selection.from_us)
    if selection.until_us is not None:
        found.append(us < selection.until_us)
    if selection.where is not None:
        found.append(F.expr(selection.where))
    return found


def _with_headers(rows: DataFrame) -> DataFrame:
    """Returns the rows with a column of headers, which a table archived without headers lacks."""
    return rows if "headers" in rows.columns else rows.withColumn("headers", F.lit(None).cast(_HEADERS_TYPE))
