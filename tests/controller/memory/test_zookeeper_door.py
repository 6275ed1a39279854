"""Clients of ZooKeeper on a tree in memory: `ZooKeeperStore` through kazoo, Kafka's broker, and hostile connections."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kazoo.client import KazooClient
from kazoo.protocol import serialization as kazoo
from kazoo.security import OPEN_ACL_UNSAFE
from pybroker.controller.tree.memory import door_connection, memory_tree
from pybroker.controller.tree.memory.memory_store import MemoryStore
from pybroker.controller.tree.memory.tree_link import TreeLink
from pybroker.controller.tree.memory.wire_requests import OpCode
from pybroker.controller.tree.metadata_store import (
    EventType,
    SessionEvent,
    SessionExpiredError,
    StoreFullError,
    StoreWriteError,
)
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from support.clients.kept_records import read_all
from support.clients.tcp_gate import TcpGate
from support.in_process.metadata_store_suite import (
    MetadataStoreSuite,
    Watcher,
    kill_ends_the_session,
    watches_survive_a_reconnection,
)
from support.processes.kafka_process import KafkaProcess
from support.processes.served_tree import ServedTree
from support.processes.zookeeper_stores import ZooKeeperStores, end_session, settings_of
from support.processes.zookeeper_tree import read_tree


@pytest.fixture(scope="module")
def served() -> Iterator[ServedTree]:
    served = ServedTree()
    yield served
    served.close()


@pytest.fixture
def stores(served: ServedTree) -> ZooKeeperStores:
    return ZooKeeperStores(served.connect)


class TestZooKeeperStoreOnMemoryTree(MetadataStoreSuite):
    pass


# -- sessions


async def test_watches_survive_a_reconnection_and_report_missed_changes(served: ServedTree) -> None:
    gate = await TcpGate.open("127.0.0.1", served.port)
    store = await ZooKeeperStore.open(settings_of(gate.address, "/cut"))
    other = await ZooKeeperStore.open(settings_of(served.connect, "/cut"))
    disconnected = asyncio.Event()
    store.on_session_event(lambda event: disconnected.set() if event is SessionEvent.DISCONNECTED else None)

    async def cut() -> None:
        gate.cut()
        await disconnected.wait()

    await watches_survive_a_reconnection(store, other, cut, gate.heal)
    await store.close()
    await other.close()
    await gate.close()


async def test_expired_session_is_reported_and_its_credentials_are_refused(served: ServedTree) -> None:
    store = await ZooKeeperStore.open(settings_of(served.connect))
    events: asyncio.Queue[SessionEvent] = asyncio.Queue()
    store.on_session_event(events.put_nowait)
    await store.create("/expiring", ephemeral=True)
    served.tree.expire(store.session_id)
    while await events.get() is not SessionEvent.EXPIRED:
        pass
    with pytest.raises(SessionExpiredError):
        await store.get("/expiring")
    other = await ZooKeeperStore.open(settings_of(served.connect))
    assert await other.exists("/expiring") is None
    await other.close()


async def test_guard_process_ends_the_session_of_a_killed_store(served: ServedTree) -> None:
    store = await ZooKeeperStore.open(settings_of(served.connect, is_guarded=True))
    other = await ZooKeeperStore.open(settings_of(served.connect))
    await kill_ends_the_session(store, other)
    await other.close()


async def test_silent_client_loses_its_session(served: ServedTree) -> None:
    silent = connected(served, timeout_ms=1_000)
    session_id = silent[1]
    link = TreeLink(served.tree)
    store = await MemoryStore.open(link, session_timeout_ms=6_000, connection_timeout_ms=1_000)
    with closing(silent[0]) as connection:
        send(connection, 1, OpCode.CREATE, kazoo.Create("/silent", b"", OPEN_ACL_UNSAFE, 1).serialize())
        assert reply(connection)[0] == (1, 0)
        gone: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        stat = await store.exists("/silent", gone.set_result)
        assert stat is not None
        assert stat.ephemeral_owner == session_id
        await gone
        assert connection.recv(1) == b""
    await store.close()


async def test_store_in_memory_and_client_of_the_door_see_each_others_changes(served: ServedTree) -> None:
    inside = await MemoryStore.open(TreeLink(served.tree), session_timeout_ms=6_000, connection_timeout_ms=1_000)
    outside = await ZooKeeperStore.open(settings_of(served.connect))
    told_inside, told_outside = Watcher(), Watcher()
    await inside.exists("/shared", told_inside)
    await outside.exists("/shared", told_outside)
    await inside.create("/shared", b"x")
    assert (await outside.get("/shared", told_outside))[0] == b"x"
    await outside.set("/shared", b"y")
    assert (await inside.get("/shared"))[0] == b"y"
    assert told_inside.told == [(EventType.CREATED, "/shared")]
    assert told_outside.told == [(EventType.CREATED, "/shared"), (EventType.DATA_CHANGED, "/shared")]
    await inside.close()
    await outside.close()


async def test_session_moves_to_the_connection_that_resumes_it(served: ServedTree) -> None:
    store = await ZooKeeperStore.open(settings_of(served.connect))
    await store.create("/moving", ephemeral=True)
    store.kill()
    assert (await asyncio.to_thread(nodes_of, served)).count("moving") == 1
    await end_session(store, served.connect)
    assert "moving" not in await asyncio.to_thread(nodes_of, served)


def nodes_of(served: ServedTree) -> list[str]:
    client = KazooClient(served.connect)
    client.start()
    try:
        return [*client.get_children("/")]
    finally:
        client.stop()
        client.close()


def test_door_serves_what_kazoo_alone_asks(served: ServedTree) -> None:
    client = KazooClient(served.connect, auth_data=[("digest", "user:secret")])
    client.start()
    path, stat = client.create("/by-kazoo", b"x", include_data=True)
    assert (path, stat.dataLength) == ("/by-kazoo", 1)
    acls, _ = client.get_acls(path)
    assert [acl.perms for acl in acls] == [31]
    assert client.sync(path) == path
    assert client.exists("/nothing") is None
    assert client.get_children("/by-kazoo", include_data=True)[1].numChildren == 0
    client.delete(path)
    client.stop()
    client.close()


@pytest.mark.long
def test_broker_of_apache_kafka_registers_and_works_on_the_tree(served: ServedTree, tmp_path: Path) -> None:
    kafka = KafkaProcess(tmp_path, served, {"broker.id": "7", "zookeeper.connect": f"{served.connect}/kafka"})
    kafka.start()
    try:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
        producer.produce("orders", b"one", partition=0)
        producer.flush()
        assert [value for _, value in read_all(kafka.bootstrap_servers, "orders", 0)] == [b"one"]
        nodes = read_tree(f"{served.connect}/kafka")
        registered = nodes["/brokers/ids/7"]
        assert registered.is_ephemeral
        assert json.dumps(registered.value).count(str(kafka.port))
        assert nodes["/brokers/topics/orders/partitions/0/state"].value["leader"] == 7  # type: ignore[index]
    finally:
        kafka.stop()
    assert "/brokers/ids/7" not in read_tree(f"{served.connect}/kafka")


# -- hostile clients


def connected(served: ServedTree, timeout_ms: int = 5_000) -> tuple[socket.socket, int]:
    """A raw connection with a new session, and the session's id."""
    connection = socket.create_connection(("127.0.0.1", served.port))
    connection.sendall(framed(kazoo.Connect(0, 0, timeout_ms, 0, bytes(16), False).serialize()))
    answer, _ = kazoo.Connect.deserialize(received(connection), 0)
    return connection, answer.session_id


