"""The embedded store passes the tests of every store; its files, crashes, damage and full disks are tested here."""

import asyncio
import logging
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pybroker.controller.tree import embedded_store
from pybroker.controller.tree.embedded_database import EmbeddedDatabase
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import (
    Create,
    EventType,
    MetadataStore,
    MetadataStoreError,
    SessionEvent,
    StoreCorruptError,
    StoreFullError,
    StoreLockedError,
    StoreWriteError,
)
from pybroker.controller.tree.znode_tree import RowChange
from support.in_process.metadata_store_suite import MetadataStoreSuite, Watcher


def clock_ms() -> int:
    return 1_700_000_000_000


class EmbeddedStores:
    def __init__(self, path: Path, *, is_durable: bool) -> None:
        self._path = path
        self._is_durable = is_durable

    async def open(self) -> MetadataStore:
        drops_data = None if self._is_durable else lambda: False
        return await EmbeddedStore.open(self._path, clock_ms, drops_data=drops_data)

    async def end(self, store: MetadataStore) -> None:
        assert isinstance(store, EmbeddedStore)
        await store.abandon()


@pytest.fixture(params=[True, False], ids=["durable", "not durable"])
def stores(tmp_path: Path, request: pytest.FixtureRequest) -> EmbeddedStores:
    return EmbeddedStores(tmp_path / "metadata.db", is_durable=request.param)


class TestEmbeddedStore(MetadataStoreSuite):
    pass


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metadata.db"


