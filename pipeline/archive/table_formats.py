"""The formats of an archive beside Parquet files with a manifest, and the logs of an archive in these formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...client.given_options import OptionError
from .archive_rows import DATA, DEAD_LETTERS
from .table_log import TableLog, TableLogs

if TYPE_CHECKING:
    from .table_files import HadoopFiles

PARQUET = "parquet"
_TABLES = (DEAD_LETTERS, DATA)
_SIGNS = {"delta": f"{DATA}/_delta_log", "iceberg": "iceberg/catalog.sqlite"}
"""A path that exists in each archive with such a log, by format."""


def logs_of(files: HadoopFiles, wanted: str = PARQUET) -> list[TableLogs]:
    """Returns the logs that an archive has, and those of the wanted format.

    Raises OptionError if the archive's place can't have that format, and ModuleNotFoundError if a library is missing.
    """
    place = files.local_path
    if place is None:
        if wanted != PARQUET:
            raise OptionError(f"the table format {wanted} needs a local directory, not {files.root}")
        return []
    names = [name for name, sign in _SIGNS.items() if name == wanted or files.exists(sign)]
    return [TableLogs(name, {table: log_class(name)(Path(place), table) for table in _TABLES}) for name in names]


def check_columns(logs: Iterable[TableLogs], files: HadoopFiles, directory: str, moves: Mapping[str, str]) -> None:
    """Raises ManifestError if the tables could not take the files of a commit, which are in a directory of the archive,
    for their columns. `moves`: path in the directory → path in the table.
    """
    for each in logs:
        each.check_columns(Path(files.local_path or "") / directory, moves)


def log_class(name: str) -> Callable[[Path, str], TableLog]:
    """Returns the class of a format's logs. Raises ModuleNotFoundError if the library of the format is missing."""
    if name == "delta":
        from .delta_log import DeltaLog

        return DeltaLog
    from .iceberg_log import IcebergLog

    return IcebergLog