def framed(body: bytes | bytearray) -> bytes:
    return struct.pack(">i", len(body)) + bytes(body)


def send(connection: socket.socket, xid: int, opcode: int, body: bytes | bytearray = b"") -> None:
    connection.sendall(framed(struct.pack(">ii", xid, opcode) + bytes(body)))


def received(connection: socket.socket) -> bytes:
    """The next frame; empty at the end of the connection."""
    size = exactly(connection, 4)
    return exactly(connection, int.from_bytes(size, "big")) if size else b""


def exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return data


def reply(connection: socket.socket) -> tuple[tuple[int, int], bytes]:
    """((xid, error code), body) of the next response."""
    header, offset = kazoo.ReplyHeader.deserialize(frame := received(connection), 0)
    return (header.xid, header.err), frame[offset:]


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", -1),
        framed(struct.pack(">ii", 1, 4711)),
        framed(struct.pack(">iii", 1, OpCode.GET_DATA, 1000)),
        framed(b"abc"),
    ],
    ids=["too long", "negative", "unknown type", "cut text", "cut header"],
)
def test_hostile_frame_closes_its_connection_only(served: ServedTree, sent: bytes) -> None:
    hostile, _ = connected(served)
    good, _ = connected(served)
    with closing(hostile), closing(good):
        hostile.sendall(sent)
        assert ended(hostile)
        send(good, -2, OpCode.PING)
        assert reply(good)[0] == (-2, 0)
        send(good, 7, OpCode.ADD_WATCH, b"not served")
        assert reply(good)[0] == (7, -6)
        send(good, 8, OpCode.CLOSE_SESSION)
        assert reply(good)[0] == (8, 0)
        assert ended(good)


def test_connection_with_too_many_watches_is_closed(served: ServedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_connection, "_MAX_WATCHES", 3)
    connection, _ = connected(served)
    with closing(connection):
        for number in range(3):
            send(connection, number, OpCode.EXISTS, kazoo.Exists(f"/nothing-{number}", True).serialize())
            assert reply(connection)[0] == (number, -101)
        send(connection, 3, OpCode.EXISTS, kazoo.Exists("/nothing-3", True).serialize())
        assert ended(connection)


