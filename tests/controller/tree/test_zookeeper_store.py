"""The store on a real ZooKeeper passes the tests of every store; lost connections and sessions are tested here."""

import asyncio
import errno
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any, NoReturn

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import WatchedEvent
from pybroker.config.load import load_config
from pybroker.controller.tree import zookeeper_connection
from pybroker.controller.tree.metadata_store import (
    ConnectionLossError,
    EventType,
    MetadataStore,
    NotAuthorizedError,
    SessionEvent,
    SessionExpiredError,
    StoreUnreachableError,
)
from pybroker.controller.tree.zookeeper_connection import KazooHandler
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from support.clients.tcp_gate import TcpGate
from support.in_process.metadata_store_suite import MetadataStoreSuite, Watcher, watches_survive_a_reconnection
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.ports import free_port
from support.processes.zookeeper_stores import ZooKeeperStores, end_session, settings_of

ROOTS = count()
LATE_S = 0.3
"""Long enough for a change to be told that nothing holds back."""


@pytest.fixture
def stores(zookeeper: ZooKeeperProcess) -> ZooKeeperStores:
    return ZooKeeperStores(zookeeper.connect)


class TestZooKeeperStore(MetadataStoreSuite):
    pass


# -- lost connections


@pytest.fixture
async def gate(zookeeper: ZooKeeperProcess) -> AsyncIterator[TcpGate]:
    """A TCP gate between a store and ZooKeeper."""
    gate = await TcpGate.open("127.0.0.1", zookeeper.port)
    yield gate
    await gate.close()


@pytest.fixture
def root() -> str:
    return f"/own/{next(ROOTS)}"


class Events:
    """The events of a session, which a test can wait for."""

    def __init__(self, store: MetadataStore) -> None:
        self._queue: asyncio.Queue[SessionEvent] = asyncio.Queue()
        store.on_session_event(self._queue.put_nowait)

    async def next(self) -> SessionEvent:
        return await self._queue.get()


async def test_session_goes_on_in_a_new_connection(gate: TcpGate, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(gate.address, root))
    events = Events(store)
    await store.create("/here", ephemeral=True)
    gate.cut()
    assert await events.next() is SessionEvent.DISCONNECTED
    waiting = store.create("/later")
    gate.heal()
    assert await events.next() is SessionEvent.CONNECTED
    assert await waiting == "/later"
    stat = await store.exists("/here")
    assert stat is not None
    assert stat.ephemeral_owner == store.session_id
    await store.close()


async def test_operations_under_way_when_the_connection_breaks_have_an_unknown_outcome(
    gate: TcpGate, root: str
) -> None:
    store = await ZooKeeperStore.open(settings_of(gate.address, root, max_in_flight=3))
    events = Events(store)
    gate.hold()
    under_way = [store.create(f"/{number}") for number in range(2)]
    read = store.children("/")
    later = [store.create(f"/{number}") for number in range(2, 4)]
    gate.cut()
    assert await events.next() is SessionEvent.DISCONNECTED
    outcomes = await asyncio.gather(*under_way, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ConnectionLossError] * 2
    assert not read.done()
    gate.heal()
    # The read is repeated before operations that waited for the new connection.
    assert await read == []
    assert await asyncio.gather(*later) == ["/2", "/3"]
    assert await store.children("/") == ["2", "3"]
    await store.close()


async def test_watches_survive_a_reconnection_and_report_missed_changes(
    zookeeper: ZooKeeperProcess, gate: TcpGate, root: str
) -> None:
    store = await ZooKeeperStore.open(settings_of(gate.address, root))
    other = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    events = Events(store)

    async def cut() -> None:
        gate.cut()
        await events.next()

    await watches_survive_a_reconnection(store, other, cut, gate.heal)
    await store.close()
    await other.close()


async def test_no_change_is_missed_over_many_reconnections(
    zookeeper: ZooKeeperProcess, gate: TcpGate, root: str
) -> None:
    """A reader that reads again at each watch event ends with the last value, however often the connection is cut."""
    reader = await ZooKeeperStore.open(settings_of(gate.address, root))
    writer = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    await writer.create("/a", b"0")
    last_seen: list[bytes] = []
    changed = asyncio.Event()

    async def follow() -> None:
        while not last_seen or last_seen[-1] != b"last":
            changed.clear()
            data, _ = await reader.get("/a", lambda _: changed.set())
            last_seen.append(data)
            if data != b"last":
                await changed.wait()

    following = asyncio.create_task(follow())
    for number in range(20):
        await writer.set("/a", b"%d" % number)
        gate.cut()
        await writer.set("/a", b"-%d" % number)
        gate.heal()
    await writer.set("/a", b"last")
    await following
    await reader.close()
    await writer.close()