def create_nodes_and_die(path: Path) -> None:
    """Create nodes in a separate process, which then dies without closing its store."""
    code = f"""
import asyncio, os
from pathlib import Path
from pybroker.controller.tree.embedded_store import EmbeddedStore
async def main():
    store = await EmbeddedStore.open(Path({str(path)!r}), lambda: 1)
    await store.create("/kept", b"data")
    await store.create("/gone", ephemeral=True)
    store.create("/perhaps")
    os._exit(9)
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9


async def test_commits_survive_a_kill(path: Path) -> None:
    create_nodes_and_die(path)
    again = await EmbeddedStore.open(path, clock_ms)
    data, stat = await again.get("/kept")
    assert (data, stat.czxid) == (b"data", 1)
    assert await again.exists("/gone") is None
    await again.create("/new")
    _, fresh = await again.get("/new")
    assert fresh.czxid > 2  # the number of /gone does not come again
    await again.close()


async def test_ephemeral_node_deleted_at_open_changes_its_parents_cversion(path: Path) -> None:
    first = await EmbeddedStore.open(path, clock_ms)
    await first.create("/gone", ephemeral=True)
    before = await first.exists("/")
    await first.abandon()
    second = await EmbeddedStore.open(path, clock_ms)
    after = await second.exists("/")
    assert before is not None
    assert after is not None
    assert after.cversion == before.cversion + 1
    assert after.pzxid > before.pzxid
    await second.close()


async def test_abandoned_store_fails_waiting_operations_and_reports_an_expired_session(path: Path) -> None:
    opened = await EmbeddedStore.open(path, clock_ms)
    events: list[SessionEvent] = []
    opened.on_session_event(events.append)
    waiting = opened.create("/a")
    await opened.abandon()
    with pytest.raises(MetadataStoreError):
        await waiting
    assert events == [SessionEvent.EXPIRED]


def write_text(path: Path) -> None:
    path.write_bytes(b"this is not a database, but long enough to be read as one's header" * 100)


def damage_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for page in range(1, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 5 * 4096])


async def test_file_that_is_no_database_is_refused_in_one_line(path: Path) -> None:
    write_text(path)
    with pytest.raises(StoreCorruptError) as caught:
        await EmbeddedStore.open(path, clock_ms)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_damaged_database_is_refused(path: Path) -> None:
    opened = await EmbeddedStore.open(path, clock_ms)
    for number in range(50):
        await opened.create(f"/node-{number}", bytes(1000))
    await opened.close()
    damage_pages(path)
    with pytest.raises(StoreCorruptError):
        await EmbeddedStore.open(path, clock_ms)


async def test_truncated_database_is_refused(path: Path) -> None:
    opened = await EmbeddedStore.open(path, clock_ms)
    for number in range(50):
        await opened.create(f"/node-{number}", bytes(1000))
    await opened.close()
    cut_off(path)
    with pytest.raises(StoreCorruptError):
        await EmbeddedStore.open(path, clock_ms)


async def test_node_without_parent_is_damage(path: Path) -> None:
    await (await EmbeddedStore.open(path, clock_ms)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO znode VALUES ('/a/b', x'', 1, 1, 1, 0, 0, 0, 0, 0)")
    connection.close()
    with pytest.raises(StoreCorruptError, match="/a/b has no parent"):
        await EmbeddedStore.open(path, clock_ms)


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "CREATE TABLE other (x)"])
async def test_database_of_another_program_is_refused_and_left_unchanged(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreCorruptError, match="version"):
        await EmbeddedStore.open(path, clock_ms)
    connection = sqlite3.connect(path)
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema")]
    connection.close()
    assert "theirs" in tables
    assert "znode" not in tables


async def test_second_opener_is_refused_and_the_first_goes_on(path: Path) -> None:
    first = await EmbeddedStore.open(path, clock_ms)
    with pytest.raises(StoreLockedError):
        await EmbeddedStore.open(path, clock_ms)
    await first.create("/a")
    await first.close()
    await (await EmbeddedStore.open(path, clock_ms)).close()


async def test_missing_directory_raises_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StoreWriteError):
        await EmbeddedStore.open(tmp_path / "missing" / "metadata.db", clock_ms)


class FillingDatabase(EmbeddedDatabase):
    """A database that fails like a full or broken disk when told to."""

    failure: MetadataStoreError | None = None
    commits = 0

    def _write(self, rows: list[RowChange], zxid: int) -> MetadataStoreError | None:
        self.commits += 1
        return self.failure or super()._write(rows, zxid)


async def test_operations_started_together_share_a_commit(path: Path) -> None:
    database = FillingDatabase(path)
    opened = await EmbeddedStore.open_on(database, clock_ms)
    await asyncio.gather(*(opened.create(f"/node-{number}") for number in range(100)))
    assert database.commits <= 2
    await opened.close()


async def test_writes_on_a_full_disk_are_refused_and_undone(path: Path) -> None:
    database = FillingDatabase(path)
    opened = await EmbeddedStore.open_on(database, clock_ms)
    await opened.create("/a", b"old")
    watcher = Watcher()
    await opened.get("/a", watcher)
    root = await opened.exists("/")
    database.failure = StoreWriteError(str(path), "database or disk is full")
    results = await asyncio.gather(
        opened.set("/a", b"new"),
        opened.multi([Create("/b"), Create("/b/c")]),
        opened.get("/b/c"),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [StoreWriteError] * 3
    assert watcher.told == []
    # There is space again: the same session continues with the tree that is on disk.
    database.failure = None
    assert (await opened.get("/a"))[0] == b"old"
    assert await opened.exists("/b") is None
    assert await opened.exists("/") == root
    await opened.set("/a", b"newer", version=0)
    assert watcher.told == [(EventType.DATA_CHANGED, "/a")]
    await opened.close()
    again = await EmbeddedStore.open(path, clock_ms)
    assert (await again.get("/a"))[0] == b"newer"
    await again.close()


async def test_disk_that_stays_full_is_logged_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = FillingDatabase(path)
    opened = await EmbeddedStore.open_on(database, clock_ms)
    for _ in range(2):
        database.failure = StoreWriteError(str(path), "database or disk is full")
        for _ in range(3):
            with pytest.raises(StoreWriteError):
                await opened.create("/a")
        database.failure = None
        await opened.create("/b")
        await opened.delete("/b")
    assert [record.message for record in caplog.records] == [
        f"metadata store: commit failed: {path}: database or disk is full"
    ] * 2
    await opened.close()


def sqlite_error(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = name
    return error


class FullDatabase(FillingDatabase):
    """A database on a disk that is full when it is opened. ``has_name``: the log file can at least be created."""

    def __init__(self, path: Path, *, has_name: bool) -> None:
        super().__init__(path)
        self.failure = StoreFullError(str(path), "database or disk is full")
        self._has_name = has_name

    def _connect(self) -> sqlite3.Connection:
        if self.failure is not None and not self._has_name:
            raise sqlite_error("SQLITE_CANTOPEN")
        return super()._connect()

    def _end_transaction(self, connection: sqlite3.Connection) -> None:
        if self.failure is None:
            return super()._end_transaction(connection)
        raise sqlite_error("SQLITE_FULL")


@pytest.mark.parametrize("has_name", [True, False])
async def test_changes_of_a_start_on_a_full_disk_are_written_with_the_next_change(path: Path, has_name: bool) -> None:
    earlier = await EmbeddedStore.open(path, clock_ms)
    await earlier.create("/a", b"old")
    await earlier.create("/gone", ephemeral=True)
    await earlier.abandon()
    database = FullDatabase(path, has_name=has_name)
    opened = await EmbeddedStore.open_on(database, clock_ms, starts_broker=True)
    assert opened.session_id > earlier.session_id
    watcher = Watcher()
    await opened.get("/a", watcher)
    await asyncio.gather(opened.set("/a", b"of the start"), opened.create("/alive", ephemeral=True))
    assert watcher.told == [(EventType.DATA_CHANGED, "/a")]
    opened.start_is_over()
    with pytest.raises(StoreFullError):
        await opened.set("/a", b"of a client")
    with pytest.raises(StoreFullError):
        await opened.delete("/alive")
    assert (await opened.get("/a"))[0] == b"of the start"
    assert await opened.exists("/gone") is None
    database.failure = None
    await opened.create("/b")
    await opened.abandon()
    again = await EmbeddedStore.open(path, clock_ms)
    assert (await again.get("/a"))[0] == b"of the start"
    assert await again.exists("/b") is not None
    assert await again.exists("/gone") is None
    assert again.session_id > opened.session_id
    await again.close()


async def test_changes_that_a_full_disk_held_back_at_start_are_written_later(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedded_store, "_RETRY_SECONDS", 0.001)
    caplog.set_level(logging.INFO, logger="pybroker.controller.tree")
    await (await EmbeddedStore.open(path, clock_ms)).close()
    database = FullDatabase(path, has_name=True)
    opened = await EmbeddedStore.open_on(database, clock_ms, starts_broker=True)
    full = database.failure
    await opened.create("/a")
    opened.start_is_over()
    with pytest.raises(StoreFullError):
        await opened.create("/of-a-client")
    tries = database.commits
    while database.commits < tries + 3:  # noqa: ASYNC110  (tries, which nothing announces)
        await asyncio.sleep(0)
    database.failure = None
    while "there is space again" not in caplog.text:  # noqa: ASYNC110  (nor this)
        await asyncio.sleep(0)
    database.failure = full
    with pytest.raises(StoreFullError):
        await opened.create("/later")
    assert len([record for record in caplog.records if "commit failed" in record.message]) == 2, "told again"
    await opened.abandon()
    again = await EmbeddedStore.open(path, clock_ms)
    assert await again.exists("/a") is not None
    await again.close()


async def test_a_new_store_on_a_full_disk_is_refused(path: Path) -> None:
    with pytest.raises(StoreFullError, match="cannot be written"):
        await EmbeddedStore.open_on(FullDatabase(path, has_name=True), clock_ms, starts_broker=True)


async def test_store_raises_corrupt_error_when_another_process_has_written_to_it(path: Path) -> None:
    await (await EmbeddedStore.open(path, clock_ms)).close()
    database = FullDatabase(path, has_name=False)
    opened = await EmbeddedStore.open_on(database, clock_ms, starts_broker=True)
    other = await EmbeddedStore.open(path, clock_ms)
    await other.create("/theirs")
    await other.close()
    database.failure = None
    with pytest.raises(StoreCorruptError, match="another process"):
        await opened.create("/ours")
    await opened.close()


async def test_store_opened_outside_a_broker_fails_at_once_on_a_full_disk(path: Path) -> None:
    await (await EmbeddedStore.open(path, clock_ms)).close()
    opened = await EmbeddedStore.open_on(FullDatabase(path, has_name=True), clock_ms)
    with pytest.raises(StoreFullError):
        await opened.create("/a")
    assert await opened.exists("/a") is None
    await opened.close()


async def test_broken_disk_ends_the_session(path: Path) -> None:
    database = FillingDatabase(path)
    opened = await EmbeddedStore.open_on(database, clock_ms)
    events: list[SessionEvent] = []
    opened.on_session_event(events.append)
    database.failure = StoreCorruptError(str(path), "disk I/O error")
    first, second = opened.create("/a"), opened.create("/b")
    with pytest.raises(StoreCorruptError):
        await first
    with pytest.raises(StoreCorruptError):
        await second
    with pytest.raises(MetadataStoreError):
        await opened.get("/")
    assert events == [SessionEvent.EXPIRED]
    await opened.close()


async def test_operations_started_by_a_watch_complete_after_those_already_queued(path: Path) -> None:
    opened = await EmbeddedStore.open(path, clock_ms)
    await opened.create("/a")
    order: list[str] = []

    def read_again(_event: object) -> None:
        opened.get("/a").add_done_callback(lambda _: order.append("read by the watch"))

    await opened.get("/a", read_again)
    first, second = opened.set("/a", b"1"), opened.set("/a", b"2")
    first.add_done_callback(lambda _: order.append("first"))
    second.add_done_callback(lambda _: order.append("second"))
    await second
    await opened.get("/a")
    assert order == ["first", "second", "read by the watch"]
    await opened.close()


async def test_exception_in_a_watch_does_not_lose_other_results(path: Path) -> None:
    opened = await EmbeddedStore.open(path, clock_ms)
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def broken(_event: object) -> None:
        raise RuntimeError("a bug in a watch")

    await opened.get("/", broken)
    await opened.set("/", b"x")
    assert [str(report["exception"]) for report in reported] == ["a bug in a watch"]
    await opened.close()


async def test_first_start_creates_only_the_files_of_sqlite(path: Path) -> None:
    opened = await EmbeddedStore.open(path, clock_ms)
    await opened.create("/a")
    assert {file.name for file in path.parent.iterdir()} <= {path.name, path.name + "-wal"}
    await opened.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_files_are_for_their_user_only_because_they_contain_keys(path: Path) -> None:
    before = os.umask(0)
    try:
        store = await EmbeddedStore.open(path, clock_ms)
        await store.create("/a", b"1")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("metadata.db", "metadata.db-wal"), 0o600)


async def test_files_of_an_earlier_version_are_hidden_from_other_users_and_keep_their_group(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT))
    os.chmod(path, 0o664)
    store = await EmbeddedStore.open(path, clock_ms)
    await store.create("/a", b"1")
    modes = [stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()]
    await store.close()
    assert modes == [0o660, 0o660]
