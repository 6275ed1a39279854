"""The model of ZooKeeper passes the tests of every store, and simulates lost connections and expired sessions."""

import asyncio
from collections.abc import Awaitable
from random import Random

import pytest
from pybroker.controller.tree.metadata_store import (
    ConnectionLossError,
    Create,
    EventType,
    MetadataStore,
    NodeExistsError,
    SessionEvent,
    SessionExpiredError,
    StoreClosedError,
    WatchEvent,
)
from simulation.machines.model_zookeeper import ModelStore, ModelZooKeeper
from support.in_process.metadata_store_suite import MetadataStoreSuite, Watcher, watches_survive_a_reconnection
from support.in_process.virtual_zookeeper import on_virtual_time

TIMEOUT_MS = 6_000


# -- the suite


class ModelStores:
    def __init__(self) -> None:
        self._zookeeper = ModelZooKeeper(asyncio.get_running_loop(), Random(7), lambda: 1_700_000_000_000)

    async def open(self) -> MetadataStore:
        return await self._zookeeper.open("client")

    async def end(self, store: MetadataStore) -> None:
        store.kill()
        self._zookeeper.expire(store.session_id)


@pytest.fixture
async def stores() -> ModelStores:
    return ModelStores()


class TestModelStore(MetadataStoreSuite):
    pass


# -- several sessions


def test_watch_fires_before_its_session_can_read_the_change() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        writer, reader = await zookeeper.open("writer"), await zookeeper.open("reader")
        await writer.create("/a", b"0")
        for number in range(1, 50):
            order: list[str] = []
            await reader.get("/a", lambda event, order=order: order.append(event.type.value))  # type: ignore[misc]
            change = writer.set("/a", b"%d" % number)
            data = b""
            while data != b"%d" % number:
                assert order == []
                data, _ = await reader.get("/a")
            assert order == ["data changed"]
            await change

    on_virtual_time(scenario)


def test_session_of_a_killed_client_lasts_until_its_timeout() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        loop = asyncio.get_running_loop()
        first, second = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS), await zookeeper.open("b")
        await first.create("/here", ephemeral=True)
        died = loop.time()
        first.kill()
        gone: asyncio.Future[WatchEvent] = loop.create_future()
        stat = await second.exists("/here", gone.set_result)
        assert stat is not None
        assert stat.ephemeral_owner == first.session_id
        assert (await gone).type is EventType.DELETED
        assert 6.0 <= loop.time() - died < 6.1
        assert zookeeper.live_sessions == [second.session_id]

    on_virtual_time(scenario)


def test_session_survives_a_cut_shorter_than_its_timeout() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS)
        events: list[SessionEvent] = []
        store.on_session_event(events.append)
        await store.create("/here", ephemeral=True)
        zookeeper.cut("a")
        await asyncio.sleep(5.9)
        zookeeper.heal("a")
        stat = await store.exists("/here")
        assert stat is not None
        assert events == [SessionEvent.DISCONNECTED, SessionEvent.CONNECTED]
        await asyncio.sleep(60)
        assert zookeeper.live_sessions == [store.session_id]

    on_virtual_time(scenario)


@pytest.mark.parametrize("silent", [False, True])
def test_session_cut_for_longer_than_its_timeout_expires_and_learns_it_on_reconnection(silent: bool) -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        cut, other = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS), await zookeeper.open("b")
        events: list[SessionEvent] = []
        cut.on_session_event(events.append)
        await cut.create("/here", ephemeral=True)
        zookeeper.cut("a", silent=silent)
        await asyncio.sleep(5.9)
        assert await other.exists("/here") is not None
        await asyncio.sleep(0.2)
        assert await other.exists("/here") is None
        waiting = cut.get("/")
        await asyncio.sleep(100)
        assert events == [SessionEvent.DISCONNECTED]
        zookeeper.heal("a")
        with pytest.raises(SessionExpiredError):
            await waiting
        assert events == [SessionEvent.DISCONNECTED, SessionEvent.EXPIRED]
        with pytest.raises(SessionExpiredError):
            await cut.get("/")
        again = await zookeeper.open("a")
        assert again.session_id != cut.session_id
        assert await again.exists("/here") is None

    on_virtual_time(scenario)


def test_silent_cut_that_heals_in_time_only_delays_operations() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        loop = asyncio.get_running_loop()
        store = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS)
        events: list[SessionEvent] = []
        store.on_session_event(events.append)
        began = loop.time()
        zookeeper.cut("a", silent=True)
        created = store.create("/a")
        loop.call_later(3.9, zookeeper.heal, "a")
        assert await created == "/a"
        assert loop.time() - began >= 3.9
        assert events == []

    on_virtual_time(scenario)


def test_silent_cut_is_noticed_after_two_thirds_of_the_timeout() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        loop = asyncio.get_running_loop()
        store = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS)
        began = loop.time()
        zookeeper.cut("a", silent=True)
        created = store.create("/a")
        with pytest.raises(ConnectionLossError):
            await created
        assert loop.time() - began == pytest.approx(4.0)
        zookeeper.heal("a")
        assert await store.exists("/a") is None

    on_virtual_time(scenario)


@pytest.mark.parametrize("silent", [True, False])
def test_session_counts_as_lost_when_nothing_came_from_the_server_for_the_timeout(silent: bool) -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS)
        for heals in (True, False):
            zookeeper.cut("a", silent=silent)
            await asyncio.sleep(TIMEOUT_MS / 1000 - 0.5)
            assert not store.is_session_lost
            if heals:
                zookeeper.heal("a")
                await store.exists("/a")
        await asyncio.sleep(1)
        assert store.is_session_lost
        zookeeper.heal("a")
        with pytest.raises(SessionExpiredError):
            await store.exists("/a")
        assert store.is_session_lost

    on_virtual_time(scenario)


