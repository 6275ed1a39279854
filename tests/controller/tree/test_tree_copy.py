"""A tree is copied to another store: persistent nodes are copied, ephemeral nodes are not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from pybroker.controller.tree import znodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import (
    Check,
    ConnectionLossError,
    MetadataStore,
    MetadataStoreError,
    NodeExistsError,
    Operation,
    OperationResult,
)
from pybroker.controller.tree.tree_copy import CopiedNode, read_tree, roots_present, without_levels, write_tree
from pybroker.controller.tree.znodes import Features
from simulation.machines.model_zookeeper import ModelZooKeeper

LASTING = {
    "/brokers": b"",
    "/brokers/ids": b"",
    "/brokers/seqid": b"",
    "/brokers/topics": b"",
    "/brokers/topics/orders": b'{"version":3,"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","partitions":{"0":[1]}}',
    "/brokers/topics/orders/partitions": b"",
    "/brokers/topics/orders/partitions/0": b"",
    "/brokers/topics/orders/partitions/0/state": b"state",
    "/cluster": b"",
    "/cluster/id": b'{"version":"1","id":"of-the-cluster"}',
    "/config": b"",
    "/config/changes": b"",
    "/config/topics": b"",
    "/config/topics/orders": b"settings",
    "/controller_epoch": b"7",
    "/feature": b"features",
}


async def fill(store: MetadataStore) -> None:
    """Fill a tree with lasting, ephemeral and foreign nodes."""
    for path, data in LASTING.items():
        await store.create(path, data)
    for _ in range(3):
        await store.set("/brokers/seqid", b"")
        await store.set("/brokers/topics/orders/partitions/0/state", b"state")
    await store.set("/feature", LASTING["/feature"])
    await store.create("/brokers/ids/1", b"up", ephemeral=True)
    await store.create("/controller", b"up", ephemeral=True)
    await store.create("/config/changes/config_change_", b"changed", sequential=True)
    await store.create("/hbase", b"another's")
    await store.create("/hbase/below", b"another's")


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[MetadataStore]:
    store = await EmbeddedStore.open(tmp_path / "store.db", lambda: 0)
    yield store
    await store.close()


@pytest.fixture
async def zookeeper() -> AsyncIterator[MetadataStore]:
    store = await ModelZooKeeper(asyncio.get_running_loop(), Random(1), lambda: 0).open()
    yield store
    await store.close()


@pytest.fixture(params=["out of the embedded store", "into the embedded store"])
def stores(
    request: pytest.FixtureRequest, embedded: MetadataStore, zookeeper: MetadataStore
) -> tuple[MetadataStore, MetadataStore]:
    """From where, to where."""
    return (embedded, zookeeper) if request.param.startswith("out") else (zookeeper, embedded)


async def test_only_persistent_nodes_are_copied(stores: tuple[MetadataStore, MetadataStore]) -> None:
    source, target = stores
    await fill(source)
    tree = await read_tree(source)
    assert {node.path: node.data for node in tree.nodes} == LASTING
    assert sorted(tree.left_out) == ["/brokers/ids/1", "/config/changes/config_change_0000000000", "/controller"]
    await write_tree(target, tree.nodes, at_once=isinstance(target, EmbeddedStore))
    copied = await read_tree(target)
    assert {node.path: node.data for node in copied.nodes} == LASTING
    assert copied.left_out == ()
    assert await target.exists("/hbase") is None
    assert copied.cluster_id == "of-the-cluster"
    assert [(topic.topic, str(topic.topic_id)) for topic in copied.topics()] == [
        ("orders", "00000000-0000-0000-0000-000000000001")
    ]


async def test_epoch_nodes_keep_their_versions(stores: tuple[MetadataStore, MetadataStore]) -> None:
    source, target = stores
    await fill(source)
    await write_tree(target, (await read_tree(source)).nodes, at_once=isinstance(target, EmbeddedStore))
    versions = {node.path: node.version for node in (await read_tree(target)).nodes if node.version}
    assert versions == {"/brokers/seqid": 3, "/feature": 1}


async def test_copied_tree_numbers_notifications_from_zero(
    stores: tuple[MetadataStore, MetadataStore],
) -> None:
    source, target = stores
    await fill(source)
    await write_tree(target, (await read_tree(source)).nodes, at_once=isinstance(target, EmbeddedStore))
    first = await target.create("/config/changes/config_change_", sequential=True)
    assert znodes.config_change_number(first.rpartition("/")[2]) == 0


async def test_looking_for_a_tree_creates_no_nodes(zookeeper: MetadataStore) -> None:
    assert await roots_present(zookeeper, "/no/such") == []
    assert await zookeeper.exists("/no") is None
    await zookeeper.create("/hbase")
    assert await roots_present(zookeeper) == []
    await zookeeper.create("/controller_epoch")
    assert await roots_present(zookeeper) == ["/controller_epoch"]


async def test_a_copy_that_fails_leaves_nothing(zookeeper: MetadataStore) -> None:
    """The target was empty, but another client begins to write there after several steps."""
    nodes = [CopiedNode("/config", b"", 0), *(CopiedNode(f"/config/{number}", b"x", 0) for number in range(450))]
    await zookeeper.create("/admin")
    with pytest.raises(NodeExistsError):
        await write_tree(zookeeper, [*nodes, CopiedNode("/admin", b"", 0)], at_once=False)
    assert await zookeeper.children("/") == ["admin"]


IN_PARTS = [CopiedNode("/config", b"", 0), *(CopiedNode(f"/config/{number}", b"x", 0) for number in range(450))]


async def copy_with_a_lost_answer(
    store: MetadataStore,
    nodes: Sequence[CopiedNode],
    part: int,
    *,
    done: bool,
    end: type[BaseException] = ConnectionLossError,
) -> None:
    """Copy nodes and lose the response to request number ``part`` (from 1). ``done``: whether the request was carried
    out. ``end``: the exception that the copy gets.
    """
    write, parts = store.multi, 0

    async def lose_one_answer(operations: Sequence[Operation]) -> list[OperationResult]:
        nonlocal parts
        parts += 1
        results = await write(operations) if parts != part or done else []
        if parts == part:
            raise end(None, "the connection broke before the response")
        return results

    losing = patch.object(type(store), "multi", lambda _, operations: lose_one_answer(operations))
    with losing, pytest.raises(end):
        await write_tree(store, nodes, at_once=False)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("part", [1, 2, 3])
async def test_copy_whose_response_is_lost_leaves_nothing(zookeeper: MetadataStore, part: int, done: bool) -> None:
    await copy_with_a_lost_answer(zookeeper, IN_PARTS, part, done=done)
    assert await zookeeper.children("/") == []


@pytest.mark.parametrize("done", [True, False])
async def test_cancelled_copy_leaves_nothing(zookeeper: MetadataStore, done: bool) -> None:
    await copy_with_a_lost_answer(zookeeper, IN_PARTS, 2, done=done, end=asyncio.CancelledError)
    assert await zookeeper.children("/") == []


async def test_failed_copy_names_nodes_it_leaves_because_another_client_changed_them(zookeeper: MetadataStore) -> None:
    write = zookeeper.multi

    async def lose_the_first_answer(operations: Sequence[Operation]) -> list[OperationResult]:
        if isinstance(operations[0], Check):
            return await write(operations)
        await write(operations)
        await zookeeper.set("/config/7", b"a broker's")
        raise ConnectionLossError(None, "the connection broke before the response")

    losing = patch.object(type(zookeeper), "multi", lambda _, operations: lose_the_first_answer(operations))
    with losing, pytest.raises(MetadataStoreError, match="/config, /config/0, /config/1, … may belong to this copy"):
        await write_tree(zookeeper, IN_PARTS, at_once=False)
    assert (await zookeeper.get("/config/7"))[0] == b"a broker's"


async def test_failed_copy_deletes_written_nodes_with_kept_versions(zookeeper: MetadataStore) -> None:
    nodes = [CopiedNode("/brokers", b"", 4), CopiedNode("/brokers/seqid", b"", 3), CopiedNode("/feature", b"f", 1)]
    await copy_with_a_lost_answer(zookeeper, nodes, 1, done=True)
    assert await zookeeper.children("/") == []


@pytest.mark.parametrize("others", [1, 2, 3])
async def test_copy_whose_response_is_lost_leaves_nodes_of_other_clients(zookeeper: MetadataStore, others: int) -> None:
    """Brokers start in the target meanwhile and create some or all of the copied nodes themselves."""
    nodes = [CopiedNode("/config", b"", 0), CopiedNode("/config/topics", b"", 0), CopiedNode("/cluster", b"", 0)]
    for node in nodes[:others]:
        await zookeeper.create(node.path)
    before = await zookeeper.children("/")
    await copy_with_a_lost_answer(zookeeper, nodes, 1, done=False)
    assert await zookeeper.children("/") == before


async def test_failed_copy_reports_nodes_that_could_not_be_deleted(zookeeper: MetadataStore) -> None:
    async def lose(_: Sequence[Operation]) -> list[OperationResult]:
        raise ConnectionLossError(None, "the connection broke before the response")

    losing = patch.object(type(zookeeper), "multi", lambda _, operations: lose(operations))
    with losing, pytest.raises(MetadataStoreError, match="the written nodes could not be deleted"):
        await write_tree(zookeeper, IN_PARTS, at_once=False)


async def test_large_trees_are_written_in_several_transactions(zookeeper: MetadataStore) -> None:
    nodes = [CopiedNode(f"/{number}", bytes(100_000), 0) for number in range(10)]
    await write_tree(zookeeper, nodes, at_once=False)
    stats = [await zookeeper.exists(node.path) for node in nodes]
    steps = [stat.czxid for stat in stats if stat is not None]
    assert len(steps) == 10
    assert max(steps.count(step) for step in steps) * 100_000 <= 256 << 10


def test_levels_of_features_are_left_out_and_their_epoch_rises() -> None:
    topics = CopiedNode(znodes.TOPICS_PATH, b"", 0)
    with_level = CopiedNode(znodes.FEATURE_PATH, Features({"transaction.version": 2}).encode(), 3)
    without = CopiedNode(znodes.FEATURE_PATH, Features().encode(), 4)
    assert without_levels([topics, with_level]) == [topics, without]
    assert without_levels([topics, without]) == [topics, without]
    damaged = CopiedNode(znodes.FEATURE_PATH, b"features", 3)
    assert without_levels([damaged]) == [damaged]
