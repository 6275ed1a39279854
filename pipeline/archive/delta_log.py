"""The log of a table in the format Delta Lake, written by delta-rs.

**How**: each commit of the manifest becomes one version with a transaction identifier (`txn`). The protocol refuses a
second version with the same identifier, so two jobs can't add a commit twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deltalake
import pyarrow as pa
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

from .log_entry import Changes, LogEntry, LogError, RaceError
from .log_files import distinct_columns, table_columns, topic_and_date
from .manifest import DataFile
from .summary import NONE_YET

_PARTITIONED_BY = ["topic", "date"]


class DeltaLog:
    """The log in `<root>/<table>/_delta_log`."""

    def __init__(self, root: Path, table: str) -> None:
        self._root = root
        self._table = table
        self._known_columns: list[pa.Schema] = []
        """Schemas of files whose columns the table has."""

    def last(self, kind: str) -> int:
        with _errors():
            return NONE_YET if (delta := self._opened()) is None else _last(delta, kind)

    def add(self, entry: LogEntry) -> None:
        with _errors():
            delta = self._opened()
            changes = entry.changes(lambda _: NONE_YET) if delta is None else _changes(delta, entry)
            if delta is None and changes is not None and changes.added:
                delta = self._created(changes.added[0])
                changes = _changes(delta, entry)
            if delta is None or changes is None:
                return
            is_wider = False
            for columns in distinct_columns(self._root, changes.typical):
                is_wider = _add_new_columns(delta, columns) or is_wider
            if is_wider:
                changes = _changes(delta, entry)  # the table's state is a newer one now
            if changes is None:
                return
            if changes.removed:
                changes.check_removed(self._sizes(delta))
            transactions = [Transaction(_application(kind), number) for kind, number in changes.reached.items()]
            delta.create_write_transaction(
                self._actions(changes),
                "append",
                delta.schema(),
                _PARTITIONED_BY,
                commit_properties=CommitProperties(
                    custom_metadata={"pybroker": changes.name}, app_transactions=transactions
                ),
            )

    def files(self) -> dict[str, int]:
        with _errors():
            return {} if (delta := self._opened()) is None else self._sizes(delta)

    def check_columns(self, file: Path) -> None:
        """Tries it with an empty table, because delta-rs merges columns only in a table."""
        if (columns := table_columns(file)) in self._known_columns:
            return
        with _errors(), TemporaryDirectory() as directory:
            delta = self._opened()
            schema = columns if delta is None else delta.schema()
            tried = deltalake.DeltaTable.create(directory, schema, partition_by=_PARTITIONED_BY)
            if not _add_new_columns(tried, columns) and delta is not None:
                self._known_columns.append(columns)

    def forget(self, until_ms: int) -> None:
        """Does nothing: delta-rs drops old versions by `delta.logRetentionDuration`."""

    def _opened(self) -> Any:
        place = str(self._root / self._table)
        return deltalake.DeltaTable(place) if deltalake.DeltaTable.is_deltatable(place) else None

    def _created(self, file: DataFile) -> Any:
        self._known_columns = []
        columns = table_columns(self._root / file.path)
        place = str(self._root / self._table)
        return deltalake.DeltaTable.create(place, columns, mode="ignore", partition_by=_PARTITIONED_BY)

    def _sizes(self, delta: Any) -> dict[str, int]:
        rows = delta.get_add_actions(flatten=True)
        paths, sizes = rows["path"].to_pylist(), rows["size_bytes"].to_pylist()
        return {f"{self._table}/{path}": size for path, size in zip(paths, sizes, strict=True)}

    def _actions(self, changes: Changes) -> list[AddAction | RemoveAction]:
        now_ms = int(time.time() * 1000)
        start = len(f"{self._table}/")
        added = [
            AddAction(
                file.path[start:],
                file.size_bytes,
                _partition_values(file.path),
                now_ms,
                has_new_rows,
                _stats(file),
            )
            for files, has_new_rows in ((changes.new, True), (changes.merged, False))
            for file in files
        ]
        removed = [RemoveAction(path[start:], False, now_ms, None, _partition_values(path)) for path in changes.removed]
        return [*added, *removed]


def _add_new_columns(delta: Any, columns: pa.Schema) -> bool:
    """Adds the columns, also inside others, that the table lacks. Returns whether there were any."""
    known = {field.name: field.type for field in delta.schema().fields}
    fields = deltalake.Schema.from_arrow(columns).fields
    if new := [field for field in fields if known.get(field.name) != field.type]:
        delta.alter.add_columns(new)
    return bool(new)


def _changes(delta: Any, entry: LogEntry) -> Changes | None:
    return entry.changes(lambda kind: _last(delta, kind))


def _last(delta: Any, kind: str) -> int:
    version = delta.transaction_version(_application(kind))
    return NONE_YET if version is None else int(version)


def _application(kind: str) -> str:
    return f"pybroker-{kind}"


def _partition_values(path: str) -> dict[str, str | None]:
    topic, day = topic_and_date(path)
    return {"topic": topic, "date": day.isoformat()}


def _stats(file: DataFile) -> str:
    """Returns the statistics by which engines skip files, as JSON."""
    found: dict[str, Any] = {"numRecords": file.rows}
    if rows := file.partitions:
        found["minValues"] = {"partition": rows[0].partition, "offset": min(each.first for each in rows)}
        found["maxValues"] = {"partition": rows[-1].partition, "offset": max(each.last for each in rows)}
        found["nullCount"] = {"partition": 0, "offset": 0}
    return json.dumps(found)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except CommitFailedError as error:
        raise RaceError(str(error)) from None
    except DeltaError as error:
        raise LogError(str(error)) from None