def test_connection_whose_watches_take_too_much_memory_is_closed(
    served: ServedTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_connection, "_MAX_WATCHED_CHARS", 2_000)
    connection, _ = connected(served)
    with closing(connection):
        for number in range(20):  # a path that is watched again takes no more
            send(connection, number, OpCode.EXISTS, kazoo.Exists("/" + 1_000 * "x", True).serialize())
            assert reply(connection)[0] == (number, -101)
        send(connection, 30, OpCode.EXISTS, kazoo.Exists("/" + 1_000 * "a", True).serialize())
        while (answer := received(connection)) != b"":
            assert answer[:4] == (30).to_bytes(4, "big")


def test_first_frame_of_a_connection_is_short(served: ServedTree) -> None:
    with closing(socket.create_connection(("127.0.0.1", served.port))) as connection:
        connection.sendall(struct.pack(">i", 100_000))
        assert ended(connection)


def test_sessions_are_limited(served: ServedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_tree, "_MAX_SESSIONS", 0)
    with closing(socket.create_connection(("127.0.0.1", served.port))) as connection:
        connection.sendall(framed(kazoo.Connect(0, 0, 5_000, 0, bytes(16), False).serialize()))
        assert ended(connection)


async def test_node_and_tree_take_a_limited_number_of_bytes(
    served: ServedTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await MemoryStore.open(TreeLink(served.tree), session_timeout_ms=6_000, connection_timeout_ms=1_000)
    with pytest.raises(StoreWriteError, match="1048576 bytes of data; a node takes 1048575 at most"):
        await store.create("/too-large", bytes(1 << 20))
    await store.create("/large", bytes((1 << 20) - 1))
    monkeypatch.setattr(memory_tree, "_MAX_TREE_BYTES", served.tree.measure()[-1] + 10_000)
    await store.create("/fits", bytes(5_000))
    with pytest.raises(StoreFullError):
        await store.create("/fits-not", bytes(5_000))
    connection, _ = connected(served)
    with closing(connection):
        send(connection, 1, OpCode.SET_DATA, kazoo.SetData("/fits", bytes(9_000), -1).serialize())
        assert reply(connection)[0] == (1, -125)
    await store.delete("/large")
    await store.create("/fits-now", bytes(5_000))
    for path in ("/fits", "/fits-now"):
        await store.delete(path)
    await store.close()


def test_proofs_of_identity_are_limited(served: ServedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_tree, "_MAX_IDENTITIES", 2)
    connection, _ = connected(served)
    with closing(connection):
        for user in ("ann", "ann", "bob"):
            send(connection, -4, OpCode.AUTH, kazoo.Auth(0, "digest", f"{user}:secret").serialize())
        assert [reply(connection)[0][1] for _ in range(3)] == [0, 0, -115]
        assert ended(connection)


def test_words_of_health_checks_are_answered(served: ServedTree) -> None:
    client = KazooClient(served.connect)
    client.start()
    assert client.command(b"srvr").startswith("Zookeeper version: 3.8.4-")
    assert client.command(b"ruok") == "imok"
    client.create("/ephemeral", ephemeral=True)
    client.exists("/watched", lambda _: None)
    figures = dict(line.split("\t") for line in client.command(b"mntr").splitlines())
    assert figures["zk_server_state"] == "standalone"
    assert figures["zk_ephemerals_count"] == figures["zk_watch_count"] == "1"
    assert "Mode: standalone" in client.command(b"srvr").splitlines()
    assert client.command(b"stat").count("/127.0.0.1:") == int(figures["zk_num_alive_connections"])
    client.stop()
    client.close()


def test_other_than_digest_authentication_is_refused(served: ServedTree) -> None:
    connection, _ = connected(served)
    with closing(connection):
        send(connection, -4, OpCode.AUTH, kazoo.Auth(0, "x509", "me").serialize())
        assert reply(connection)[0] == (-4, -115)
        assert ended(connection)


def test_requests_of_a_client_that_reads_nothing_wait_outside_memory(served: ServedTree) -> None:
    """A hundred requests of a few bytes would take 100 MB of responses."""
    connection, _ = connected(served)
    with closing(connection):
        send(connection, 0, OpCode.CREATE, kazoo.Create("/large", bytes(1_000_000), OPEN_ACL_UNSAFE, 0).serialize())
        assert reply(connection)[0] == (0, 0)
        waiting = [*served.connections]
        for number in range(1, 101):
            send(connection, number, OpCode.GET_DATA, kazoo.GetData("/large", False).serialize())
        send(connection, -2, OpCode.PING)
        most = 0
        for number in range(1, 101):
            most = max(most, *(each._transport.get_write_buffer_size() for each in waiting))
            header, body = reply(connection)
            assert header == (number, 0)
            assert len(body) > 1_000_000
        assert reply(connection)[0] == (-2, 0)
        assert most < 20_000_000
