"""Removes old snapshots of an Iceberg table with the files that only they need. By itself PyIceberg keeps both."""

from __future__ import annotations

from typing import Any

__all__ = ["expire_many", "expire_older"]

_MOST = 60
_KEPT = 30
"""A query needs its snapshot only until it has found the files to read."""


def expire_many(table: Any) -> None:
    """Removes the oldest snapshots of a table that has many. Each makes a commit 3 ms slower."""
    if len(table.snapshots()) > _MOST:
        _expire(table, table.snapshots()[:-_KEPT])


def expire_older(table: Any, until_ms: int) -> None:
    """Removes the snapshots of a time before, in milliseconds since 1970, except those that are in use."""
    _expire(table, [each for each in table.snapshots() if each.timestamp_ms < until_ms])


def _expire(table: Any, snapshots: list[Any]) -> None:
    """Removes these snapshots except the current one and those with a tag or branch, which Iceberg protects."""
    used = {reference.snapshot_id for reference in table.refs().values()}
    if (current := table.current_snapshot()) is not None:
        used.add(current.snapshot_id)
    old = {each.snapshot_id: each for each in snapshots if each.snapshot_id not in used}
    if not old:
        return
    kept = [each for each in table.snapshots() if each.snapshot_id not in old]
    files = _files_of(table, list(old.values())) - _files_of(table, kept)
    table.maintenance.expire_snapshots().by_ids(list(old)).commit()
    for file in files:  # only now, because the commit fails if another job commits first
        table.io.delete(file)


def _files_of(table: Any, snapshots: list[Any]) -> set[str]:
    manifests = {manifest.manifest_path for each in snapshots for manifest in each.manifests(table.io)}
    return manifests | {each.manifest_list for each in snapshots}
