"""Which rows the files of a commit hold, by their footers: nobody has to read the rows again.

A task of Spark's reads one partition of a topic, so a file that it writes has rows of one partition. Then the least and
the greatest value of two columns, which the footer tells, and how many rows there are, is all that a manifest says.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from .manifest import PartitionRows
from .table_files import HadoopFiles, RowGroup

_FOOTERS_AT_ONCE = 8
"""Where files are far away a footer takes a while, but nothing of this machine."""
_PARTITION, _OFFSET = _COLUMNS = ("partition", "offset")


def rows_by_footers(files: HadoopFiles, paths: Collection[str]) -> dict[str, PartitionRows] | None:
    """By path; None where a file has rows of several partitions, or a footer does not tell what it takes."""
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as threads:
        told = threads.map(lambda path: partition_rows(files.row_groups(path, _COLUMNS)), paths)
        found = dict(zip(paths, told, strict=True))
    known = {path: rows for path, rows in found.items() if rows is not None}
    return known if len(known) == len(found) else None


def partition_rows(groups: Sequence[RowGroup]) -> PartitionRows | None:
    """The rows of a file; None when they are not of one partition, there are none, or it is not told."""
    if not groups or not all(group.ranges.keys() >= set(_COLUMNS) for group in groups):
        return None
    partitions = {number for group in groups for number in group.ranges[_PARTITION]}
    if len(partitions) > 1:
        return None
    first = min(group.ranges[_OFFSET][0] for group in groups)
    last = max(group.ranges[_OFFSET][1] for group in groups)
    return PartitionRows(partitions.pop(), sum(group.rows for group in groups), first, last)
