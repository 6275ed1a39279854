"""Small files of a table made into larger ones, beside whoever fills or reads it.

What is merged are committed files, which nobody changes; the job that fills a table only adds others. Each round
writes the rows of some groups of files again, in the order of partitions and offsets, compares what it wrote with what
the manifest says of the files before, and commits: new files in, old ones out, at once (table_commits.py). The old ones
stay for readers who planned with them, until `remove_replaced`.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from .archive_query import rows_by_file
from .archive_rows import commits_of
from .compaction_plan import Wanted, directory_of, small_file_groups
from .manifest import (
    Commit,
    DataFile,
    ManifestError,
    PartitionRows,
    compaction_name,
    current_files,
    rows_of_partitions,
)
from .table_commits import COMPACTING, TableCommits
from .table_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Group = tuple[DataFile, ...]
GroupFrame = tuple[Group, DataFrame]

_GROUP = "compacted_group"
_STAGED_COLUMNS = f"partition int, offset bigint, {_GROUP} int"
_OTHER_TYPES = "CANNOT_MERGE"


class Compaction:
    """A table whose small files are merged. One at a time. `left`: directories where columns have differing types."""

    def __init__(self, spark: SparkSession, files: HadoopFiles, wanted: Wanted) -> None:
        self._spark = spark
        self._files = files
        self._wanted = wanted
        self._table = TableCommits(files, COMPACTING)
        self.left: list[str] = []

    def run(self) -> Iterator[Commit]:
        """Finishes what an earlier one left, then commits round by round what is there to be merged.

        Raises ManifestError where there is no archive, when another compaction came in between, or rows would be lost.
        """
        self._table.recover()
        commits = commits_of(self._files)
        number = sum(not commit.is_batch for commit in commits)
        groups = small_file_groups(current_files(commits).values(), self._wanted)
        at_once = 2 * self._spark.sparkContext.defaultParallelism
        for start in range(0, len(groups), at_once):
            for frames in self._frames_by_columns(groups[start : start + at_once]):
                yield self._merge(compaction_name(number), frames)
                number += 1

    def remove_replaced(self, until_ms: int | None) -> list[str]:
        """Deletes files that were replaced up to then, or at any time; returns their paths."""
        return self._table.remove_replaced(until_ms)

    def _frames_by_columns(self, groups: Sequence[Group]) -> list[list[GroupFrame]]:
        """Those with the same columns together: a table may have got JSON columns at some time, or others."""
        found: dict[str, list[GroupFrame]] = defaultdict(list)
        for group in groups:
            frame = self._frame_of(group)
            if frame is not None:
                found[frame.schema.json()].append((group, frame))
        return list(found.values())

    def _merge(self, name: str, frames: Sequence[GroupFrame]) -> Commit:
        groups = [group for group, _ in frames]
        directory = f"{name}-{uuid.uuid4()}"
        numbered = [frame.withColumn(_GROUP, F.lit(number)) for number, (_, frame) in enumerate(frames)]
        whole = reduce(DataFrame.unionByName, numbered)
        whole.write.partitionBy(_GROUP).parquet(f"{self._files.root}/{COMPACTING}/{directory}")
        written = self._written_files(name, directory, groups)
        replaces = tuple(file.path for group in groups for file in group)
        self._check_that_all_are_current(name, replaces)
        commit = Commit(name, {}, tuple(written.values()), replaces)
        self._table.publish(commit, directory, {source: file.path for source, file in written.items()})
        return commit

    def _frame_of(self, group: Group) -> DataFrame | None:
        """The rows of a group, by one task and sorted; None when no columns can hold them all."""
        reader = self._spark.read.option("mergeSchema", "true")
        try:
            # Their directory as the base: topic and date, which stand in its name, are no columns of theirs.
            reader = reader.option("basePath", f"{self._files.root}/{directory_of(group[0])}")
            frame = reader.parquet(*(f"{self._files.root}/{file.path}" for file in group))
        except Py4JJavaError as error:  # PySpark has no class of its own for what a task of Spark's failed with
            if _OTHER_TYPES not in str(error.java_exception):
                raise
            self.left.append(directory_of(group[0]))
            return None
        return frame.coalesce(1).sortWithinPartitions("partition", "offset")

    def _written_files(self, name: str, directory: str, groups: Sequence[Group]) -> dict[str, DataFile]:
        """What was written, read back: by path in the directory, as it is to stand in the table.

        Raises ManifestError when they have other rows than the old ones.
        """
        staged = f"{COMPACTING}/{directory}"
        sizes = {
            path.removeprefix(f"{staged}/"): size
            for path, size, _ in self._files.list(staged)
            if path.endswith(".parquet")
        }
        rows: dict[str, list[PartitionRows]] = {path: [] for path in sizes}
        frame = self._spark.read.schema(_STAGED_COLUMNS).parquet(f"{self._files.root}/{staged}")
        for row in rows_by_file(frame, _GROUP).collect():
            path = f"{_GROUP}={row[_GROUP]}/{row['file']}"
            rows[path].append(PartitionRows(row["partition"], row["rows"], row["first"], row["last"]))
        found: dict[str, DataFile] = {}
        for number, group in enumerate(groups):
            target = f"{directory_of(group[0])}/{name}"
            files = {
                path: DataFile(
                    f"{target}-{path.rpartition('/')[2]}",
                    group[0].topic,
                    sizes[path],
                    tuple(sorted(rows[path], key=lambda each: each.partition)),
                )
                for path in sorted(sizes)
                if path.startswith(f"{_GROUP}={number}/")
            }
            if rows_of_partitions(files.values()) != rows_of_partitions(group):
                raise ManifestError(f"{directory_of(group[0])}: its files have other rows than the manifest says")
            found |= files
        return found

    def _check_that_all_are_current(self, name: str, replaces: Sequence[str]) -> None:
        commits = self._table.all()
        is_new = all(commit.name != name for commit in commits)
        if not is_new or not current_files(commits).keys() >= set(replaces):
            raise ManifestError(f"{self._files.root}: another compaction was here; there may be one at a time")
