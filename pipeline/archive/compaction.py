"""Merges small files of a table into larger ones, while other jobs fill or read the table.

Only committed files are merged; nobody changes these, and an archive job only adds files. Each round rewrites some
groups of files, ordered by partition and offset, and compares the written rows with the manifest. One commit then adds
the new files and removes the old ones (table_commits.py). The old files stay on disk until `remove_replaced`, for
readers that planned with them.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from .archive_rows import commits_of
from .compaction_plan import Wanted, directory_of, small_file_groups
from .file_rows import rows_by_file
from .manifest import (
    COMPACTION,
    Commit,
    DataFile,
    ManifestError,
    PartitionRows,
    compaction_name,
    current_files,
    rows_of_partitions,
)
from .summary import newest
from .table_commits import COMPACTING, TableCommits
from .table_files import HadoopFiles
from .table_formats import check_columns, logs_of
from .table_log import TableLogs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Group = tuple[DataFile, ...]
GroupFrame = tuple[Group, DataFrame]

_GROUP = "compacted_group"
_STAGED_COLUMNS = f"partition int, offset bigint, {_GROUP} int"
_OTHER_TYPES = "CANNOT_MERGE"


class Compaction:
    """Merges small files of one table. Only one compaction may run at a time. `left`: directories that were skipped
    because their files have columns of different types.
    """

    def __init__(self, spark: SparkSession, files: HadoopFiles, wanted: Wanted) -> None:
        self._spark = spark
        self._files = files
        self._wanted = wanted
        self._table = TableCommits(files, COMPACTING)
        self.left: list[str] = []

    def run(self) -> Iterator[Commit]:
        """Finishes the commits of an interrupted compaction, then merges and commits round by round. Yields each
        commit.

        Raises ManifestError if there is no archive, another compaction interfered, or rows would be lost.
        """
        self._table.recover()
        self._update_logs()
        commits = commits_of(self._files)
        number = newest(commits, COMPACTION) + 1
        groups = small_file_groups(current_files(commits).values(), self._wanted)
        at_once = 2 * self._spark.sparkContext.defaultParallelism
        for start in range(0, len(groups), at_once):
            for frames in self._frames_by_columns(groups[start : start + at_once]):
                merged = self._merge(number, frames)
                self._update_logs()
                yield merged
                number += 1

    def remove_replaced(self, until_ms: int | None) -> list[str]:
        """Deletes files that were replaced before `until_ms` (None: at any time); returns their paths."""
        self._update_logs(until_ms if until_ms is not None else int(time.time() * 1000))
        return self._table.remove_replaced(until_ms)

    def _update_logs(self, forget_until_ms: int | None = None) -> list[TableLogs]:
        """Adds missing commits to the logs of all formats: an archive job may have started a log meanwhile. Returns the
        logs.
        """
        found = logs_of(self._files)
        for logs in found:
            logs.catch_up(self._table.find, self._table.summary())
            if forget_until_ms is not None:
                logs.forget(forget_until_ms)
        return found

    def _frames_by_columns(self, groups: Sequence[Group]) -> list[list[GroupFrame]]:
        """Returns the frames of the groups by their columns: the columns may change when a job gets another JSON
        schema.
        """
        found: dict[str, list[GroupFrame]] = defaultdict(list)
        for group in groups:
            frame = self._frame_of(group)
            if frame is not None:
                found[frame.schema.json()].append((group, frame))
        return list(found.values())

    def _merge(self, number: int, frames: Sequence[GroupFrame]) -> Commit:
        name = compaction_name(number)
        groups = [group for group, _ in frames]
        directory = f"{name}-{uuid.uuid4()}"
        numbered = [frame.withColumn(_GROUP, F.lit(at)) for at, (_, frame) in enumerate(frames)]
        whole = reduce(DataFrame.unionByName, numbered)
        whole.write.partitionBy(_GROUP).parquet(f"{self._files.root}/{COMPACTING}/{directory}")
        written = self._written_files(name, directory, groups)
        replaces = tuple(file.path for group in groups for file in group)
        self._check_that_all_are_current(number, replaces)
        moves = {source: file.path for source, file in written.items()}
        check_columns(logs_of(self._files), self._files, f"{COMPACTING}/{directory}", moves)
        commit = Commit(name, {}, tuple(written.values()), replaces)
        self._table.publish(commit, directory, moves)
        return commit

    def _frame_of(self, group: Group) -> DataFrame | None:
        """Returns the rows of a group, sorted in one task; None if no set of columns can hold them all."""
        reader = self._spark.read.option("mergeSchema", "true")
        try:
            # The base path is their directory, so that topic and date from its name do not become columns.
            reader = reader.option("basePath", f"{self._files.root}/{directory_of(group[0])}")
            frame = reader.parquet(*(f"{self._files.root}/{file.path}" for file in group))
        except Py4JJavaError as error:  # PySpark has no class for the failure of a task
            if _OTHER_TYPES not in str(error.java_exception):
                raise
            self.left.append(directory_of(group[0]))
            return None
        return frame.coalesce(1).sortWithinPartitions("partition", "offset")

    def _written_files(self, name: str, directory: str, groups: Sequence[Group]) -> dict[str, DataFile]:
        """Reads the written files back; returns them as they will be named in the table, by their path in `directory`.

        Raises ManifestError if their rows differ from those of the old files.
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
                raise ManifestError(f"{directory_of(group[0])}: its files have other rows than the manifest")
            found |= files
        return found

    def _check_that_all_are_current(self, number: int, replaces: Sequence[str]) -> None:
        commits = self._table.all()
        if newest(commits, COMPACTION) >= number or not current_files(commits).keys() >= set(replaces):
            raise ManifestError(f"{self._files.root}: another compaction has committed meanwhile; run one at a time")
        for logs in self._update_logs():
            logs.check_has(replaces)
