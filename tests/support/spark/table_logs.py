"""Writes data files and commits as an archive job does, and reads an archive through the libraries of table formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.archive.manifest import (
    Commit,
    DataFile,
    PartitionRows,
    batch_name,
    compaction_name,
)

if TYPE_CHECKING:
    from pybroker.pipeline.archive.table_log import TableLog

__all__ = [
    "FORMATS",
    "batch",
    "compaction",
    "data_file",
    "delete_first_offset",
    "iceberg_table",
    "log_of",
    "need_format",
    "rows_read_by",
]

FORMATS = ("delta", "iceberg")
_LIBRARIES = {"delta": ("deltalake",), "iceberg": ("pyiceberg", "sqlalchemy")}


def need_format(name: str) -> None:
    """Skips the test without the extra of the format, which `scripts/test` installs."""
    for library in ("pyarrow", *_LIBRARIES[name]):
        pytest.importorskip(library, reason=f"the extra '{name}' is not installed: there is no {library}")


def log_of(name: str, root: Path, table: str = "data") -> TableLog:
    need_format(name)
    if name == "delta":
        from pybroker.pipeline.archive.delta_log import DeltaLog

        return DeltaLog(root, table)
    from pybroker.pipeline.archive.iceberg_log import IcebergLog

    return IcebergLog(root, table)


def data_file(root: Path, name: str, first: int, rows: int = 2, date: str = "1970-01-01", **columns: Any) -> DataFile:
    """Writes a file of topic t, partition 0, with offsets from `first` on; `columns` are further columns."""
    import pyarrow as pa
    from pyarrow import parquet

    path = f"data/topic=t/date={date}/{name}.parquet"
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    named = {
        "value": pa.array([b"v%d" % offset for offset in range(first, first + rows)], pa.binary()),
        "partition": pa.array([0] * rows, pa.int32()),
        "offset": pa.array(range(first, first + rows), pa.int64()),
        "timestamp": pa.array([5] * rows, pa.timestamp("us", tz="UTC")),
        **{column: pa.array([value] * rows) for column, value in columns.items()},
    }
    parquet.write_table(pa.table(named), root / path, store_schema=False)
    counted = PartitionRows(0, rows, first, first + rows - 1)
    return DataFile(path, "t", (root / path).stat().st_size, (counted,))


def batch(number: int, *files: DataFile) -> Commit:
    return Commit(batch_name(number), {TopicPartition("t", 0): (number, number + 1)}, files)


def compaction(number: int, files: Sequence[DataFile], replaces: Sequence[DataFile]) -> Commit:
    return Commit(compaction_name(number), {}, tuple(files), tuple(file.path for file in replaces))


def rows_read_by(name: str, root: Path, table: str = "data") -> list[dict[str, Any]]:
    """Returns the rows of a table as the format's own library reads them, by topic, partition and offset."""
    if name == "delta":
        from deltalake import DeltaTable

        found = DeltaTable(str(root / table)).to_pyarrow_table()
    else:
        from pyiceberg.table import StaticTable

        newest = max((root / "iceberg" / table / "metadata").glob("*.metadata.json"))
        found = StaticTable.from_metadata(str(newest)).scan().to_arrow()
    return sorted(found.to_pylist(), key=lambda row: (row["topic"], row["partition"], row["offset"]))


def delete_first_offset(name: str, root: Path) -> None:
    """Deletes the rows with offset 0 as another writer does, which replaces their files."""
    if name == "delta":
        from deltalake import DeltaTable

        DeltaTable(str(root / "data")).delete('"offset" = 0')
    else:
        iceberg_table(root).delete("offset = 0")


def iceberg_table(root: Path) -> Any:
    """Returns the table as PyIceberg opens it."""
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("archive", uri=f"sqlite:///{root}/iceberg/catalog.sqlite").load_table(("archive", "data"))
