"""Tests of a broker's registration: its znode, its id and epoch, and the cluster id."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from pybroker.controller.broker_registration import (
    BrokerIdTakenError,
    BrokerRegistration,
    cluster_id,
    generate_broker_id,
)
from pybroker.controller.metadata_plane import session_end_wait_ms
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import ConnectionLossError, Create
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from support.in_process.embedded_tree import embedded_tree

INFO = BrokerInfo(4, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "me", 9092),), 1)
OTHER = BrokerInfo(4, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "other.example", 9092),), 1)


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[ClusterTree]:
    async with embedded_tree(tmp_path, now_ms=1) as opened:
        yield opened


async def test_broker_epoch_is_the_zxid_of_its_node(tree: ClusterTree) -> None:
    registration = BrokerRegistration(tree)
    epoch = await registration.register(INFO, wait_ms=0)
    data, stat = await tree.store.get("/brokers/ids/4")
    assert BrokerInfo.decode(4, data) == INFO
    assert (stat.czxid, stat.version, stat.ephemeral_owner) == (epoch, 1, tree.store.session_id)
    await registration.unregister(4)
    assert await registration.register(INFO, wait_ms=0) > epoch


async def test_updated_registration_keeps_the_broker_epoch(tree: ClusterTree) -> None:
    registration = BrokerRegistration(tree)
    epoch = await registration.register(INFO, wait_ms=0)
    await registration.update(OTHER)
    assert await tree.brokers() == {4: (OTHER, epoch)}


async def test_id_of_a_live_broker_is_refused_with_its_address(tree: ClusterTree) -> None:
    await tree.store.create(OTHER.path, OTHER.encode(), ephemeral=True)
    with pytest.raises(BrokerIdTakenError, match=r"other\.example:9092"):
        await BrokerRegistration(tree).register(INFO, wait_ms=0)
    assert (await tree.brokers())[4][0] == OTHER


async def test_registration_waits_for_another_brokers_node_to_go(tree: ClusterTree) -> None:
    await tree.store.create(OTHER.path, OTHER.encode(), ephemeral=True)
    registering = asyncio.ensure_future(BrokerRegistration(tree).register(INFO, wait_ms=60_000))
    await tree.store.exists("/")  # lets it come to wait
    await tree.store.delete(OTHER.path)
    await registering
    assert (await tree.brokers())[4][0] == INFO


async def test_registration_logs_which_broker_holds_its_id_before_it_waits(
    tree: ClusterTree, caplog: pytest.LogCaptureFixture
) -> None:
    await tree.store.create(OTHER.path, OTHER.encode(), ephemeral=True)
    with pytest.raises(BrokerIdTakenError):
        await BrokerRegistration(tree).register(INFO, wait_ms=1_000)
    assert "broker id 4 is taken by a broker at PLAINTEXT://other.example:9092; if that broker has died" in caplog.text


@pytest.mark.parametrize(
    ("session_timeout_ms", "tick_ms"), [(18_000, 3_000), (6_000, 3_000), (4_000, 2_000), (1_000, 500)]
)
def test_registration_waits_for_an_earlier_session_that_ends_late(session_timeout_ms: int, tick_ms: int) -> None:
    """ZooKeeper ends sessions at its ticks; the shortest that it grants are of two."""
    assert session_end_wait_ms(session_timeout_ms) > session_timeout_ms + tick_ms


async def test_generated_broker_ids_start_at_1001_and_are_unique(tree: ClusterTree) -> None:
    assert [await generate_broker_id(tree, 1000) for _ in range(3)] == [1001, 1002, 1003]


async def test_cluster_id_is_generated_once(tree: ClusterTree) -> None:
    first = await cluster_id(tree, Random(1))
    assert len(first) == 22
    assert await cluster_id(tree, Random(2)) == first
    data, _ = await tree.store.get("/cluster/id")
    assert data == b'{"version":"1","id":"%s"}' % first.encode()


async def test_missing_persistent_paths_are_created(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    await store.multi([Create("/brokers"), Create("/brokers/topics"), Create("/brokers/topics/t")])
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    await tree.create_persistent_paths()
    assert await store.children("/") == [
        "admin",
        "brokers",
        "config",
        "consumers",
        "isr_change_notification",
        "latest_producer_id_block",
        "log_dir_event_notification",
    ]
    assert await store.children("/brokers") == ["ids", "seqid", "topics"]
    assert await store.children("/config") == ["brokers", "changes", "clients", "ips", "topics", "users"]
    await store.close()


@pytest.mark.parametrize("is_carried_out", [True, False])
async def test_persistent_paths_are_created_despite_lost_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_carried_out: bool
) -> None:
    """Connections break so while ZooKeeper's servers elect a leader. The client does not learn whether its operation
    was carried out."""
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    lost: list[object] = []

    def breaking(ask: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def ask_and_lose(what: object, *more: object) -> object:
            if what in lost:
                return await ask(what, *more)
            lost.append(what)
            if is_carried_out:
                await ask(what, *more)
            raise ConnectionLossError(None, "the connection broke before the response")

        return ask_and_lose

    monkeypatch.setattr(store, "multi", breaking(store.multi))
    monkeypatch.setattr(store, "create", breaking(store.create))
    await ClusterTree(store).create_persistent_paths()
    assert await store.children("/brokers") == ["ids", "seqid", "topics"]
    assert len(await store.children("/")) == 7
    assert len(lost) > 7
    await store.close()
