"""The file of a tree in memory: the next tree begins with the last one's nodes, also after failed writes."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.controller.tree.embedded_database import EmbeddedDatabase
from pybroker.controller.tree.memory.memory_store import MemoryStore
from pybroker.controller.tree.memory.memory_tree import MemoryTree
from pybroker.controller.tree.memory.tree_file import TreeFile
from pybroker.controller.tree.memory.tree_link import TreeLink
from pybroker.controller.tree.metadata_store import (
    ANY_VERSION,
    Acl,
    AclEntry,
    Create,
    Delete,
    MetadataStoreError,
    NotAuthorizedError,
    SetData,
    StoreCorruptError,
    StoreFullError,
    StoreLockedError,
    Watch,
    WatchEvent,
)
from pybroker.controller.tree.node_rights import ALL_RIGHTS, OPEN_ACL, Permission, Rights, digest_identity
from pybroker.controller.tree.znode_tree import RowChange

NAMES = ("changed", "created", "gone", "open", "opened")


class NoOwner:
    """The owner of a session that is told nothing."""

    def post(self, call: Callable[[], object]) -> None:
        """Do nothing."""

    def told(self, watch: Watch, event: WatchEvent) -> None:
        """Do nothing."""

    def expired(self) -> None:
        """Do nothing."""


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


OWNER = digest_identity(b"owner:secret")
CLOSED: Acl = (AclEntry(Permission.READ, "world", "anyone"), AclEntry(Permission.ALL, *OWNER))


def set_acl(file: TreeFile, path: str, acl: Acl) -> None:
    applied = file.nodes.set_acl(path, acl, ANY_VERSION, ALL_RIGHTS)
    file.note(applied.rows, applied.zxid)


def versions(path: Path) -> tuple[int, int]:
    """The version of the file, and the number of its tables."""
    connection = sqlite3.connect(path)
    (version,), (tables,) = (
        connection.execute(question).fetchone()
        for question in ("PRAGMA user_version", "SELECT count(*) FROM sqlite_schema")
    )
    connection.close()
    return version, tables


async def test_next_tree_has_the_access_control_lists_of_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    file = await TreeFile.open(path)
    tree = MemoryTree(lambda: 1, nodes=file.nodes, noted=file.note)
    tree.write(tree.begin(6_000, NoOwner()), [Create("/created", acl=CLOSED), Create("/gone", acl=CLOSED)])
    tree.write(tree.begin(6_000, NoOwner()), [Create("/changed"), Create("/opened", acl=CLOSED), Create("/open")])
    set_acl(file, "/changed", CLOSED)
    set_acl(file, "/opened", OPEN_ACL)
    await file.close()

    file = await TreeFile.open(path)
    found = {each: (file.nodes.acl(f"/{each}"), file.nodes.stat(f"/{each}").acl_version) for each in NAMES}
    assert found == {
        "changed": (CLOSED, 1),
        "created": (CLOSED, 0),
        "gone": (CLOSED, 0),
        "open": (OPEN_ACL, 0),
        "opened": (OPEN_ACL, 1),
    }
    with pytest.raises(NotAuthorizedError):
        file.nodes.apply([SetData("/created", b"x")], 1, 1, Rights())
    again = file.nodes.apply([SetData("/created", b"x"), Delete("/gone"), Create("/gone")], 1, 1, Rights([OWNER]))
    file.note(again.rows, again.zxid)
    await file.close()

    file = await TreeFile.open(path)
    assert (file.nodes.get("/created")[0], file.nodes.acl("/created")) == (b"x", CLOSED)
    assert file.nodes.acl("/gone") is OPEN_ACL
    await file.close()


async def test_file_gets_the_version_with_access_control_lists_with_the_first_of_them(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    file = await TreeFile.open(path)
    made = file.nodes.apply([Create("/open")], 0, 1)
    file.note(made.rows, made.zxid)
    await file.close()
    assert versions(path) == (1, 2)
    file = await TreeFile.open(path)
    set_acl(file, "/open", CLOSED)
    await file.close()
    assert versions(path) == (2, 3)


@pytest.mark.parametrize("entries", ["no JSON", "[1]", '[["x", "world", "anyone"]]', "null"])
async def test_damaged_access_control_list_is_not_taken_for_an_open_one(tmp_path: Path, entries: str) -> None:
    path = tmp_path / "metadata.db"
    file = await TreeFile.open(path)
    set_acl(file, "/", CLOSED)
    await file.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE acl SET entries = ?", (entries,))
    connection.close()
    with pytest.raises(StoreCorruptError, match="not a metadata tree"):
        await TreeFile.open(path)
