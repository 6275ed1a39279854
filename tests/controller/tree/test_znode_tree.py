"""The tree in memory: refused and undone changes leave no trace."""

import pickle

from hypothesis import given
from hypothesis import strategies as st
from pybroker.controller.tree.metadata_store import Check, Create, Delete, MetadataStoreError, Operation, SetData
from pybroker.controller.tree.znode_tree import ZnodeTree

PATHS = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/a/x/deep", "/b/x"])
VERSIONS = st.integers(-1, 2)
OPERATIONS = st.one_of(
    st.builds(Create, PATHS, st.binary(max_size=2), st.booleans(), st.booleans()),
    st.builds(SetData, PATHS, st.binary(max_size=2), VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
    st.builds(Check, PATHS, VERSIONS),
)
MULTIS = st.lists(st.lists(OPERATIONS, min_size=1, max_size=4), max_size=20)


def snapshot(tree: ZnodeTree) -> dict[str, object]:
    """Everything in the tree that an operation can read."""
    seen: dict[str, object] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        seen[path] = tree.get(path)
        waiting += [f"{path.rstrip('/')}/{name}" for name in tree.children(path)]
    return seen


@given(MULTIS)
def test_refused_transaction_changes_nothing_and_undo_reverts_one(multis: list[list[Operation]]) -> None:
    tree = ZnodeTree()
    for operations in multis:
        before, zxid = snapshot(tree), tree.last_zxid
        refusal: MetadataStoreError | None = None
        try:
            applied = tree.apply(operations, session_id=7, now_ms=5)
        except MetadataStoreError as error:
            refusal = error
        if refusal is not None:
            assert refusal.operation_index is not None
            assert snapshot(tree) == before
            assert tree.last_zxid == zxid
            continue
        after = snapshot(tree)
        tree.undo(applied)
        assert snapshot(tree) == before
        tree.apply(operations, session_id=7, now_ms=5)
        assert snapshot(tree).keys() == after.keys()


@given(MULTIS)
def test_tree_rebuilt_from_its_rows_is_equal(multis: list[list[Operation]]) -> None:
    tree = ZnodeTree()
    rows: dict[str, object] = {}
    for operations in multis:
        try:
            applied = tree.apply(operations, session_id=7, now_ms=5)
        except MetadataStoreError:
            continue
        for change in applied.rows:
            rows[change.path] = change.after
    kept = [(path, node) for path, node in rows.items() if node is not None]
    again = ZnodeTree(kept, tree.last_zxid)  # type: ignore[arg-type]
    assert snapshot(again) == snapshot(tree)
    assert again.ephemerals() == tree.ephemerals(7)


def test_deleted_nodes_leave_nothing_behind() -> None:
    def size_of(tree: ZnodeTree) -> int:
        return len(pickle.dumps(tree))

    tree = ZnodeTree()
    tree.apply([Create("/a")], session_id=7, now_ms=5)
    before = size_of(tree)
    for number in range(100):
        paths = [f"/a/{number}", f"/a/{number}/deep", f"/a/{number}/deep/deeper"]
        tree.apply([Create(path) for path in paths], session_id=7, now_ms=5)
        tree.apply([Delete(path) for path in reversed(paths)], session_id=7, now_ms=5)
    assert size_of(tree) < before + 100  # its counters have grown
