"""Tests that writers of ACLs lose nothing: several at once, on a model of ZooKeeper whose connections break."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random

import pytest
from pybroker.base.acls import AclEntry, AclOperation, AclPermission, AclResourceType, PatternType, ResourcePattern
from pybroker.controller.acl_tree import (
    MOST_BYTES,
    MOST_TRIES,
    AclContentionError,
    AclsTooLargeError,
    AclTree,
    ChangedAcls,
)
from pybroker.controller.tree import acl_nodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import ConnectionLossError, MetadataStore, Operation, OperationResult
from pybroker.controller.tree.znodes import ZnodeDecodeError
from simulation.machines.model_zookeeper import ModelZooKeeper
from support.in_process.virtual_zookeeper import on_virtual_time

TOPIC = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
PREFIX = ResourcePattern(AclResourceType.TRANSACTIONAL_ID, "t", PatternType.PREFIXED)


def entry(user: str, permission: AclPermission = AclPermission.ALLOW) -> AclEntry:
    return AclEntry(f"User:{user}", "*", AclOperation.READ, permission)


A, B = entry("a"), entry("b")
NONE: frozenset[AclEntry] = frozenset()


async def no_wait() -> None:
    await asyncio.sleep(0)


async def between_100_and_150_ms() -> None:
    await asyncio.sleep(0.125)


async def notified(tree: AclTree) -> list[ResourcePattern]:
    """The patterns that the notifications name, by type of the pattern and number."""
    found = []
    for changes_path in acl_nodes.CHANGES_PATHS:
        for name in await tree.notifications(changes_path):
            notification = await tree.notification(f"{changes_path}/{name}")
            assert notification is not None
            found.append(acl_nodes.decode_acl_change(notification.path, notification.data))
    return found


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[AclTree]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1_700_000_000_000)
    opened = AclTree(store, no_wait)
    await opened.create_paths()
    yield opened
    await store.close()


async def test_first_and_last_entry_create_and_delete_the_node(tree: AclTree) -> None:
    path = acl_nodes.acl_path(TOPIC)
    assert await tree.update(TOPIC, lambda entries: entries | {A}) == ChangedAcls(NONE, frozenset({A}))
    assert await tree.update(TOPIC, lambda entries: entries | {B}) == ChangedAcls(frozenset({A}), frozenset({A, B}))
    assert await tree.update(TOPIC, lambda entries: entries - {A}) == ChangedAcls(frozenset({A, B}), frozenset({B}))
    assert await tree.read(TOPIC) == {B}
    assert await tree.store.exists(path) is not None
    assert await tree.update(TOPIC, lambda entries: entries - {B}) == ChangedAcls(frozenset({B}), NONE)
    assert await tree.store.exists(path) is None
    assert await tree.read(TOPIC) == frozenset()


async def test_each_change_notifies_and_no_change_does_not(tree: AclTree) -> None:
    for pattern in (TOPIC, TOPIC, PREFIX):
        await tree.update(pattern, lambda entries: entries | {A})
    assert await notified(tree) == [TOPIC, PREFIX]
    await tree.update(TOPIC, lambda _: frozenset())
    await tree.update(TOPIC, lambda _: frozenset())
    assert await notified(tree) == [TOPIC, TOPIC, PREFIX]


async def test_all_acls_are_found_with_the_errors_of_undecodable_nodes(tree: AclTree) -> None:
    await tree.update(TOPIC, lambda entries: entries | {A})
    await tree.update(PREFIX, lambda entries: entries | {B})
    broken = TOPIC._replace(name="broken")
    await tree.store.create(acl_nodes.acl_path(broken), b"{")
    await tree.store.create("/kafka-acl/FutureType")
    await tree.store.create("/kafka-acl/FutureType/x", b"?")
    found = await tree.read_all()
    assert isinstance(found.pop(broken), ZnodeDecodeError)
    assert found == {TOPIC: frozenset({A}), PREFIX: frozenset({B})}


async def test_undecodable_node_is_not_overwritten(tree: AclTree) -> None:
    path = acl_nodes.acl_path(TOPIC)
    await tree.store.create(path, b"not JSON")
    for wanted in (frozenset({A}), frozenset[AclEntry]()):
        with pytest.raises(ZnodeDecodeError):
            await tree.update(TOPIC, lambda _, wanted=wanted: wanted)  # type: ignore[misc]
    assert (await tree.store.get(path))[0] == b"not JSON"
    assert await notified(tree) == []


async def test_writer_gives_up_after_as_many_conflicts_as_kafka(tree: AclTree) -> None:
    tries = 0

    def overtaken(entries: frozenset[AclEntry]) -> frozenset[AclEntry]:
        nonlocal tries
        tries += 1
        data = acl_nodes.encode_acls(frozenset({entry(f"other{tries}")}))
        path = acl_nodes.acl_path(TOPIC)
        _ = tree.store.create(path, data) if tries == 1 else tree.store.set(path, data)  # runs before the write
        return entries | {A}

    with pytest.raises(AclContentionError, match="Topic:LITERAL:t"):
        await tree.update(TOPIC, overtaken)
    assert tries == MOST_TRIES
    assert await tree.read(TOPIC) == {entry(f"other{MOST_TRIES}")}


@pytest.mark.parametrize("was_written", [False, True])
async def test_rules_removed_by_a_write_without_a_response_are_reported_as_removed(
    was_written: bool, tree: AclTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tree.update(TOPIC, lambda entries: entries | {A, B})
    multi = tree.store.multi

    def lost(operations: Sequence[Operation]) -> "asyncio.Future[list[OperationResult]]":
        monkeypatch.undo()
        if was_written:
            _ = multi(operations)  # operations run in the order in which they were started
        response: asyncio.Future[list[OperationResult]] = asyncio.get_running_loop().create_future()
        response.set_exception(ConnectionLossError(None, "the connection broke before the response"))
        return response

    monkeypatch.setattr(tree.store, "multi", lost)
    assert await tree.update(TOPIC, lambda entries: entries - {A}) == ChangedAcls(frozenset({A, B}), frozenset({B}))
    assert await tree.read(TOPIC) == {B}
    assert await notified(tree) == [TOPIC, TOPIC]


async def test_node_does_not_grow_beyond_what_zookeeper_takes(tree: AclTree) -> None:
    many = frozenset(entry("x" * 1000 + str(number)) for number in range(MOST_BYTES // 1100))
    await tree.update(TOPIC, lambda entries: entries | many)
    more = frozenset(entry("y" * 1000 + str(number)) for number in range(MOST_BYTES // 1100))
    with pytest.raises(AclsTooLargeError, match=r"ACLs of Topic:LITERAL:t have \d+ bytes; the limit is 900000\."):
        await tree.update(TOPIC, lambda entries: entries | more)
    assert await tree.read(TOPIC) == many
    assert len(await notified(tree)) == 1


async def test_paths_are_created_once_and_found_again(tree: AclTree) -> None:
    await tree.update(TOPIC, lambda entries: entries | {A})
    await tree.create_paths()
    assert await tree.read(TOPIC) == {A}
    assert {path for path in acl_nodes.ACL_PATHS if await tree.store.exists(path) is None} == set()


@pytest.mark.parametrize("seed", range(12))
def test_writers_at_once_lose_no_rule_and_revive_none(seed: int) -> None:
    async def write(store: MetadataStore, name: str, random: Random) -> frozenset[AclEntry]:
        """Adds and removes entries of its own; returns those that must be there at the end."""
        tree = AclTree(store, between_100_and_150_ms)
        mine: frozenset[AclEntry] = frozenset()
        for number in range(8):
            added = frozenset({entry(f"{name}{number}")})
            removed = frozenset(random.sample(sorted(mine), min(len(mine), random.randrange(3))))

            def change(
                entries: frozenset[AclEntry],
                added: frozenset[AclEntry] = added,
                removed: frozenset[AclEntry] = removed,
            ) -> frozenset[AclEntry]:
                return (entries | added) - removed

            changed = await tree.update(TOPIC, change)
            assert added <= changed.after
            assert removed <= changed.before - changed.after
            mine = (mine | added) - removed
        last = await tree.update(TOPIC, lambda entries: entries - mine if random.random() < 0.5 else entries)
        return mine & last.after

    async def scenario(zookeeper: ModelZooKeeper) -> None:
        random = Random(seed)
        stores = [await zookeeper.open(name) for name in "abc"]
        tree = AclTree(stores[0], between_100_and_150_ms)
        await tree.create_paths()
        writes = asyncio.gather(*(write(store, name, random) for store, name in zip(stores, "abc", strict=True)))
        while not writes.done() and seed % 3:
            await asyncio.sleep(random.uniform(0.02, 0.4))
            zookeeper.drop_connection(random.choice("abc"))
        left = frozenset[AclEntry]().union(*await writes)
        assert await AclTree(await zookeeper.open("reader"), no_wait).read(TOPIC) == left

    on_virtual_time(scenario, seed)
