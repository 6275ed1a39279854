"""Tests that every broker is notified of every changed setting."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pybroker.controller import catching_up
from pybroker.controller.config_changes import EXPIRATION_MS, MOST_KEPT_ALONE, ConfigChanges
from pybroker.controller.features import FeatureLevels
from pybroker.controller.tree import znodes
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import ConnectionLossError, NoNodeError, Watch
from pybroker.controller.tree.znodes import ConfigEntity, ControllerInfo

NOW_MS = 1_700_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


class Tree(ClusterTree):
    """Fails to list the notifications as often as it is told to."""

    def __init__(self, store: EmbeddedStore, clock: Clock) -> None:
        super().__init__(store)
        self.clock = clock
        self.failures = 0

    async def config_changes(self, watch: Watch | None = None) -> list[str]:
        if self.failures:
            self.failures -= 1
            raise ConnectionLossError("/config/changes")
        return await super().config_changes(watch)

    async def notifications(self) -> list[str]:
        return await self.store.children("/config/changes")


class Broker:
    """Writes down what it is told."""

    def __init__(self, tree: Tree, *, is_alone: bool = False) -> None:
        self.told: list[tuple[str, str, Mapping[str, str]]] = []
        takers = {"topics": self.take_topic, "brokers": self.take_broker, "users": self.take_user}
        self.changes = ConfigChanges(tree, takers, FeatureLevels(tree.store), tree.clock, is_alone=is_alone)

    async def take_topic(self, name: str, settings: Mapping[str, str]) -> None:
        self.told.append(("topics", name, settings))

    async def take_broker(self, name: str, settings: Mapping[str, str]) -> None:
        self.told.append(("brokers", name, settings))

    async def take_user(self, name: str, settings: Mapping[str, str]) -> None:
        self.told.append(("users", name, settings))


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[Tree]:
    clock = Clock()
    store = await EmbeddedStore.open(tmp_path / "metadata.db", clock)
    opened = Tree(store, clock)
    await opened.create_persistent_paths()
    yield opened
    await store.close()


@asynccontextmanager
async def running(tree: Tree, *, is_alone: bool = False) -> AsyncIterator[Broker]:
    broker = Broker(tree, is_alone=is_alone)
    task = asyncio.create_task(broker.changes.run())
    await broker.changes.caught_up()
    yield broker
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def set_one(tree: Tree, entity_type: str, name: str, **settings: str) -> None:
    await tree.change_config(entity_type, name, lambda stored: {**stored, **settings})


async def test_every_broker_is_notified_of_changes_in_order(tree: Tree) -> None:
    async with running(tree) as one, running(tree) as other:
        await set_one(tree, "topics", "t", a="1")
        await one.changes.caught_up()
        await set_one(tree, "brokers", "<default>", b="2")
        await set_one(tree, "topics", "t", a="3")
        for broker in (one, other):
            await broker.changes.caught_up()
            assert broker.told == [
                ("topics", "t", {"a": "1"}),
                ("brokers", "<default>", {"b": "2"}),
                ("topics", "t", {"a": "3"}),
            ]


async def test_change_is_written_to_kafkas_znodes(tree: Tree) -> None:
    await set_one(tree, "topics", "t", a="1")
    data, _ = await tree.store.get("/config/topics/t")
    assert ConfigEntity.decode("topics", "t", data).settings == {"a": "1"}
    assert await tree.notifications() == ["config_change_0000000000"]
    data, _ = await tree.store.get("/config/changes/config_change_0000000000")
    assert znodes.decode_config_change("", data) == "topics/t"


async def test_changes_at_the_same_time_are_not_lost(tree: Tree) -> None:
    await tree.elect(ControllerInfo(1, NOW_MS))
    await asyncio.gather(*(set_one(tree, "topics", "t", **{f"s{n}": str(n)}) for n in range(8)))
    assert await tree.config("topics", "t") == {f"s{n}": str(n) for n in range(8)}
    assert len(await tree.notifications()) == 8


async def test_refused_config_change_writes_nothing(tree: Tree) -> None:
    def refuse(stored: Mapping[str, str]) -> Mapping[str, str]:
        raise ValueError(str(stored))

    await set_one(tree, "topics", "t", a="1")
    with pytest.raises(ValueError, match="'a': '1'"):
        await tree.change_config("topics", "t", refuse)
    assert await tree.config("topics", "t") == {"a": "1"}
    assert len(await tree.notifications()) == 1


async def test_change_fails_when_the_node_for_notifications_is_missing(tree: Tree) -> None:
    await tree.store.delete("/config/changes")
    with pytest.raises(NoNodeError):
        await set_one(tree, "topics", "t", a="1")
    assert await tree.config("topics", "t") == {}


async def test_config_changes_made_before_the_start_are_applied_at_the_start(tree: Tree) -> None:
    await set_one(tree, "topics", "t", a="1")
    await set_one(tree, "topics", "t", a="2")
    async with running(tree) as broker:
        assert broker.told == [("topics", "t", {"a": "2"})] * 2, "twice the latest"


async def test_settings_of_a_user_with_a_client_id_are_applied_under_the_whole_name(tree: Tree) -> None:
    async with running(tree) as broker:
        await tree.store.create("/config/users/ann")
        await tree.store.create("/config/users/ann/clients")
        await set_one(tree, "users", "ann/clients/c", a="1")
        await broker.changes.caught_up()
        assert broker.told == [("users", "ann/clients/c", {"a": "1"})]


async def test_unreadable_notifications_do_not_hide_later_changes(tree: Tree) -> None:
    async with running(tree) as broker:
        bad_paths = ("topics", "topics/", "topics//t", "topics/a/../t", "topics/t/")
        bad_notifications = [znodes.encode_config_change(path) for path in bad_paths]
        for data in (b"", b"no json", b'{"version":2}', *bad_notifications):
            await tree.store.create("/config/changes/config_change_", data, sequential=True)
        await tree.store.create("/config/changes/stranger")
        await tree.store.create("/config/topics/bad", b"no json")
        await tree.store.create(
            "/config/changes/config_change_", znodes.encode_config_change("topics/bad"), sequential=True
        )
        await set_one(tree, "clients", "somebody", a="1")
        await set_one(tree, "topics", "t", a="1")
        await broker.changes.caught_up()
        assert broker.told == [("topics", "t", {"a": "1"})]


async def test_notifications_older_than_a_quarter_of_an_hour_are_deleted(tree: Tree) -> None:
    async with running(tree) as broker, running(tree) as other:
        await set_one(tree, "topics", "t", a="1")
        tree.clock.now_ms += EXPIRATION_MS
        await set_one(tree, "topics", "t", a="2")
        await broker.changes.caught_up()
        assert len(await tree.notifications()) == 2
        tree.clock.now_ms += 1
        await set_one(tree, "topics", "t", a="3")
        await broker.changes.caught_up()
        await other.changes.caught_up()
        assert await tree.notifications() == ["config_change_0000000001", "config_change_0000000002"]
        assert [settings["a"] for _, _, settings in broker.told] == ["1", "2", "3"]


@pytest.mark.parametrize("is_alone", [True, False])
async def test_single_broker_keeps_few_notifications(tree: Tree, *, is_alone: bool) -> None:
    changes = 2 * MOST_KEPT_ALONE + 10
    async with running(tree, is_alone=is_alone) as broker:
        for number in range(changes):
            await set_one(tree, "topics", "t", a=str(number))
            await broker.changes.caught_up()
        kept = len(await tree.notifications())
        assert kept < MOST_KEPT_ALONE if is_alone else kept == changes
        assert [settings["a"] for _, _, settings in broker.told] == [str(number) for number in range(changes)]


async def test_a_lost_connection_delays_changes_and_loses_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "RETRY_SECONDS", 0)
    async with running(tree) as broker:
        tree.failures = 3
        await set_one(tree, "topics", "t", a="1")
        while tree.failures:
            await broker.changes.caught_up()
            await asyncio.sleep(0)
        await broker.changes.caught_up()
        assert broker.told == [("topics", "t", {"a": "1"})]


async def test_closing_the_store_ends_the_listener_and_its_waiters(tmp_path: Path) -> None:
    clock = Clock()
    store = await EmbeddedStore.open(tmp_path / "metadata.db", clock)
    tree = Tree(store, clock)
    await tree.create_persistent_paths()
    await store.close()
    broker = Broker(tree)
    await broker.changes.run()
    await broker.changes.caught_up()
    assert broker.told == []


async def test_unexpected_error_in_a_listener_ends_the_listener(tree: Tree) -> None:
    async def fail(name: str, settings: Mapping[str, str]) -> None:
        raise RuntimeError(name)

    await set_one(tree, "topics", "t", a="1")
    changes = ConfigChanges(tree, {"topics": fail}, FeatureLevels(tree.store), tree.clock, is_alone=False)
    with pytest.raises(RuntimeError, match="t"):
        await changes.run()
    await changes.caught_up()
