"""The tests that every `MetadataStore` must pass.

A test file subclasses `MetadataStoreSuite` and provides the fixture ``stores``, which opens sessions on one tree and
ends them. The tests do not depend on how a store keeps its tree. Sessions follow one another, because a store may
allow only one at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Protocol

import pytest
from pybroker.controller.tree.metadata_store import (
    ANY_VERSION,
    BadVersionError,
    Check,
    CheckResult,
    Create,
    CreateResult,
    Delete,
    DeleteResult,
    EventType,
    InvalidPathError,
    MetadataStore,
    MetadataStoreError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SetData,
    SetDataResult,
    WatchEvent,
)
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore


class Stores(Protocol):
    """Sessions on one tree."""

    async def open(self) -> MetadataStore:
        """A new session. An earlier one must have been ended."""
        ...

    async def end(self, store: MetadataStore) -> None:
        """End a session as if its process was killed; returns when its ephemeral nodes may be deleted."""
        ...


class Watcher:
    """A watch that records its events."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []

    def __call__(self, event: WatchEvent) -> None:
        self.events.append(event)

    @property
    def told(self) -> list[tuple[EventType, str]]:
        return [(event.type, event.path) for event in self.events]


async def watches_survive_a_reconnection(
    store: MetadataStore, other: MetadataStore, cut: Callable[[], Awaitable[None]], heal: Callable[[], None]
) -> None:
    """Fails if ``store`` misses a change that ``other`` makes while the store is cut off."""
    for path in ("/set", "/gone", "/parent", "/same", "/parent/old", "/childless"):
        await other.create(path)
    watcher = Watcher()
    for path in ("/set", "/gone", "/same"):
        await store.get(path, watcher)
    await store.exists("/new", watcher)
    await store.exists("/never", watcher)
    await store.children("/parent", watcher)
    await store.children("/childless", watcher)
    await cut()
    await other.set("/set", b"x")
    await other.delete("/gone")
    await other.create("/new")
    await other.delete("/parent/old")
    await other.delete("/childless")
    heal()
    assert watcher.told == []
    await store.get("/same")  # the watch event comes before this response
    assert watcher.told == [
        (EventType.DATA_CHANGED, "/set"),
        (EventType.DELETED, "/gone"),
        (EventType.CREATED, "/new"),
        (EventType.CHILDREN_CHANGED, "/parent"),
        (EventType.DELETED, "/childless"),
    ]
    await other.set("/same", b"y")
    await other.create("/never")
    await store.get("/same")
    assert watcher.told[5:] == [(EventType.DATA_CHANGED, "/same"), (EventType.CREATED, "/never")]


async def kill_ends_the_session(store: ZooKeeperStore, other: MetadataStore) -> None:
    """Kills ``store``; fails if its ephemeral node outlives it."""
    await store.create("/here", ephemeral=True)
    gone: asyncio.Future[WatchEvent] = asyncio.get_running_loop().create_future()
    await other.exists("/here", gone.set_result)
    store.kill()
    await gone


def _note(order: list[str], name: str, _future: object) -> None:
    order.append(name)


@pytest.fixture
async def store(stores: Stores) -> AsyncIterator[MetadataStore]:
    opened = await stores.open()
    await opened.create("/base")
    yield opened
    await opened.close()


