"""Tests that every broker obeys the ACLs that are in the metadata tree, whoever has written them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from pybroker.base.acls import AclEntry, AclOperation, AclPermission, AclResourceType, PatternType, ResourcePattern
from pybroker.controller import catching_up
from pybroker.controller.acl_tree import Acls, AclTree
from pybroker.controller.live_acls import EXPIRATION_MS, MOST_KEPT_ALONE, NOBODY, LiveAcls
from pybroker.controller.tree import acl_nodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import ConnectionLossError, MetadataStore, Watch
from pybroker.controller.tree.renewing_store import RenewingStore
from pybroker.controller.tree.znodes import ZnodeDecodeError
from simulation.machines.model_zookeeper import ModelZooKeeper
from support.in_process.virtual_zookeeper import on_virtual_time

NOW_MS = 1_700_000_000_000
TOPIC = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
GROUPS = ResourcePattern(AclResourceType.GROUP, "g", PatternType.PREFIXED)
PATH = acl_nodes.acl_path(TOPIC)
A = AclEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
B = A._replace(principal="User:b")


async def no_wait() -> None:
    await asyncio.sleep(0)


class Clock:
    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


class Tree(AclTree):
    """Fails to list the notifications as often as it is told to."""

    def __init__(self, store: MetadataStore, clock: Clock) -> None:
        super().__init__(store, no_wait)
        self.clock = clock
        self.failures = 0
        self.has_read_all = asyncio.Event()
        self.may_apply_all = asyncio.Event()
        self.may_apply_all.set()

    async def read_all(self) -> dict[ResourcePattern, frozenset[AclEntry] | ZnodeDecodeError]:
        found = await super().read_all()
        self.has_read_all.set()
        await self.may_apply_all.wait()
        return found

    async def notifications(self, changes_path: str, watch: Watch | None = None) -> list[str]:
        if self.failures:
            self.failures -= 1
            raise ConnectionLossError(changes_path)
        return await super().notifications(changes_path, watch)

    async def add(self, pattern: ResourcePattern, *entries: AclEntry) -> None:
        await self.update(pattern, lambda present: present | set(entries))

    async def spoil(self, pattern: ResourcePattern, data: bytes = b"{") -> None:
        """Write a node that cannot be decoded, and notify, as any program with access to the store may."""
        path = acl_nodes.acl_path(pattern)
        if await self.store.exists(path) is None:
            await self.store.create(path)
        await self.store.set(path, data)
        prefix = acl_nodes.change_prefix(pattern.pattern_type)
        await self.store.create(prefix, acl_nodes.encode_acl_change(pattern), sequential=True)


class Broker:
    """Follows what it is told, and compares it with what is in force."""

    def __init__(self, tree: AclTree, clock: Callable[[], int], *, is_alone: bool = False) -> None:
        self.changes = asyncio.Queue[Acls]()
        self.told: dict[ResourcePattern, frozenset[AclEntry]] = {}
        self.live = LiveAcls(tree, self.take, clock, is_alone=is_alone)

    def take(self, changed: Acls) -> None:
        self.told.update(changed)
        self.told = {pattern: entries for pattern, entries in self.told.items() if entries}
        assert self.told == self.live.acls
        self.changes.put_nowait(changed)


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[Tree]:
    clock = Clock()
    store = await EmbeddedStore.open(tmp_path / "metadata.db", clock)
    opened = Tree(store, clock)
    await opened.create_paths()
    yield opened
    await store.close()


@asynccontextmanager
async def running(tree: Tree, *, is_alone: bool = False) -> AsyncIterator[Broker]:
    broker = Broker(tree, tree.clock, is_alone=is_alone)
    await broker.live.load()
    task = asyncio.create_task(broker.live.run())
    await broker.live.caught_up()
    yield broker
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def told_after_the_change(tree: Tree, broker: Broker) -> dict[ResourcePattern, frozenset[AclEntry]]:
    await tree.store.exists("/")  # the watch event comes before this result
    await broker.live.caught_up()
    return broker.told


async def test_broker_loads_all_acls_at_its_start(tree: Tree) -> None:
    await tree.add(TOPIC, A)
    await tree.add(GROUPS, A, B)
    async with running(tree) as broker:
        assert broker.told == {TOPIC: {A}, GROUPS: {A, B}}


async def test_broker_is_told_of_later_changes_of_both_kinds_of_patterns(tree: Tree) -> None:
    async with running(tree) as broker:
        await tree.add(TOPIC, A)
        assert await told_after_the_change(tree, broker) == {TOPIC: {A}}
        await tree.add(GROUPS, B)
        assert await told_after_the_change(tree, broker) == {TOPIC: {A}, GROUPS: {B}}
        await tree.update(TOPIC, lambda _: frozenset())
        assert await told_after_the_change(tree, broker) == {GROUPS: {B}}


async def test_broker_that_has_written_obeys_before_the_notification_arrives(tree: Tree) -> None:
    async with running(tree) as broker:
        await tree.store.create(PATH, acl_nodes.encode_acls(frozenset({A})))
        await broker.live.refresh([TOPIC, GROUPS])
        assert broker.told == {TOPIC: {A}}


async def test_slow_reading_of_all_acls_does_not_undo_a_later_change(tree: Tree) -> None:
    tree.may_apply_all.clear()
    broker = Broker(tree, tree.clock)
    loading = asyncio.create_task(broker.live.load())
    await tree.has_read_all.wait()
    await tree.add(TOPIC, A)
    refreshing = asyncio.create_task(broker.live.refresh([TOPIC]))
    for _ in range(20):  # turns of the loop in which the change could be read and applied
        await asyncio.sleep(0)
    tree.may_apply_all.set()
    await asyncio.gather(loading, refreshing)
    assert broker.told == {TOPIC: {A}}


async def test_start_fails_on_a_node_that_cannot_be_decoded(tree: Tree) -> None:
    await tree.spoil(TOPIC)
    broker = Broker(tree, tree.clock)
    with pytest.raises(ZnodeDecodeError, match=PATH):
        await broker.live.load()
    assert broker.told == {}


async def test_last_acls_stay_in_force_when_the_new_ones_cannot_be_decoded(
    tree: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    await tree.add(TOPIC, A)
    async with running(tree) as broker:
        await tree.spoil(TOPIC)
        assert await told_after_the_change(tree, broker) == {TOPIC: {A}}
        assert f"Topic:LITERAL:t stay in force, because the new ones cannot be decoded: {PATH}" in caplog.text
        await tree.store.set(PATH, acl_nodes.encode_acls(frozenset({B})))
        await broker.live.refresh([TOPIC])
        assert broker.told == {TOPIC: {B}}


async def test_everything_is_denied_on_a_resource_whose_acls_were_never_decoded(
    tree: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tree) as broker:
        for _ in range(2):
            await tree.spoil(TOPIC)
            assert await told_after_the_change(tree, broker) == {TOPIC: NOBODY}
        assert "everything is denied on Topic:LITERAL:t" in caplog.text
        await tree.spoil(TOPIC, acl_nodes.encode_acls(frozenset({A})))
        assert await told_after_the_change(tree, broker) == {TOPIC: {A}}


async def test_undecodable_notification_does_not_hide_the_next_one(
    tree: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tree) as broker:
        await tree.store.create(acl_nodes.change_prefix(PatternType.LITERAL), b"?", sequential=True)
        await tree.store.create("/kafka-acl-changes/acl_changes_x", b"TOPIC:t")
        await tree.add(TOPIC, A)
        assert await told_after_the_change(tree, broker) == {TOPIC: {A}}
        assert "a change of ACLs is ignored" in caplog.text


async def test_notifications_are_deleted_after_fifteen_minutes(tree: Tree) -> None:
    async with running(tree) as broker:
        await tree.add(TOPIC, A)
        await told_after_the_change(tree, broker)
        assert len(await tree.notifications("/kafka-acl-changes")) == 1
        tree.clock.now_ms += EXPIRATION_MS + 1
        await tree.add(TOPIC, B)
        assert await told_after_the_change(tree, broker) == {TOPIC: {A, B}}
        await told_after_the_change(tree, broker)
        assert await tree.notifications("/kafka-acl-changes") == ["acl_changes_0000000001"]


async def test_old_notifications_of_an_earlier_run_are_deleted(tree: Tree) -> None:
    await tree.add(TOPIC, A)
    await tree.add(GROUPS, A)
    tree.clock.now_ms += EXPIRATION_MS + 1
    async with running(tree) as broker:
        await told_after_the_change(tree, broker)
        assert await tree.notifications("/kafka-acl-changes") == []
        assert await tree.notifications("/kafka-acl-extended-changes") == []


async def test_single_broker_deletes_the_notifications_after_a_hundred(tree: Tree) -> None:
    async with running(tree, is_alone=True) as broker:
        for number in range(MOST_KEPT_ALONE):
            await tree.add(TOPIC._replace(name=str(number)), A)
            await told_after_the_change(tree, broker)
        await told_after_the_change(tree, broker)
        assert await tree.notifications("/kafka-acl-changes") == []
        assert len(broker.told) == MOST_KEPT_ALONE


async def test_failed_reading_is_tried_again(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(catching_up, "RETRY_SECONDS", 0)
    caplog.set_level(logging.ERROR)
    async with running(tree) as broker:
        tree.failures = 2
        await tree.add(TOPIC, A)
        await broker.changes.get()
        assert broker.told == {TOPIC: {A}}
        assert caplog.text.count("changes of ACLs cannot be read") == 2


async def renewing(zookeeper: ModelZooKeeper) -> RenewingStore:
    def broken(error: Exception) -> None:
        raise error

    return await RenewingStore.open(lambda: zookeeper.open("broker"), broken=broken)


def test_last_acls_stay_in_force_without_a_session_and_the_next_session_reads_all() -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        other = AclTree(await zookeeper.open("other"), no_wait)
        await other.create_paths()
        await other.update(TOPIC, lambda _: frozenset({A}))
        await other.update(GROUPS, lambda _: frozenset({A}))
        store = await renewing(zookeeper)
        broker = Broker(AclTree(store, no_wait), Clock())
        await broker.live.load()
        task = asyncio.create_task(broker.live.run())
        await broker.live.caught_up()
        await broker.changes.get()
        zookeeper.cut("broker")
        zookeeper.expire(store.session_id)
        await other.update(TOPIC, lambda _: frozenset({B}))
        await other.update(GROUPS, lambda _: frozenset())
        for changes_path in acl_nodes.CHANGES_PATHS:  # nobody reads the notifications of the change
            await other.forget([f"{changes_path}/{name}" for name in await other.notifications(changes_path)])
        await asyncio.sleep(60)
        assert broker.told == {TOPIC: {A}, GROUPS: {A}}
        zookeeper.heal("broker")
        await broker.changes.get()
        assert broker.told == {TOPIC: {B}}
        await other.update(GROUPS, lambda _: frozenset({B}))
        await broker.changes.get()
        assert broker.told == {TOPIC: {B}, GROUPS: {B}}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    on_virtual_time(scenario)


@pytest.mark.parametrize("seed", range(10))
def test_brokers_agree_with_the_tree_after_changes_through_broken_connections(seed: int) -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        random = Random(seed)
        stores = [await zookeeper.open(name) for name in "ab"]
        trees = [AclTree(store, no_wait) for store in stores]
        loop = asyncio.get_running_loop()
        brokers = [Broker(tree, lambda: round(loop.time() * 1000)) for tree in trees]
        for broker in brokers:
            await broker.live.load()
        tasks = [asyncio.create_task(broker.live.run()) for broker in brokers]
        for _ in range(30):
            number = random.randrange(2)
            pattern = random.choice((TOPIC, GROUPS))
            entries = frozenset(random.sample((A, B), random.randrange(3)))
            await trees[number].update(pattern, lambda _, entries=entries: entries)  # type: ignore[misc]
            await brokers[number].live.refresh([pattern])
            assert brokers[number].told.get(pattern, frozenset()) == entries
            if seed % 2:
                zookeeper.drop_connection(random.choice("ab"))
        await asyncio.sleep(10)
        assert brokers[0].told == brokers[1].told
        for pattern in (TOPIC, GROUPS):
            assert brokers[0].told.get(pattern, frozenset()) == await trees[0].read(pattern)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    on_virtual_time(scenario, seed)
