"""Counts the rows of Parquet files by reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["rows_by_file"]


def rows_by_file(frame: DataFrame, *by: str) -> DataFrame:
    """Returns `rows`, `first` and `last` offset for each partition in each file, grouped also by the columns `by`.

    The result has one row for each file and partition, so it is small.
    """
    file = F.col("_metadata.file_name").alias("file")
    counted = [F.count("*").alias("rows"), F.min("offset").alias("first"), F.max("offset").alias("last")]
    return frame.groupBy(*by, file, "partition").agg(*counted)
