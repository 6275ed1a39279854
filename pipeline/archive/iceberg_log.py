"""The log of a table in the format Iceberg, written by PyIceberg.

**Why SQLite**: an Iceberg table needs a catalog that replaces the name of its newest metadata atomically. A file beside
the table needs no server, and PyIceberg maintains that catalog. Engines without it read the newest metadata file.

**How**: each snapshot names the newest commits of the manifest that it holds. PyIceberg's own retries are off, because
they would add a commit again that another job has added meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
    ValidationException,
)
from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.typedef import Record
from sqlalchemy.exc import SQLAlchemyError

from .iceberg_snapshots import NAMES, expire_many, expire_older, lineage
from .log_entry import Changes, LogEntry, LogError, RaceError
from .log_files import distinct_columns, table_columns, topic_and_date
from .manifest import KINDS, DataFile
from .summary import NONE_YET

ICEBERG = "iceberg"
CATALOG = f"{ICEBERG}/catalog.sqlite"
NAMESPACE = "archive"
_FIRST_DAY = date(1970, 1, 1)
_REFUSALS = (SQLAlchemyError, UnsupportedPyArrowTypeException, ValidationError, ValidationException, ValueError)
_NAME_MAPPING = "schema.name-mapping.default"
_PROPERTIES = {
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "30",
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
}


class IcebergLog:
    """The table `archive.<table>` in the catalog, with its metadata in `<root>/iceberg/<table>/metadata`."""

    def __init__(self, root: Path, table: str) -> None:
        self._root = root
        self._table = table
        self._name = (NAMESPACE, table)
        self._known_columns: list[Any] = []
        """Schemas of files whose columns the table has."""

    def last(self, kind: str) -> int:
        with self._opened() as (_, table):
            return NONE_YET if table is None else _reached(table)[kind]

    def add(self, entry: LogEntry) -> None:
        with self._opened() as (catalog, table):
            changes = entry.changes(lambda _: NONE_YET) if table is None else _changes(table, entry)
            if table is None and changes is not None and changes.added:
                table = self._created(catalog, changes.added[0])
                changes = _changes(table, entry)
            if table is None or changes is None:
                return
            if self._add_new_columns(table, changes.typical):
                changes = _changes(table, entry)  # the table's state is a newer one now
            if changes is None:
                return
            known = {self._inner(file): file for file in self._known(table)} if changes.removed else {}
            changes.check_removed(known)
            properties = {NAMES[kind]: str(number) for kind, number in {**_reached(table), **changes.reached}.items()}
            with table.transaction() as change:
                snapshot = change.update_snapshot({"pybroker": changes.name, **properties})
                with snapshot.overwrite() if changes.removed else snapshot.merge_append() as files:
                    for file in changes.added:
                        files.append_data_file(self._added(table, file))
                    for path in changes.removed:
                        files.delete_data_file(known[path])
            expire_many(table)

    def files(self) -> dict[str, int]:
        with self._opened() as (_, table):
            known = [] if table is None else self._known(table)
            return {self._inner(file): file.file_size_in_bytes for file in known}

    def check_columns(self, file: Path) -> None:
        """Tries it with changes that are not committed."""
        if (columns := table_columns(file)) in self._known_columns:
            return
        with self._opened() as (catalog, table):
            if table is None:
                catalog.create_table_transaction(self._name, columns, str(self._root / ICEBERG / self._table))
            else:
                table.update_schema().union_by_name(columns)

    def forget(self, until_ms: int) -> None:
        with self._opened() as (_, table):
            if table is not None:
                expire_older(table, until_ms)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any]]:
        """Yields the catalog and the table; None if there is no such table."""
        (self._root / ICEBERG).mkdir(parents=True, exist_ok=True)
        try:
            with closing(SqlCatalog("archive", uri=f"sqlite:///{self._root / CATALOG}")) as catalog:
                try:
                    table = catalog.load_table(self._name)
                except NoSuchTableError:
                    table = None
                yield catalog, table
        except (CommitFailedException, TableAlreadyExistsError) as error:
            raise RaceError(str(error)) from None
        except _REFUSALS as error:
            raise LogError(str(error)) from None

    def _created(self, catalog: Any, file: DataFile) -> Any:
        self._known_columns = []
        columns = table_columns(self._root / file.path)
        catalog.create_namespace_if_not_exists(NAMESPACE)
        location = str(self._root / ICEBERG / self._table)
        with catalog.create_table_transaction(self._name, columns, location, properties=_PROPERTIES) as change:
            with change.update_spec() as partitions:
                partitions.add_identity("topic")
                partitions.add_identity("date")
            # The data files have no field ids, because Spark and Arrow write none.
            change.set_properties({_NAME_MAPPING: change.table_metadata.schema().name_mapping.model_dump_json()})
        return catalog.load_table(self._name)

    def _add_new_columns(self, table: Any, files: Sequence[DataFile]) -> bool:
        """Adds the columns that a job with another JSON schema wrote. Returns whether the table was asked to."""
        is_changed = False
        for found in distinct_columns(self._root, files):
            if found not in self._known_columns:
                with table.update_schema() as columns:
                    columns.union_by_name(found)
                self._known_columns.append(found)
                is_changed = True
        return is_changed

    def _added(self, table: Any, file: DataFile) -> IcebergFile:
        topic, day = topic_and_date(file.path)
        return IcebergFile.from_args(
            content=DataFileContent.DATA,
            file_path=str(self._root / file.path),
            file_format=FileFormat.PARQUET,
            partition=Record(topic, (day - _FIRST_DAY).days),
            record_count=file.rows,
            file_size_in_bytes=file.size_bytes,
            spec_id=table.metadata.default_spec_id,
            **_bounds(table, file),
        )

    def _known(self, table: Any) -> list[IcebergFile]:
        return [task.file for task in table.scan().plan_files()]

    def _inner(self, file: IcebergFile) -> str:
        return str(file.file_path).removeprefix(f"{self._root}/")


def _changes(table: Any, entry: LogEntry) -> Changes | None:
    reached = _reached(table)
    return entry.changes(reached.__getitem__)


def _reached(table: Any) -> dict[str, int]:
    """Returns the newest commits that the table holds, by kind."""
    if not (snapshots := lineage(table)):
        return dict.fromkeys(KINDS, NONE_YET)
    found = snapshots[-1].summary.additional_properties
    if all(name in found for name in NAMES.values()):
        return {kind: int(found[name]) for kind, name in NAMES.items()}
    if snapshots[-1].parent_snapshot_id is not None:
        raise LogError("no snapshot names the commits that the table holds; were snapshots expired?")
    return dict.fromkeys(KINDS, NONE_YET)


def _bounds(table: Any, file: DataFile) -> dict[str, Any]:
    """Returns the statistics by which engines skip files."""
    if not (rows := file.partitions):
        return {}
    lowest = {"partition": rows[0].partition, "offset": min(each.first for each in rows)}
    highest = {"partition": rows[-1].partition, "offset": max(each.last for each in rows)}
    fields = {name: table.schema().find_field(name) for name in lowest}
    return {
        name: {field.field_id: to_bytes(field.field_type, bounds[column]) for column, field in fields.items()}
        for name, bounds in (("lower_bounds", lowest), ("upper_bounds", highest))
    }