class MetadataStoreSuite:
    # -- nodes

    async def test_created_node_holds_its_data(self, store: MetadataStore) -> None:
        assert await store.create("/base/a", b"data") == "/base/a"
        data, stat = await store.get("/base/a")
        assert data == b"data"
        assert (stat.version, stat.cversion, stat.num_children, stat.data_length) == (0, 0, 0, 4)
        assert stat.czxid == stat.mzxid == stat.pzxid
        assert stat.ctime_ms == stat.mtime_ms
        assert stat.ephemeral_owner == 0

    async def test_nothing_is_created_without_a_parent(self, store: MetadataStore) -> None:
        with pytest.raises(NoNodeError):
            await store.create("/base/missing/a")

    async def test_node_is_created_once(self, store: MetadataStore) -> None:
        await store.create("/base/a", b"first")
        with pytest.raises(NodeExistsError):
            await store.create("/base/a", b"second")
        assert (await store.get("/base/a"))[0] == b"first"

    @pytest.mark.parametrize("path", ["", "base", "/base/", "/base//a", "/base/./a", "/base/../a", "/base/a\0b"])
    async def test_impossible_paths_are_refused(self, store: MetadataStore, path: str) -> None:
        with pytest.raises(InvalidPathError):
            await store.create(path)
        with pytest.raises(InvalidPathError):
            await store.get(path)
        with pytest.raises(InvalidPathError):
            await store.exists(path)

    async def test_names_may_be_any_text(self, store: MetadataStore) -> None:
        # Within ZooKeeper's limits: no control characters, nothing that Java needs two characters for.
        await store.create("/base/Ümläut. %2F漢字")
        assert await store.children("/base") == ["Ümläut. %2F漢字"]

    async def test_set_counts_the_version_up(self, store: MetadataStore) -> None:
        await store.create("/base/a")
        first = await store.set("/base/a", b"x")
        second = await store.set("/base/a", b"yy", version=1)
        assert (first.version, second.version) == (1, 2)
        assert second.czxid < first.mzxid < second.mzxid
        assert second.data_length == 2
        assert await store.get("/base/a") == (b"yy", second)

    async def test_set_of_another_version_changes_nothing(self, store: MetadataStore) -> None:
        await store.create("/base/a", b"old")
        with pytest.raises(BadVersionError):
            await store.set("/base/a", b"new", version=1)
        assert (await store.get("/base/a"))[0] == b"old"

    async def test_set_wants_a_node(self, store: MetadataStore) -> None:
        with pytest.raises(NoNodeError):
            await store.set("/base/a", b"x")

    async def test_deleted_node_is_gone(self, store: MetadataStore) -> None:
        await store.create("/base/a")
        await store.delete("/base/a", version=0)
        assert await store.exists("/base/a") is None
        with pytest.raises(NoNodeError):
            await store.get("/base/a")
        with pytest.raises(NoNodeError):
            await store.delete("/base/a")

    async def test_delete_of_another_version_changes_nothing(self, store: MetadataStore) -> None:
        await store.create("/base/a")
        with pytest.raises(BadVersionError):
            await store.delete("/base/a", version=3)
        assert await store.exists("/base/a") is not None

    async def test_node_with_children_is_not_deleted(self, store: MetadataStore) -> None:
        await store.create("/base/a")
        await store.create("/base/a/b")
        with pytest.raises(NotEmptyError):
            await store.delete("/base/a")
        await store.delete("/base/a/b")
        await store.delete("/base/a")

    async def test_version_starts_again_when_a_node_is_made_anew(self, store: MetadataStore) -> None:
        await store.create("/base/a")
        changed = await store.set("/base/a", b"x")
        await store.delete("/base/a")
        await store.create("/base/a")
        _, stat = await store.get("/base/a")
        assert stat.version == 0
        assert stat.czxid > changed.mzxid

    async def test_children_are_names_in_order(self, store: MetadataStore) -> None:
        for name in ("b", "a", "c"):
            await store.create(f"/base/{name}")
        await store.create("/base/a/deeper")
        assert await store.children("/base") == ["a", "b", "c"]
        assert await store.children("/base/b") == []
        with pytest.raises(NoNodeError):
            await store.children("/base/missing")

    async def test_parent_counts_children_that_come_and_go(self, store: MetadataStore) -> None:
        await store.create("/base/a")
        await store.create("/base/b")
        await store.delete("/base/a")
        stat = await store.exists("/base")
        assert stat is not None
        assert (stat.num_children, stat.cversion, stat.version) == (1, 3, 0)
        assert stat.pzxid > stat.mzxid

    # -- ephemeral and sequential nodes

    async def test_ephemeral_node_names_its_session(self, store: MetadataStore) -> None:
        await store.create("/base/a", ephemeral=True)
        _, stat = await store.get("/base/a")
        assert stat.ephemeral_owner == store.session_id != 0

    async def test_ephemeral_node_has_no_children(self, store: MetadataStore) -> None:
        await store.create("/base/a", ephemeral=True)
        with pytest.raises(NoChildrenForEphemeralsError):
            await store.create("/base/a/b")

    async def test_ephemerals_go_with_a_session_that_closes(self, stores: Stores) -> None:
        first = await stores.open()
        await first.create("/kept")
        await first.create("/kept/gone", ephemeral=True)
        await first.close()
        second = await stores.open()
        assert await second.children("/kept") == []
        await second.close()

    async def test_ephemerals_go_with_a_session_that_dies(self, stores: Stores) -> None:
        first = await stores.open()
        await first.create("/kept", b"data")
        await first.create("/gone", ephemeral=True)
        await stores.end(first)
        second = await stores.open()
        assert await second.exists("/gone") is None
        assert (await second.get("/kept"))[0] == b"data"
        await second.close()

    async def test_sessions_have_names_of_their_own_and_zxids_only_rise(self, stores: Stores) -> None:
        seen: list[tuple[int, int]] = []
        for number in range(3):
            store = await stores.open()
            await store.create(f"/node-{number}", ephemeral=number == 1)
            _, stat = await store.get(f"/node-{number}")
            seen.append((stat.czxid, store.session_id))
            await (stores.end(store) if number == 0 else store.close())
        zxids = [zxid for zxid, _ in seen]
        assert zxids == sorted(set(zxids))
        assert len({session_id for _, session_id in seen}) == 3

    async def test_sequential_names_rise_and_never_come_again(self, store: MetadataStore) -> None:
        first = await store.create("/base/n_", sequential=True)
        await store.delete(first)
        await store.create("/base/between")
        second = await store.create("/base/n_", sequential=True, ephemeral=True)
        assert (first, second) == ("/base/n_0000000000", "/base/n_0000000002")
        assert await store.create("/base/", sequential=True) == "/base/0000000003"

    # -- multi

    async def test_multi_answers_each_operation(self, store: MetadataStore) -> None:
        created, changed, checked, deleted = await store.multi(
            [
                Create("/base/n_", b"x", sequential=True),
                SetData("/base/n_0000000000", b"y", 0),
                Check("/base/n_0000000000", 1),
                Delete("/base/n_0000000000", 1),
            ]
        )
        assert created == CreateResult("/base/n_0000000000")
        assert isinstance(changed, SetDataResult)
        assert changed.stat.version == 1
        assert changed.stat.czxid == changed.stat.mzxid
        assert (checked, deleted) == (CheckResult(), DeleteResult())
        assert await store.children("/base") == []

    async def test_multi_is_all_or_nothing(self, store: MetadataStore) -> None:
        await store.create("/base/a", b"old")
        before = await store.exists("/base")
        with pytest.raises(BadVersionError) as caught:
            await store.multi(
                [SetData("/base/a", b"new"), Create("/base/b"), Check("/base/a", 7), Delete("/base/missing")]
            )
        assert caught.value.operation_index == 2
        assert (await store.get("/base/a"))[0] == b"old"
        assert await store.exists("/base") == before

    @pytest.mark.parametrize(
        ("operation", "error"),
        [
            (Check("/base/missing", 0), NoNodeError),
            (Check("/base", 4), BadVersionError),
            (Create("/base"), NodeExistsError),
            (SetData("/base/missing", b""), NoNodeError),
            (Delete("/base", 4), BadVersionError),
        ],
    )
    async def test_multi_fails_as_its_operation_does(
        self, store: MetadataStore, operation: Check | Create | SetData | Delete, error: type[MetadataStoreError]
    ) -> None:
        with pytest.raises(error) as caught:
            await store.multi([Create("/base/first"), operation])
        assert caught.value.operation_index == 1
        assert await store.exists("/base/first") is None

    async def test_check_of_any_version_wants_the_node_only(self, store: MetadataStore) -> None:
        assert await store.multi([Check("/base", ANY_VERSION)]) == [CheckResult()]

    # -- order

    async def test_results_come_in_the_order_of_the_calls(self, store: MetadataStore) -> None:
        order: list[str] = []
        futures: list[asyncio.Future[object]] = [
            asyncio.ensure_future(operation)
            for operation in (
                store.create("/base/a"),
                store.get("/base/a"),
                store.create("/base/a"),
                store.set("/base/a", b"x"),
                store.children("/base"),
                store.delete("/base/a"),
                store.exists("/base/a"),
            )
        ]
        for name, future in zip("abcdefg", futures, strict=True):
            future.add_done_callback(partial(_note, order, name))
        results = await asyncio.gather(*futures, return_exceptions=True)
        assert order == list("abcdefg")
        assert isinstance(results[2], NodeExistsError)
        assert results[4] == ["a"]
        assert results[6] is None

    # -- watches

    async def test_data_watch_is_told_once(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.get("/base", watcher)
        await store.set("/base", b"1")
        await store.set("/base", b"2")
        assert watcher.told == [(EventType.DATA_CHANGED, "/base")]

    async def test_data_watch_is_told_of_deletion(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.create("/base/a")
        await store.get("/base/a", watcher)
        await store.delete("/base/a")
        assert watcher.told == [(EventType.DELETED, "/base/a")]

    async def test_data_watch_is_not_told_of_children(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.get("/base", watcher)
        await store.create("/base/a")
        assert watcher.told == []

    async def test_watch_of_a_missing_node_is_set_by_exists_alone(self, store: MetadataStore) -> None:
        by_exists, by_get, by_children = Watcher(), Watcher(), Watcher()
        assert await store.exists("/base/a", by_exists) is None
        with pytest.raises(NoNodeError):
            await store.get("/base/a", by_get)
        with pytest.raises(NoNodeError):
            await store.children("/base/a", by_children)
        await store.create("/base/a")
        await store.set("/base/a", b"x")
        await store.create("/base/a/b")
        assert by_exists.told == [(EventType.CREATED, "/base/a")]
        assert by_get.told == by_children.told == []

    async def test_child_watch_is_told_of_creations_and_deletions_but_not_of_data(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.create("/base/a")
        await store.children("/base", watcher)
        await store.set("/base/a", b"x")
        await store.set("/base", b"x")
        assert watcher.told == []
        await store.delete("/base/a")
        assert watcher.told == [(EventType.CHILDREN_CHANGED, "/base")]
        await store.children("/base", watcher)
        await store.create("/base/b")
        assert watcher.told == [(EventType.CHILDREN_CHANGED, "/base")] * 2

    async def test_child_watch_is_told_when_its_own_node_is_deleted(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.create("/base/a")
        await store.children("/base/a", watcher)
        await store.delete("/base/a")
        assert watcher.told == [(EventType.DELETED, "/base/a")]

    async def test_one_watch_on_data_and_children_is_told_of_deletion_once(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.create("/base/a")
        await store.get("/base/a", watcher)
        await store.children("/base/a", watcher)
        await store.delete("/base/a")
        assert watcher.told == [(EventType.DELETED, "/base/a")]

    async def test_watch_set_twice_is_told_once(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.get("/base", watcher)
        await store.exists("/base", watcher)
        await store.set("/base", b"x")
        assert watcher.told == [(EventType.DATA_CHANGED, "/base")]

    async def test_refused_operations_fire_no_watch(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.get("/base", watcher)
        await store.children("/base", watcher)
        with pytest.raises(NoNodeError):
            await store.multi([SetData("/base", b"x"), Create("/base/a"), Delete("/base/missing")])
        assert watcher.told == []

    async def test_multi_tells_of_each_change_in_order(self, store: MetadataStore) -> None:
        watcher = Watcher()
        await store.exists("/base/a", watcher)
        await store.children("/base", watcher)
        await store.get("/base", watcher)
        await store.multi([Create("/base/a"), SetData("/base", b"x")])
        assert watcher.told == [
            (EventType.CREATED, "/base/a"),
            (EventType.CHILDREN_CHANGED, "/base"),
            (EventType.DATA_CHANGED, "/base"),
        ]

    async def test_event_comes_before_the_result_of_its_operation(self, store: MetadataStore) -> None:
        order: list[str] = []
        await store.get("/base", lambda event: order.append(event.type.value))
        change = store.set("/base", b"x")
        change.add_done_callback(lambda _: order.append("set"))
        read = store.get("/base")
        read.add_done_callback(lambda _: order.append("get"))
        await asyncio.gather(change, read)
        assert order == ["data changed", "set", "get"]

    async def test_watch_set_after_a_change_is_not_told_of_it(self, store: MetadataStore) -> None:
        watcher = Watcher()
        change = store.set("/base", b"x")
        await store.get("/base", watcher)
        await change
        assert watcher.told == []

    # -- the end

    async def test_closed_store_refuses_everything(self, stores: Stores) -> None:
        store = await stores.open()
        await store.close()
        for operation in (store.create("/a"), store.get("/"), store.multi([Create("/a")])):
            with pytest.raises(MetadataStoreError):
                await operation
        await store.close()

    async def test_operations_started_before_close_complete(self, stores: Stores) -> None:
        store = await stores.open()
        pending = store.create("/late", b"x")
        await store.close()
        assert await pending == "/late"
        again = await stores.open()
        assert (await again.get("/late"))[0] == b"x"
        await again.close()
