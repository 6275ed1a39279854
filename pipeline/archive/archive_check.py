"""Whether a table's manifest and its data agree, and whether anything is missing in between or there twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...storage.topic_partition import TopicPartition
from .archive_query import rows_by_file
from .archive_rows import DATA, DEAD_LETTERS, read_archive
from .manifest import Commit, DataFile, PartitionRows, batch_name, current_files
from .table_commits import MANIFEST, TableCommits
from .table_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_REPEATED = 10


def archive_faults(spark: SparkSession, root: str) -> Iterator[str]:
    """What is wrong with a table, in words; nothing when all is well. Reads the columns of offsets of all rows.

    Raises ManifestError for a manifest that can't be read.
    """
    files = HadoopFiles(spark, root)
    commits = TableCommits(files).all()
    yield from range_faults(commits)
    for table in (DATA, DEAD_LETTERS):
        named = {path: file for path, file in current_files(commits).items() if path.startswith(f"{table}/")}
        there = {path: size for path, size in files.list(table) if path.endswith(".parquet")}
        yield from file_faults(named, there)
        if named and named.keys() <= there.keys():
            rows = read_archive(spark, root, table)
            yield from row_faults(table, named, rows)
            yield from repeated_offsets(rows)


def range_faults(commits: Sequence[Commit]) -> Iterator[str]:
    """Micro-batches are there from the first one on, and each begins where the last one ended."""
    batches = [commit for commit in commits if commit.is_batch]
    for number, commit in enumerate(batches):
        if commit.name != batch_name(number):
            yield f"{MANIFEST}/{batch_name(number)}.json is missing"
            return
    for last, commit in itertools.pairwise(batches):
        for at, (start, _) in commit.ranges.items():
            if at in last.ranges and last.ranges[at][1] != start:
                yield f"{commit.name} has {at} from {start} on, {last.name} ended at {last.ranges[at][1]}"


def file_faults(named: dict[str, DataFile], there: dict[str, int]) -> Iterator[str]:
    """The files of the manifest are there, with their sizes, and no others."""
    for path, file in sorted(named.items()):
        if path not in there:
            yield f"{path} is missing"
        elif there[path] != file.size_bytes:
            yield f"{path} has {there[path]} bytes, the manifest says {file.size_bytes}"
    for path in sorted(there.keys() - named.keys()):
        yield f"{path} is in no manifest"


def row_faults(table: str, named: dict[str, DataFile], rows: DataFrame) -> Iterator[str]:
    """Each file has the rows that the manifest says."""
    found: dict[str, set[PartitionRows]] = {path: set() for path in named}
    for row in rows_by_file(rows).collect():
        path = f"{table}/topic={row['topic']}/date={row['date']}/{row['file']}"
        found[path].add(PartitionRows(row["partition"], row["rows"], row["first"], row["last"]))
    for path, file in sorted(named.items()):
        if found[path] != set(file.partitions):
            there, said = _listed(found[path]), _listed(file.partitions)
            yield f"{path} has other rows than the manifest says: {there}, not {said}"


def repeated_offsets(rows: DataFrame) -> Iterator[str]:
    """Some of the offsets that are there more than once."""
    counted = rows.groupBy("topic", "partition", "offset").agg(F.count("*").alias("rows")).where("rows > 1")
    for row in counted.orderBy("topic", "partition", "offset").limit(_MOST_REPEATED).collect():
        at = TopicPartition(row["topic"], row["partition"])
        yield f"offset {row['offset']} of {at} is there {row['rows']} times"


def _listed(partitions: set[PartitionRows] | tuple[PartitionRows, ...]) -> str:
    ordered = sorted(partitions, key=lambda each: each.partition)
    return ", ".join(f"{each.rows} of partition {each.partition}, {each.first} to {each.last}" for each in ordered)
