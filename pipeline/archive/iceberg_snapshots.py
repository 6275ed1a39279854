"""Removes old snapshots of an Iceberg table with the files that only they need. By itself PyIceberg keeps both."""

from __future__ import annotations

from typing import Any

from .manifest import KINDS

__all__ = ["NAMES", "expire_many", "expire_older", "lineage"]

NAMES = {kind: f"pybroker.{kind}" for kind in KINDS}
"""Properties of a snapshot that name the newest commits that it holds, by kind. Other writers do not set them."""

_MOST = 60
_KEPT = 30
"""A query needs its snapshot only until it has found the files to read."""


def lineage(table: Any) -> list[Any]:
    """Returns the current snapshot and its ancestors up to the newest one that names commits."""
    found = []
    snapshot = table.current_snapshot()
    while snapshot is not None:
        found.append(snapshot)
        parent = snapshot.parent_snapshot_id
        is_last = parent is None or snapshot.summary.additional_properties.keys() >= set(NAMES.values())
        snapshot = None if is_last else table.snapshot_by_id(parent)
    return found


def expire_many(table: Any) -> None:
    """Removes the oldest snapshots of a table that has many. Each makes a commit 3 ms slower."""
    if len(table.snapshots()) > _MOST:
        _expire(table, table.snapshots()[:-_KEPT])


def expire_older(table: Any, until_ms: int) -> None:
    """Removes the snapshots of a time before, in milliseconds since 1970, except those that are in use."""
    _expire(table, [each for each in table.snapshots() if each.timestamp_ms < until_ms])


def _expire(table: Any, snapshots: list[Any]) -> None:
    """Removes these snapshots except those with a tag or branch, which Iceberg protects, and those from the current one
    to the newest one that names commits: after another writer's change, the next job looks for it.
    """
    used = {reference.snapshot_id for reference in table.refs().values()}
    used |= {each.snapshot_id for each in lineage(table)}
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
