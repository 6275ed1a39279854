"""A metadata store whose data ends with this program answers before the commit, and keeps its changes over a kill."""

import asyncio
from pathlib import Path

import pytest
from pybroker.controller.tree.embedded_database import EmbeddedDatabase
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import (
    MetadataStoreError,
    SessionEvent,
    StoreFullError,
)
from pybroker.controller.tree.znode_tree import RowChange


def clock_ms() -> int:
    return 1_700_000_000_000


class CountingDatabase(EmbeddedDatabase):
    """Counts its commits; they fail with ``failure``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, is_durable=False)
        self.commits = 0
        self.failure: MetadataStoreError | None = None

    def _write(self, rows: list[RowChange], zxid: int) -> MetadataStoreError | None:
        self.commits += 1
        return self.failure or super()._write(rows, zxid)


@pytest.fixture
def database(tmp_path: Path) -> CountingDatabase:
    return CountingDatabase(tmp_path / "metadata.db")


@pytest.mark.parametrize("is_killed", [True, False])
async def test_temporary_store_writes_all_changes_in_one_commit_at_its_end(
    database: CountingDatabase, is_killed: bool
) -> None:
    store = await EmbeddedStore.open_on(database, clock_ms)
    for number in range(20):
        await store.create(f"/node-{number}")
    await store.delete("/node-3")
    await store.set("/node-4", b"data")
    assert database.commits == 0
    before = await store.get("/node-4")
    if is_killed:
        store.kill()
    else:
        await store.close()
    assert database.commits == 1
    again = await EmbeddedStore.open_on(CountingDatabase(database._path), clock_ms)
    assert len(await again.children("/")) == 19
    assert await again.get("/node-4") == before
    await again.close()


async def test_rows_that_wait_are_bounded(database: CountingDatabase) -> None:
    store = await EmbeddedStore.open_on(database, clock_ms)
    for _ in range(3):
        await asyncio.gather(*(store.create("/n-", sequential=True) for _ in range(1000)))
    await store.close()
    assert database.commits == 3


async def test_failed_commit_ends_the_session(database: CountingDatabase) -> None:
    store = await EmbeddedStore.open_on(database, clock_ms)
    ended = asyncio.Event()
    store.on_session_event(lambda event: ended.set() if event is SessionEvent.EXPIRED else None)
    database.failure = StoreFullError(str(database._path), "full")
    await asyncio.gather(*(store.create(f"/node-{number}") for number in range(1000)))
    await ended.wait()
    with pytest.raises(MetadataStoreError):
        await store.get("/")
    database.failure = None
    await store.close()


@pytest.mark.parametrize("is_killed", [True, False])
async def test_no_file_is_made_of_data_that_is_removed_next(database: CountingDatabase, is_killed: bool) -> None:
    store = await EmbeddedStore.open_on(database, clock_ms, drops_data=lambda: True)
    await store.create("/node")
    if is_killed:
        store.kill()
    else:
        await store.close()
    assert database.commits == 0
    assert not database._path.exists()


async def test_session_numbers_grow_from_the_first_start(database: CountingDatabase) -> None:
    numbers = []
    for _ in range(3):
        store = await EmbeddedStore.open_on(CountingDatabase(database._path), clock_ms)
        numbers.append(store.session_id)
        await store.create("/node", sequential=True)
        await store.close()
    assert numbers == [1, 2, 3]
