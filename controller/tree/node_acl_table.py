"""The table of a metadata tree's SQLite file that keeps the access control lists of its nodes.

A file gets the table, and version 2, with the first list that is not open to everyone. Other files stay as they are. An
earlier pybroker refuses a file with the table, because it would open all nodes to everyone.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .metadata_store import Acl, AclEntry
from .node_rights import OPEN_ACL
from .znode_tree import RowChange, Znode

if TYPE_CHECKING:
    import sqlite3

__all__ = ["VERSION_WITH_ACLS", "read_acls", "version_of", "write_acls"]

VERSION_WITH_ACLS = 2

_MAKE = """
CREATE TABLE acl (
    path TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, entries TEXT NOT NULL
) WITHOUT ROWID
"""


def version_of(connection: "sqlite3.Connection") -> int:
    """The version of the file; 0 if it is new."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert isinstance(version, int)
    return version


def read_acls(connection: "sqlite3.Connection") -> dict[str, tuple[Acl, int]]:
    """The lists and their versions by path. Raises ValueError, KeyError or TypeError for a row that is no list."""
    if version_of(connection) < VERSION_WITH_ACLS:
        return {}
    rows = connection.execute("SELECT path, version, entries FROM acl")
    return {path: (_decoded(entries), version) for path, version, entries in rows}


def write_acls(connection: "sqlite3.Connection", rows: Iterable[RowChange]) -> None:
    """Write the lists of changed nodes within the caller's transaction."""
    nodes = {change.path: change.after for change in rows}
    kept = list(_kept(nodes))
    if version_of(connection) < VERSION_WITH_ACLS:
        if not kept:
            return
        connection.execute(_MAKE)
        connection.execute(f"PRAGMA user_version = {VERSION_WITH_ACLS}")
    connection.executemany("DELETE FROM acl WHERE path = ?", [(path,) for path in nodes])
    connection.executemany("INSERT INTO acl VALUES (?, ?, ?)", kept)


def _kept(nodes: dict[str, Znode | None]) -> Iterator[tuple[str, int, str]]:
    """The rows of nodes whose list was ever another than the open one."""
    for path, node in nodes.items():
        if node is not None and (node.acl is not OPEN_ACL or node.acl_version):
            entries = [[int(entry.permissions), entry.scheme, entry.id] for entry in node.acl]
            yield path, node.acl_version, json.dumps(entries)


def _decoded(entries: str) -> Acl:
    found = tuple(AclEntry(int(permissions), str(scheme), str(id_)) for permissions, scheme, id_ in json.loads(entries))
    return OPEN_ACL if found == OPEN_ACL else found
