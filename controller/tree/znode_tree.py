"""ZooKeeper's tree in memory: checks and applies operations. Pure; the caller makes changes durable.

A change returns the rows that differ (`RowChange`), so that a store can write only those, and undo the change if that
fails.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...base.frozen import frozen
from .metadata_store import (
    ANY_VERSION,
    Acl,
    BadVersionError,
    Check,
    CheckResult,
    Create,
    CreateResult,
    Delete,
    DeleteResult,
    EventType,
    InvalidPathError,
    MetadataStoreError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Operation,
    OperationResult,
    SetData,
    SetDataResult,
    Stat,
    WatchEvent,
    check_path,
    parent_of,
)
from .node_rights import ALL_RIGHTS, OPEN_ACL, Permission, Rights, resolved

__all__ = ["Applied", "RowChange", "Znode", "ZnodeTree", "size_bytes"]

_NODE_BYTES, _ENTRY_BYTES = 500, 200


@frozen
class Znode:
    """One node, as it is stored."""

    data: bytes
    czxid: int
    mzxid: int
    pzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    children_created: int
    """The number of children ever created, which numbers sequential nodes; cversion is derived from it."""
    ephemeral_owner: int
    acl: Acl = OPEN_ACL
    acl_version: int = 0


def size_bytes(path: str, node: Znode) -> int:
    """About the memory that a node takes."""
    acl_bytes = 0 if node.acl is OPEN_ACL else sum(_ENTRY_BYTES + len(entry.id) for entry in node.acl)
    return _NODE_BYTES + 2 * len(path) + len(node.data) + acl_bytes


@frozen
class RowChange:
    """``before`` is None for a created node, ``after`` for a deleted one."""

    path: str
    before: Znode | None
    after: Znode | None


@frozen
class Applied:
    """The changes of one transaction, under one zxid."""

    zxid: int
    results: list[OperationResult]
    rows: list[RowChange]
    events: list[WatchEvent]


class ZnodeTree:
    """The nodes by path, and the last zxid. A refused transaction changes nothing."""

    def __init__(self, nodes: Iterable[tuple[str, Znode]] = (), last_zxid: int = 0) -> None:
        """A tree of ``nodes``, or a new tree. Raises ValueError for a node without a parent or with an invalid path."""
        self.last_zxid = last_zxid
        self._nodes: dict[str, Znode] = dict(nodes)
        self._children: dict[str, dict[str, None]] = {}
        self._nodes.setdefault("/", Znode(b"", 0, 0, 0, 0, 0, 0, 0, 0))
        self.size_bytes = sum(size_bytes(path, node) for path, node in self._nodes.items())
        """About the memory that the nodes take."""
        for path in self._nodes:
            if path == "/":
                continue
            check_path(path)
            parent = parent_of(path)
            if parent not in self._nodes:
                raise ValueError(f"node {path} has no parent")
            self._children.setdefault(parent, {})[path.rpartition("/")[2]] = None

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, path: str) -> tuple[bytes, Stat]:
        return self._node(path).data, self.stat(path)

    def contains(self, path: str) -> bool:
        check_path(path)
        return path in self._nodes

    def children(self, path: str) -> list[str]:
        self._node(path)
        return sorted(self._children.get(path, ()))

    def stat(self, path: str) -> Stat:
        node = self._node(path)
        child_count = len(self._children.get(path, ()))
        return Stat(
            czxid=node.czxid,
            mzxid=node.mzxid,
            pzxid=node.pzxid,
            ctime_ms=node.ctime_ms,
            mtime_ms=node.mtime_ms,
            version=node.version,
            cversion=2 * node.children_created - child_count,  # creations plus deletions
            ephemeral_owner=node.ephemeral_owner,
            data_length=len(node.data),
            num_children=child_count,
            acl_version=node.acl_version,
        )

    def acl(self, path: str) -> Acl:
        return self._node(path).acl

    def apply(
        self, operations: Sequence[Operation], session_id: int, now_ms: int, rights: Rights = ALL_RIGHTS
    ) -> Applied:
        """Do all of ``operations`` or none; ``operation_index`` of the error is the index of the failed one.

        ``rights`` are held against the nodes' access control lists.
        """
        zxid = self.last_zxid + 1
        applied = Applied(zxid, [], [], [])
        for index, operation in enumerate(operations):
            try:
                applied.results.append(self._apply_one(operation, applied, session_id, now_ms, rights))
            except MetadataStoreError as error:
                self._restore(applied.rows)
                error.operation_index = index
                raise
        if applied.rows:
            self.last_zxid = zxid
        return applied

    def set_acl(self, path: str, acl: Acl, version: int, rights: Rights) -> Applied:
        """Replace the access control list of a node, if its list has ``version``."""
        check_path(path)
        stored = resolved(path, acl, rights.identities)
        node = self._node(path)
        rights.check(path, node.acl, Permission.ADMIN)
        if version not in (ANY_VERSION, node.acl_version):
            raise BadVersionError(path, f"version of the ACL is {node.acl_version}, not {version}")
        applied = Applied(self.last_zxid + 1, [], [], [])
        self._put(RowChange(path, node, replace(node, acl=stored, acl_version=node.acl_version + 1)), applied)
        self.last_zxid = applied.zxid
        return applied

    def undo(self, applied: Applied) -> None:
        """Undo the last change of `apply`. Its zxid is not used again."""
        self._restore(applied.rows)

    def ephemerals(self, owner: int | None = None) -> list[str]:
        """The paths of all ephemeral nodes, or of those of one session."""
        return sorted(
            path
            for path, node in self._nodes.items()
            if (node.ephemeral_owner != 0 if owner is None else node.ephemeral_owner == owner)
        )

    def _apply_one(
        self, operation: Operation, applied: Applied, session_id: int, now_ms: int, rights: Rights
    ) -> OperationResult:
        match operation:
            case Create():
                return self._create(operation, applied, session_id, now_ms, rights)
            case SetData():
                return self._set(operation, applied, now_ms, rights)
            case Delete():
                return self._delete(operation, applied, rights)
            case Check():
                self._expect_version(operation.path, operation.version, Permission.READ, rights)
                return CheckResult()

    def _create(
        self, operation: Create, applied: Applied, session_id: int, now_ms: int, rights: Rights
    ) -> CreateResult:
        check_path(operation.path, sequential=operation.sequential)
        acl = resolved(operation.path, operation.acl, rights.identities)
        parent_path = parent_of(operation.path)
        parent = self._nodes.get(parent_path)
        if parent is None:
            raise NoNodeError(parent_path, "no such node")
        rights.check(parent_path, parent.acl, Permission.CREATE)
        path = operation.path
        if operation.sequential:
            path = f"{path}{parent.children_created:010d}"
        if path in self._nodes:
            raise NodeExistsError(path, "exists")
        if parent.ephemeral_owner:
            raise NoChildrenForEphemeralsError(parent_path, "an ephemeral node has no children")
        zxid = applied.zxid
        owner = session_id if operation.ephemeral else 0
        node = Znode(bytes(operation.data), zxid, zxid, zxid, now_ms, now_ms, 0, 0, owner, acl)
        self._put(RowChange(path, None, node), applied)
        grown = replace(parent, pzxid=zxid, children_created=parent.children_created + 1)
        self._put(RowChange(parent_path, parent, grown), applied)
        applied.events.append(WatchEvent(EventType.CREATED, path))
        return CreateResult(path)

    def _set(self, operation: SetData, applied: Applied, now_ms: int, rights: Rights) -> SetDataResult:
        node = self._expect_version(operation.path, operation.version, Permission.WRITE, rights)
        after = replace(node, data=bytes(operation.data), mzxid=applied.zxid, mtime_ms=now_ms, version=node.version + 1)
        self._put(RowChange(operation.path, node, after), applied)
        applied.events.append(WatchEvent(EventType.DATA_CHANGED, operation.path))
        return SetDataResult(self.stat(operation.path))

    def _delete(self, operation: Delete, applied: Applied, rights: Rights) -> DeleteResult:
        path = operation.path
        if path == "/":
            raise InvalidPathError(path, "the root cannot be deleted")
        check_path(path)
        parent_path = parent_of(path)
        parent = self._node(parent_path)
        rights.check(parent_path, parent.acl, Permission.DELETE)
        node = self._expect_version(path, operation.version)
        if self._children.get(path):
            raise NotEmptyError(path, "has children")
        self._put(RowChange(path, node, None), applied)
        self._put(RowChange(parent_path, parent, replace(parent, pzxid=applied.zxid)), applied)
        applied.events.append(WatchEvent(EventType.DELETED, path))
        return DeleteResult()

    def _node(self, path: str) -> Znode:
        check_path(path)
        node = self._nodes.get(path)
        if node is None:
            raise NoNodeError(path, "no such node")
        return node

    def _expect_version(
        self, path: str, version: int, needed: Permission = Permission.ALL, rights: Rights = ALL_RIGHTS
    ) -> Znode:
        node = self._node(path)
        rights.check(path, node.acl, needed)
        if version not in (ANY_VERSION, node.version):
            raise BadVersionError(path, f"version is {node.version}, not {version}")
        return node

    def _put(self, change: RowChange, applied: Applied) -> None:
        self._store(change.path, change.after)
        applied.rows.append(change)

    def _restore(self, rows: list[RowChange]) -> None:
        for change in reversed(rows):
            self._store(change.path, change.before)

    def _store(self, path: str, node: Znode | None) -> None:
        parent, _, name = path.rpartition("/")
        siblings = self._children.setdefault(parent or "/", {}) if path != "/" else {}
        before = self._nodes.get(path)
        self.size_bytes -= 0 if before is None else size_bytes(path, before)
        self.size_bytes += 0 if node is None else size_bytes(path, node)
        if node is None:
            del self._nodes[path]
            del siblings[name]
            if not siblings:
                del self._children[parent or "/"]
        else:
            self._nodes[path] = node
            siblings[name] = None
