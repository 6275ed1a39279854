"""The store in memory passes the tests of every store; several sessions, cuts, silence and threads are tested here."""

import asyncio
import threading
import time

import pytest
from pybroker.controller.tree.memory.memory_store import MemoryStore
from pybroker.controller.tree.memory.memory_tree import MemoryTree
from pybroker.controller.tree.memory.tree_link import TreeLink
from pybroker.controller.tree.metadata_store import (
    BadVersionError,
    ConnectionLossError,
    EventType,
    MetadataStore,
    SessionEvent,
    SessionExpiredError,
    StoreClosedError,
    StoreUnreachableError,
)
from support.in_process.metadata_store_suite import MetadataStoreSuite, Watcher, watches_survive_a_reconnection
from support.in_process.virtual_zookeeper import on_virtual_loop

TIMEOUT_MS = 6_000
CONNECTION_TIMEOUT_MS = 30_000


async def open_store(link: TreeLink, *, is_guarded: bool = False) -> MemoryStore:
    return await MemoryStore.open(
        link, session_timeout_ms=TIMEOUT_MS, connection_timeout_ms=CONNECTION_TIMEOUT_MS, is_guarded=is_guarded
    )


def events_of(store: MetadataStore) -> list[SessionEvent]:
    events: list[SessionEvent] = []
    store.on_session_event(events.append)
    return events


class MemoryStores:
    def __init__(self) -> None:
        self._link = TreeLink(MemoryTree(lambda: 1_700_000_000_000))

    async def open(self) -> MetadataStore:
        return await open_store(self._link)

    async def end(self, store: MetadataStore) -> None:
        store.kill()
        self._link.tree.expire(store.session_id)


@pytest.fixture
async def stores() -> MemoryStores:
    return MemoryStores()


class TestMemoryStore(MetadataStoreSuite):
    pass


# -- the end of sessions


@pytest.mark.parametrize("is_guarded", [True, False])
def test_session_of_a_killed_store_ends_at_once_if_guarded_and_else_after_its_timeout(is_guarded: bool) -> None:
    async def scenario(tree: MemoryTree) -> None:
        loop = asyncio.get_running_loop()
        first, second = await open_store(TreeLink(tree), is_guarded=is_guarded), await open_store(TreeLink(tree))
        await first.create("/here", ephemeral=True)
        gone: asyncio.Future[object] = loop.create_future()
        assert await second.exists("/here", gone.set_result) is not None
        killed_s, waiting = loop.time(), first.create("/perhaps")
        first.kill()
        await gone
        assert loop.time() - killed_s == pytest.approx(0 if is_guarded else TIMEOUT_MS / 1000, abs=0.01)
        assert not waiting.done()

    on_virtual_loop(scenario)


def test_session_lives_as_long_as_its_loop_turns() -> None:
    async def scenario(tree: MemoryTree) -> None:
        store = await open_store(TreeLink(tree))
        await store.create("/here", ephemeral=True)
        await asyncio.sleep(100)
        assert await store.exists("/here") is not None
        assert not store.is_session_lost

    on_virtual_loop(scenario)


def test_session_whose_owner_was_silent_too_long_is_over_even_if_nobody_else_looked() -> None:
    now_s = 0.0

    async def scenario() -> None:
        nonlocal now_s
        store = await open_store(TreeLink(MemoryTree(lambda: 1, lambda: now_s)))
        events = events_of(store)
        now_s += TIMEOUT_MS / 1000
        assert store.is_session_lost
        with pytest.raises(SessionExpiredError):
            await store.get("/")
        assert events == [SessionEvent.EXPIRED]
        with pytest.raises(SessionExpiredError):
            await store.get("/")

    asyncio.run(scenario())


