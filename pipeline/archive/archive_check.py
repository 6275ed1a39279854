"""Checks that the manifest of a table and its data agree: nothing is missing and nothing is there twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...base.topic_partition import TopicPartition
from .archive_rows import DATA, DEAD_LETTERS, PARTITIONED_BY, commits_of, read_archive
from .file_rows import rows_by_file
from .manifest import (
    Commit,
    DataFile,
    PartitionRows,
    batch_name,
    compaction_name,
    current_files,
    replaced_files,
    rows_of_partitions,
)
from .table_commits import MANIFEST
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
    yield from range_faults(commits)
    yield from compaction_faults(commits)
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


def range_faults(commits: Sequence[Commit]) -> Iterator[str]:
    """Yields faults of the commits: a missing micro-batch, or one that does not begin where the previous one ended."""
    batches = [commit for commit in commits if commit.is_batch]
    for number, commit in enumerate(batches):
        if commit.name != batch_name(number):
            yield f"{MANIFEST}/{batch_name(number)}.json is missing"
            return
    for last, commit in itertools.pairwise(batches):
        for at, (start, _) in commit.ranges.items():
            if at in last.ranges and last.ranges[at][1] != start:
                yield f"{commit.name} has {at} from {start} on, {last.name} ended at {last.ranges[at][1]}"


def compaction_faults(commits: Sequence[Commit]) -> Iterator[str]:
    """Yields faults of compactions: a missing one, a replaced file that is unknown or was replaced before, or other
    rows than before.
    """
    compactions = [commit for commit in commits if not commit.is_batch]
    known = {file.path: file for commit in commits for file in commit.files}
    replaced: set[str] = set()
    for number, commit in enumerate(compactions):
        if commit.name != compaction_name(number):
            yield f"{MANIFEST}/{compaction_name(number)}.json is missing"
            return
        for path in commit.replaces:
            if path not in known or path in replaced:
                why = "was replaced before" if path in known else "is in no commit"
                yield f"{commit.name} replaces {path}, which {why}"
        replaced.update(commit.replaces)
        before = rows_of_partitions(known[path] for path in commit.replaces if path in known)
        if rows_of_partitions(commit.files) != before:
            yield f"{commit.name} has other rows than the files that it replaces"


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
        path = f"{table}/topic={row['topic']}/date={row['date']}/{row['file']}"
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