# -- operations under way when a connection breaks


async def create_three_and_lose_the_answers(zookeeper: ModelZooKeeper) -> list[str]:
    """The outcome at the server of three creates that were in flight when the connection broke."""
    store = await zookeeper.open("a")
    creates = [store.create(f"/{name}") for name in "abc"]
    zookeeper.drop_connection("a")
    outcomes = await asyncio.gather(*creates, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ConnectionLossError] * 3
    return await store.children("/")


def test_operations_under_way_have_an_unknown_outcome_and_keep_their_order() -> None:
    seen: dict[str, None] = {}

    async def scenario(zookeeper: ModelZooKeeper) -> None:
        seen["".join(await create_three_and_lose_the_answers(zookeeper))] = None

    for seed in range(30):
        on_virtual_time(scenario, seed)
    assert set(seen) == {"", "a", "ab", "abc"}


def test_same_seed_gives_the_same_run() -> None:
    def trace(seed: int) -> list[object]:
        happened: list[object] = []

        async def scenario(zookeeper: ModelZooKeeper) -> None:
            loop = asyncio.get_running_loop()
            for _ in range(5):
                happened.append((loop.time(), await create_three_and_lose_the_answers(zookeeper)))
                zookeeper.stop()
                await asyncio.sleep(1)
                zookeeper.start()

        happened.append(on_virtual_time(scenario, seed).fired)
        return happened

    assert trace(3) == trace(3)
    assert trace(3) != trace(4)


def test_operations_started_while_disconnected_wait_for_the_connection() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store = await zookeeper.open("a")
        zookeeper.cut("a")
        created, read = store.create("/a", b"x"), store.get("/a")
        await asyncio.sleep(1)
        assert not created.done()
        zookeeper.heal("a")
        assert (await read)[0] == b"x"
        assert created.result() == "/a"

    on_virtual_time(scenario)


# -- watches and reconnection


def test_watches_survive_a_reconnection_and_report_missed_changes() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        async def cut() -> None:
            zookeeper.cut("a")

        store, other = await zookeeper.open("a"), await zookeeper.open("b")
        await watches_survive_a_reconnection(store, other, cut, lambda: zookeeper.heal("a"))

    on_virtual_time(scenario)


def test_reads_under_way_are_repeated_with_their_watches_after_a_reconnection() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store = await zookeeper.open("a")
        watcher = Watcher()
        read, write, names = store.get("/", watcher), store.create("/a"), store.children("/")
        zookeeper.drop_connection("a")
        with pytest.raises(ConnectionLossError):
            await write
        (_, stat), seen = await asyncio.gather(read, names)
        assert stat.num_children == len(seen)
        await store.set("/", b"x")
        assert watcher.told == [(EventType.DATA_CHANGED, "/")]

    for seed in range(10):
        on_virtual_time(scenario, seed)


# -- the server away


def test_restarted_server_gives_every_session_its_full_timeout_again() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS)
        dead = await zookeeper.open("dead", session_timeout_ms=TIMEOUT_MS)
        await store.create("/here", ephemeral=True)
        await dead.create("/dead", ephemeral=True)
        dead.kill()
        await asyncio.sleep(5)
        zookeeper.stop()
        await asyncio.sleep(100)
        zookeeper.start()
        assert await store.children("/") == ["dead", "here"]
        await asyncio.sleep(6)
        assert await store.children("/") == ["here"]

    on_virtual_time(scenario)


def test_opening_waits_for_a_server() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        loop = asyncio.get_running_loop()
        zookeeper.stop()
        loop.call_later(10, zookeeper.start)
        await zookeeper.open("a")
        assert loop.time() >= 10
        zookeeper.cut("b")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(zookeeper.open("b"), 20)
        zookeeper.heal("b")
        await asyncio.sleep(1)
        assert len(zookeeper.live_sessions) == 1

    on_virtual_time(scenario)


# -- ends


def test_close_without_a_connection_leaves_the_session_to_its_timeout() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store, other = await zookeeper.open("a", session_timeout_ms=TIMEOUT_MS), await zookeeper.open("b")
        await store.create("/here", ephemeral=True)
        zookeeper.cut("a")
        waiting = store.create("/never")
        await store.close()
        with pytest.raises(StoreClosedError):
            await waiting
        assert await other.children("/") == ["here"]
        await asyncio.sleep(6.1)
        assert await other.children("/") == []

    on_virtual_time(scenario)


def test_killed_client_receives_no_events() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        store, other = await zookeeper.open("a"), await zookeeper.open("b")
        watcher, events = Watcher(), list[SessionEvent]()
        await store.get("/", watcher)
        store.on_session_event(events.append)
        waiting = store.create("/perhaps")
        store.kill()
        await other.set("/", b"x")
        await asyncio.sleep(100)
        assert not waiting.done()
        assert (watcher.told, events) == ([], [])

    on_virtual_time(scenario)


def test_two_sessions_cannot_both_create_a_node() -> None:
    async def elect(store: ModelStore) -> bool:
        try:
            await store.multi([Create("/leader", ephemeral=True)])
        except NodeExistsError:
            return False
        return True

    async def scenario(zookeeper: ModelZooKeeper) -> None:
        stores = [await zookeeper.open(name) for name in "abc"]
        attempts: list[Awaitable[bool]] = [elect(store) for store in stores]
        assert sorted(await asyncio.gather(*attempts)) == [False, False, True]

    for seed in range(10):
        on_virtual_time(scenario, seed)
