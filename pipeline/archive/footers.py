"""Reads the rows of written Parquet files from their footers, without reading the rows again.

**How**: a task reads one partition of a topic, so a file that it writes has rows of one partition. The manifest needs
only the number of rows and the minimum and maximum of two columns, all of which the footer holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from .manifest import PartitionRows
from .table_files import HadoopFiles, RowGroup

_FOOTERS_AT_ONCE = 8
"""Threads that read footers. Reading a remote footer takes time, but little CPU."""
_PARTITION, _OFFSET = _COLUMNS = ("partition", "offset")


def rows_by_footers(files: HadoopFiles, paths: Collection[str]) -> dict[str, PartitionRows] | None:
    """Returns the rows of each file by path; None if a file has rows of several partitions or a footer lacks
    statistics.
    """
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as threads:
        rows_of_files = threads.map(lambda path: partition_rows(files.row_groups(path, _COLUMNS)), paths)
        found = dict(zip(paths, rows_of_files, strict=True))
    known = {path: rows for path, rows in found.items() if rows is not None}
    return known if len(known) == len(found) else None


def partition_rows(groups: Sequence[RowGroup]) -> PartitionRows | None:
    """Returns the rows of a file; None if it has rows of several partitions, no rows, or no statistics."""
    if not groups or not all(group.ranges.keys() >= set(_COLUMNS) for group in groups):
        return None
    partitions = {number for group in groups for number in group.ranges[_PARTITION]}
    if len(partitions) > 1:
        return None
    first = min(group.ranges[_OFFSET][0] for group in groups)
    last = max(group.ranges[_OFFSET][1] for group in groups)
    return PartitionRows(partitions.pop(), sum(group.rows for group in groups), first, last)
