"""The file of a tree in memory: the next tree begins with the last one's nodes, also after failed writes."""

from pathlib import Path

import pytest
from pybroker.controller.tree.embedded_database import EmbeddedDatabase
from pybroker.controller.tree.memory.memory_store import MemoryStore
from pybroker.controller.tree.memory.memory_tree import MemoryTree
from pybroker.controller.tree.memory.tree_file import TreeFile
from pybroker.controller.tree.memory.tree_link import TreeLink
from pybroker.controller.tree.metadata_store import MetadataStoreError, StoreFullError, StoreLockedError
from pybroker.controller.tree.znode_tree import RowChange


async def session_on(file: TreeFile) -> MemoryStore:
    tree = MemoryTree(lambda: 1_700_000_000_000, nodes=file.nodes, noted=file.note)
    return await MemoryStore.open(TreeLink(tree), session_timeout_ms=6_000, connection_timeout_ms=1_000)


async def test_next_tree_has_the_nodes_of_the_last_one_without_ephemeral_nodes(tmp_path: Path) -> None:
    file = await TreeFile.open(tmp_path / "metadata.db")
    store = await session_on(file)
    await store.create("/kept", b"old")
    await store.create("/gone", ephemeral=True)
    await store.create("/deleted")
    await store.delete("/deleted")
    before = await store.set("/kept", b"new")
    with pytest.raises(StoreLockedError):
        await TreeFile.open(tmp_path / "metadata.db")
    store.kill()
    await file.close()

    for _ in range(2):
        file = await TreeFile.open(tmp_path / "metadata.db")
        store = await session_on(file)
        assert await store.get("/kept") == (b"new", before)
        assert await store.children("/") == ["kept"]
        await store.create("/later", ephemeral=True)
        later = await store.exists("/later")
        assert later is not None
        assert later.czxid > before.mzxid
        await store.close()
        await file.close()


async def test_changes_that_could_not_be_written_are_written_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = await TreeFile.open(tmp_path / "metadata.db")
    store = await session_on(file)

    def full(_database: EmbeddedDatabase, _rows: list[RowChange], _zxid: int) -> MetadataStoreError:
        return StoreFullError(None, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedDatabase, "_write", full)
        await store.create("/first")
        while "could not be written" not in caplog.text:
            await store.get("/first")
    await store.create("/second")
    store.kill()
    await file.close()
    file = await TreeFile.open(tmp_path / "metadata.db")
    assert file.nodes.children("/") == ["first", "second"]
    await file.close()