async def test_watch_reports_a_change_directly_after_its_read(
    zookeeper: ZooKeeperProcess, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop's thread is late: ZooKeeper reports the change before kazoo knows where to deliver the response."""
    writer = KazooClient(zookeeper.connect)
    writer.start()
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    await store.create("/parent")
    ask = KazooClient.get_children_async

    def ask_and_be_late(client: KazooClient, path: str, watch: Callable[[WatchedEvent], None], **options: bool) -> Any:
        told = threading.Event()

        def tell(event: WatchedEvent) -> None:
            watch(event)
            told.set()

        answer = ask(client, path, tell, **options)
        answer.wait()
        writer.create(f"{path}/child")
        told.wait(LATE_S)
        return answer

    monkeypatch.setattr(KazooClient, "get_children_async", ask_and_be_late)
    watcher = Watcher()
    assert await store.children("/parent", watcher) == []
    await store.get("/parent")  # the watch event comes before this response
    assert watcher.told == [(EventType.CHILDREN_CHANGED, "/parent")]
    await store.close()
    writer.stop()
    writer.close()


# -- the end of a session


@pytest.mark.parametrize(("asked_ms", "granted_ms"), [(100, 1_000), (5_000, 5_000), (60_000, 10_000)])
async def test_session_lasts_for_as_long_as_the_server_grants_it(
    zookeeper: ZooKeeperProcess, root: str, asked_ms: int, granted_ms: int
) -> None:
    """A server grants from two to twenty of its ticks."""
    store = await ZooKeeperStore.open(ZooKeeperSettings(zookeeper.connect, root, asked_ms, 30_000))
    assert store.session_timeout_ms == granted_ms
    await store.close()


async def test_expired_session_is_reported_and_not_reopened(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    events = Events(store)
    await store.create("/here", ephemeral=True)
    await end_session(store, zookeeper.connect)
    seen = [await events.next()]
    while seen[-1] is not SessionEvent.EXPIRED:
        seen.append(await events.next())
    with pytest.raises(SessionExpiredError):
        await store.get("/")
    again = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    assert again.session_id != store.session_id
    assert await again.exists("/here") is None
    await again.close()
    await store.close()


async def test_open_fails_when_the_session_expires_at_once(
    zookeeper: ZooKeeperProcess, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens when the process was suspended meanwhile. No listener is registered yet that would open another
    session.
    """
    connected = ZooKeeperStore._connected

    def connected_and_lost(store: ZooKeeperStore) -> None:
        connected(store)
        store._lost(is_refused=False)

    monkeypatch.setattr(ZooKeeperStore, "_connected", connected_and_lost)
    for at in ("", root):
        with pytest.raises(SessionExpiredError):
            await ZooKeeperStore.open(settings_of(zookeeper.connect, at))


async def test_session_that_expired_while_disconnected_is_noticed_on_reconnection(
    zookeeper: ZooKeeperProcess, gate: TcpGate, root: str
) -> None:
    store = await ZooKeeperStore.open(settings_of(gate.address, root))
    events = Events(store)
    gate.cut()
    assert await events.next() is SessionEvent.DISCONNECTED
    waiting = store.get("/")
    await end_session(store, zookeeper.connect)
    gate.heal()
    assert await events.next() is SessionEvent.EXPIRED
    with pytest.raises(SessionExpiredError):
        await waiting
    await store.close()


async def test_session_counts_as_lost_when_nothing_came_from_zookeeper_for_the_timeout(
    zookeeper: ZooKeeperProcess, gate: TcpGate, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(zookeeper_connection, "monotonic", lambda: now_s)
    store = await ZooKeeperStore.open(settings_of(gate.address, root))
    events = Events(store)

    def is_lost() -> bool:
        return store.is_session_lost

    assert not is_lost()
    now_s += store.session_timeout_ms / 1000
    assert is_lost()
    await store.exists("/")
    assert not is_lost()
    gate.cut()
    assert await events.next() is SessionEvent.DISCONNECTED
    now_s += store.session_timeout_ms / 1000
    assert is_lost()
    gate.heal()
    assert await events.next() is SessionEvent.CONNECTED
    assert not is_lost()
    await end_session(store, zookeeper.connect)
    while await events.next() is not SessionEvent.EXPIRED:
        pass
    assert is_lost()
    await store.close()


async def test_killed_store_keeps_its_session_and_reports_no_event(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    other = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    told: list[SessionEvent] = []
    store.on_session_event(told.append)
    await store.create("/here", ephemeral=True)
    waiting = store.create("/perhaps")
    store.kill()
    gone: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    assert await other.exists("/here", gone.set_result) is not None
    await gone  # when the session has timed out
    assert not waiting.done()
    assert told == []
    await other.close()


async def test_close_without_a_connection_ends_at_once(gate: TcpGate, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(gate.address, root))
    events = Events(store)
    gate.cut()
    await events.next()
    await store.close()


# -- the start


async def test_start_without_zookeeper_ends_with_one_line() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = ZooKeeperSettings(address, "", session_timeout_ms=5_000, connection_timeout_ms=300)
    with pytest.raises(StoreUnreachableError) as caught:
        await ZooKeeperStore.open(settings)
    assert f"{address} within 300 ms" in str(caught.value)
    assert "Connection refused" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not caught.value.was_reached


async def test_start_with_a_server_that_grants_no_session_fails_with_a_reason() -> None:
    """The server has lost its ensemble, or speaks TLS on a plain port."""

    async def turn_away(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(turn_away, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    settings = ZooKeeperSettings(f"{host}:{port}", "", session_timeout_ms=5_000, connection_timeout_ms=300)
    with pytest.raises(StoreUnreachableError, match="a server was reached and gave none: "):
        await ZooKeeperStore.open(settings)
    server.close()


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("create_socket_pair", OSError(errno.EMFILE, "Too many open files")),
        ("spawn", RuntimeError("can't start new thread")),
    ],
)
async def test_open_raises_a_retriable_error_when_resources_are_exhausted(
    zookeeper: ZooKeeperProcess, root: str, step: str, error: Exception
) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KazooHandler, step, fail)
        with pytest.raises(StoreUnreachableError, match=str(error.args[-1])):
            await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    await store.close()


async def test_start_with_unknown_host_names_fails_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    settings = ZooKeeperSettings("zk1:2181,zk2:2181", "", session_timeout_ms=5_000, connection_timeout_ms=300)
    with pytest.raises(StoreUnreachableError, match=r"zk1:2181,zk2:2181 .*: no address is known by any of these names"):
        await ZooKeeperStore.open(settings)


def test_empty_entries_in_the_list_of_servers_are_skipped() -> None:
    config = load_config("zookeeper.connect=, zk1:2181 ,,zk2, [::1]:2182,/kafka")
    settings = ZooKeeperSettings.from_config(config)
    assert (settings.servers, settings.root) == ("zk1:2181,zk2,[::1]:2182", "/kafka")


async def test_chroot_is_created_and_hides_the_rest_of_zookeeper(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, f"{root}/deep/down"))
    await store.create("/a", b"x")
    assert await store.children("/") == ["a"]
    bare = await ZooKeeperStore.open(settings_of(zookeeper.connect))
    assert (await bare.get(f"{root}/deep/down/a"))[0] == b"x"
    await bare.close()
    await store.close()


async def test_chroot_is_created_despite_lost_connections(
    zookeeper: ZooKeeperProcess, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ZooKeeperStore.create
    lost: list[str] = []

    async def create_and_lose(store: ZooKeeperStore, path: str, data: bytes) -> str:
        made = await create(store, path, data)
        if path not in lost:
            lost.append(path)
            raise ConnectionLossError(path, "the connection broke before the response")
        return made

    monkeypatch.setattr(ZooKeeperStore, "create", create_and_lose)
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, f"{root}/deep"))
    assert lost[-1] == f"{root}/deep"
    assert await store.children("/") == []
    await store.close()


def test_kazoo_is_imported_only_by_brokers_on_zookeeper() -> None:
    code = "import sys, pybroker.broker.server; assert not [name for name in sys.modules if name.startswith('kazoo')]"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- access control


async def test_nodes_with_acls_are_changed_by_their_owner_and_read_by_all_but_the_secret_ones(
    zookeeper: ZooKeeperProcess, root: str
) -> None:
    secured = settings_of(zookeeper.connect, root, set_acl=True, credentials="kafka:secret")
    store = await ZooKeeperStore.open(secured)
    for path in ("/config", "/config/users", "/consumers", "/topic"):
        await store.create(path, b"x")
    await store.close()
    stranger = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    assert (await stranger.get("/topic"))[0] == b"x"
    with pytest.raises(NotAuthorizedError):
        await stranger.set("/topic", b"y")
    with pytest.raises(NotAuthorizedError):
        await stranger.create("/topic/a")
    with pytest.raises(NotAuthorizedError):
        await stranger.get("/config/users")
    await stranger.create("/consumers/mine")
    await stranger.close()
    again = await ZooKeeperStore.open(secured)
    await again.set("/topic", b"y")
    assert (await again.get("/config/users"))[0] == b"x"
    await again.close()
