"""Checks that the manifest of a table and its data agree: nothing is missing and nothing is there twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...base.topic_partition import TopicPartition
from .archive_rows import DATA, DEAD_LETTERS, PARTITIONED_BY, commits_of, read_archive
from .batch_ranges import NO_VALUE
from .file_rows import rows_by_file
from .manifest import DataFile, PartitionRows, current_files, replaced_files
from .manifest_faults import manifest_faults
from .table_files import HadoopFiles
from .table_formats import logs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_REPEATED = 10


def archive_faults(spark: SparkSession, root: str) -> Iterator[str]:
    """Yields a line for each fault of a table. Reads the offset columns of all rows.

    Raises ManifestError if the manifest can't be read or there is no table.
    """
    files = HadoopFiles(spark, root)
    commits = commits_of(files)
    yield from manifest_faults(commits)
    replaced = replaced_files(commits)
    for table in (DATA, DEAD_LETTERS):
        named = {path: file for path, file in current_files(commits).items() if path.startswith(f"{table}/")}
        there = {path: size for path, size, _ in files.list(table) if _is_data_file(path)}
        yield from file_faults(named, {path: size for path, size in there.items() if path not in replaced})
        for logs in logs_of(files):
            yield from logs.faults(table, named)
        if named and named.keys() <= there.keys():
            rows = read_archive(spark, root, table)
            yield from row_faults(table, named, rows)
            yield from repeated_offsets(rows)


def file_faults(named: dict[str, DataFile], there: dict[str, int]) -> Iterator[str]:
    """Yields files that are missing, have a wrong size, or are not in the manifest."""
    for path, file in sorted(named.items()):
        if path not in there:
            yield f"{path} is missing"
        elif there[path] != file.size_bytes:
            yield f"{path} has {there[path]} bytes, the manifest says {file.size_bytes}"
    for path in sorted(there.keys() - named.keys()):
        yield f"{path} is not in the manifest"


def row_faults(table: str, named: dict[str, DataFile], rows: DataFrame) -> Iterator[str]:
    """Yields files whose rows differ from those in the manifest."""
    found: dict[str, set[PartitionRows]] = {path: set() for path in named}
    # As text: Python's dates end with the year 9999.
    for row in rows_by_file(rows.withColumn("date", F.col("date").cast("string")), *PARTITIONED_BY).collect():
        path = f"{table}/topic={row['topic'] or NO_VALUE}/date={row['date']}/{row['file']}"
        found[path].add(PartitionRows(row["partition"], row["rows"], row["first"], row["last"]))
    for path, file in sorted(named.items()):
        if found[path] != set(file.partitions):
            there, said = _listed(found[path]), _listed(file.partitions)
            yield f"{path} has other rows than the manifest says: {there}, not {said}"


def repeated_offsets(rows: DataFrame) -> Iterator[str]:
    """Yields up to ten offsets that occur more than once."""
    counted = rows.groupBy("topic", "partition", "offset").agg(F.count("*").alias("rows")).where("rows > 1")
    for row in counted.orderBy("topic", "partition", "offset").limit(_MOST_REPEATED).collect():
        at = TopicPartition(row["topic"], row["partition"])
        yield f"offset {row['offset']} of {at} occurs {row['rows']} times"


def _listed(partitions: set[PartitionRows] | tuple[PartitionRows, ...]) -> str:
    ordered = sorted(partitions, key=lambda each: each.partition)
    return ", ".join(f"{each.rows} of partition {each.partition}, {each.first} to {each.last}" for each in ordered)


def _is_data_file(path: str) -> bool:
    """Returns whether a file holds rows: Parquet files in a directory `_…` are checkpoints of a table format's log."""
    return path.endswith(".parquet") and "/_" not in path