async def test_expired_session_fires_no_watch_and_a_new_one_sees_no_ephemeral_node() -> None:
    link = TreeLink(MemoryTree(lambda: 1))
    store = await open_store(link)
    events, watcher = events_of(store), Watcher()
    await store.create("/here", ephemeral=True)
    await store.get("/here", watcher)
    link.tree.expire(store.session_id)
    with pytest.raises(SessionExpiredError):
        await store.get("/here")
    assert events == [SessionEvent.EXPIRED]
    assert watcher.told == []
    again = await open_store(link)
    assert await again.exists("/here") is None
    await again.close()


# -- cuts


def test_cut_that_heals_in_time_only_delays_operations_and_events() -> None:
    async def scenario(tree: MemoryTree) -> None:
        loop, link = asyncio.get_running_loop(), TreeLink(tree)
        store, other = await open_store(link), await open_store(TreeLink(tree))
        events, watcher = events_of(store), Watcher()
        await store.exists("/a", watcher)
        began_s = loop.time()
        link.cut()
        await asyncio.sleep(0)
        created = store.create("/b")
        await other.create("/a")
        loop.call_later(3.9, link.heal)
        await asyncio.sleep(3.8)
        assert watcher.told == []
        assert await created == "/b"
        assert watcher.told == [(EventType.CREATED, "/a")]
        assert loop.time() - began_s >= 3.9
        assert events == []

    on_virtual_loop(scenario)


def test_cut_is_noticed_after_two_thirds_of_the_timeout() -> None:
    async def scenario(tree: MemoryTree) -> None:
        loop, link = asyncio.get_running_loop(), TreeLink(tree)
        store = await open_store(link)
        events = events_of(store)
        began_s = loop.time()
        link.cut()
        await asyncio.sleep(0)
        created, read = store.create("/a"), store.children("/")
        with pytest.raises(ConnectionLossError):
            await created
        assert loop.time() - began_s == pytest.approx(4.0)
        later = store.create("/b")
        await asyncio.sleep(1)
        assert events == [SessionEvent.DISCONNECTED]
        assert not read.done()
        assert not later.done()
        link.heal()
        assert await read == []
        assert await later == "/b"
        assert events == [SessionEvent.DISCONNECTED, SessionEvent.CONNECTED]

    on_virtual_loop(scenario)


@pytest.mark.parametrize("is_broken", [False, True])
def test_session_cut_off_longer_than_its_timeout_expires_and_learns_it_when_healed(is_broken: bool) -> None:
    async def scenario(tree: MemoryTree) -> None:
        link = TreeLink(tree)
        store, other = await open_store(link, is_guarded=True), await open_store(TreeLink(tree))
        events = events_of(store)
        await store.create("/here", ephemeral=True)
        (link.break_off if is_broken else link.cut)()
        await asyncio.sleep(5.9)
        assert await other.exists("/here") is not None
        lost = [store.is_session_lost]
        await asyncio.sleep(0.2)
        assert await other.exists("/here") is None
        lost.append(store.is_session_lost)
        assert lost == [False, True]
        waiting = store.get("/")
        await asyncio.sleep(100)
        assert events == [SessionEvent.DISCONNECTED]
        (link.restore if is_broken else link.heal)()
        with pytest.raises(SessionExpiredError):
            await waiting
        assert events == [SessionEvent.DISCONNECTED, SessionEvent.EXPIRED]

    on_virtual_loop(scenario)


def test_watches_survive_a_reconnection_and_report_missed_changes() -> None:
    async def scenario(tree: MemoryTree) -> None:
        link = TreeLink(tree)

        async def cut() -> None:
            link.break_off()
            await asyncio.sleep(0)

        store, other = await open_store(link), await open_store(TreeLink(tree))
        await watches_survive_a_reconnection(store, other, cut, link.restore)

    on_virtual_loop(scenario)


def test_suspended_tree_expires_nothing_and_then_gives_each_session_its_whole_timeout() -> None:
    async def scenario(tree: MemoryTree) -> None:
        link = TreeLink(tree)
        store, dead = await open_store(link), await open_store(TreeLink(tree))
        await store.create("/here", ephemeral=True)
        await dead.create("/dead", ephemeral=True)
        dead.kill()
        await asyncio.sleep(5)
        tree.suspend()
        link.break_off()
        await asyncio.sleep(100)
        tree.unsuspend()
        link.restore()
        assert await store.children("/") == ["dead", "here"]
        await asyncio.sleep(5.9)
        assert await store.children("/") == ["dead", "here"]
        await asyncio.sleep(0.2)
        assert await store.children("/") == ["here"]

    on_virtual_loop(scenario)


def test_open_waits_for_the_link_and_fails_when_that_takes_too_long() -> None:
    async def scenario(tree: MemoryTree) -> None:
        loop, link = asyncio.get_running_loop(), TreeLink(tree)
        link.cut()
        loop.call_later(10, link.heal)
        store = await open_store(link)
        assert loop.time() >= 10
        await store.close()
        link.cut()
        with pytest.raises(StoreUnreachableError, match=r"no session with the metadata store .* within 30000 ms"):
            await open_store(link)

    on_virtual_loop(scenario)


def test_close_of_a_store_that_is_cut_off_leaves_its_session_to_the_timeout() -> None:
    async def scenario(tree: MemoryTree) -> None:
        link = TreeLink(tree)
        store, other = await open_store(link), await open_store(TreeLink(tree))
        await store.create("/here", ephemeral=True)
        link.cut()
        await asyncio.sleep(0)
        waiting = store.create("/never")
        await store.close()
        with pytest.raises(StoreClosedError):
            await waiting
        assert await other.children("/") == ["here"]
        await asyncio.sleep(6.1)
        assert await other.children("/") == []

    on_virtual_loop(scenario)


# -- threads


def test_stores_on_several_threads_lose_no_change_and_hear_of_each_before_they_read_it() -> None:
    tree = MemoryTree(lambda: 1)
    failures: list[str] = []

    async def count(rounds: int) -> None:
        store = await open_store(TreeLink(tree))
        for _ in range(rounds):
            while True:
                told: list[object] = []
                data, stat = await store.get("/count", told.append)
                try:
                    after = await store.set("/count", b"%d" % (int(data) + 1), stat.version)
                except BadVersionError:
                    if not told:
                        failures.append("the change of another was read before its event")
                    continue
                if not told:
                    failures.append(f"version {after.version} was answered before its event")
                break
        await store.close()

    async def prepare() -> None:
        store = await open_store(TreeLink(tree))
        await store.create("/count", b"0")
        await store.close()

    async def result() -> bytes:
        store = await open_store(TreeLink(tree))
        return (await store.get("/count"))[0]

    asyncio.run(prepare())
    threads = [threading.Thread(target=asyncio.run, args=(count(100),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert asyncio.run(result()) == b"400"


def test_session_of_a_loop_that_stands_still_expires_and_is_told_so_when_the_loop_goes_on() -> None:
    tree = MemoryTree(lambda: 1)
    began, held = threading.Event(), threading.Event()
    outcomes: list[object] = []

    async def stand_still() -> None:
        link = TreeLink(tree)
        store = await MemoryStore.open(link, session_timeout_ms=1_000, connection_timeout_ms=1_000)
        store.on_session_event(outcomes.append)
        await store.create("/here", ephemeral=True)
        began.set()
        held.wait()  # as a stopped process does
        outcomes.append(store.is_session_lost)
        try:
            await store.get("/here")
        except SessionExpiredError:
            outcomes.append("refused")

    async def look_on() -> None:
        store = await open_store(TreeLink(tree))
        gone: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        assert await store.exists("/here", gone.set_result) is not None
        since_s = time.monotonic()
        await gone
        assert time.monotonic() - since_s > 0.5
        held.set()
        await store.close()

    thread = threading.Thread(target=asyncio.run, args=(stand_still(),))
    thread.start()
    began.wait()
    asyncio.run(look_on())
    thread.join()
    assert outcomes == [True, SessionEvent.EXPIRED, "refused"]
