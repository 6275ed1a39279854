"""Nodes of users, client ids and addresses: creation with parents, deletion when empty, writers at the same time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from pybroker.controller.tree import znodes
from pybroker.controller.tree.client_entities import change_client_entity, read_client_entities
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import MetadataStore, NoNodeError, Operation, OperationResult
from pybroker.controller.tree.znodes import ConfigEntity, ZnodeDecodeError
from support.in_process.embedded_tree import embedded_tree

RATE = {"producer_byte_rate": "5"}
ENTITIES = [
    ("users", "ann"),
    ("users", "ann/clients/c"),
    ("users", "ann/clients/<default>"),
    ("users", "<default>/clients/c"),
    ("clients", "c"),
    ("ips", "10.0.0.1"),
]


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[ClusterTree]:
    async with embedded_tree(tmp_path) as opened:
        yield opened


async def write(tree: ClusterTree, entity_type: str, name: str, settings: Mapping[str, str]) -> None:
    await change_client_entity(tree, entity_type, name, lambda _old: settings)


async def paths_below(store: MetadataStore, path: str) -> list[str]:
    found = []
    for name in await store.children(path):
        child = f"{path}/{name}"
        found += [child, *await paths_below(store, child)]
    return found


async def entity_paths(tree: ClusterTree) -> list[str]:
    return [path for kind in ("users", "clients", "ips") for path in await paths_below(tree.store, f"/config/{kind}")]


async def notified(tree: ClusterTree) -> list[str]:
    found = [await tree.config_change(name) for name in await tree.config_changes()]
    return [znodes.decode_config_change("", each[0]) for each in found if each is not None]


@pytest.mark.parametrize(("entity_type", "name"), ENTITIES)
async def test_an_entity_is_written_read_announced_and_removed_again(
    tree: ClusterTree, entity_type: str, name: str
) -> None:
    await write(tree, entity_type, name, RATE)
    assert {key: value for key, value in (await read_client_entities(tree)).items() if value} == {
        (entity_type, name): RATE
    }
    data, _ = await tree.store.get(f"/config/{entity_type}/{name}")
    assert ConfigEntity.decode(entity_type, name, data).settings == RATE
    await write(tree, entity_type, name, {})
    assert await entity_paths(tree) == []
    assert await notified(tree) == [f"{entity_type}/{name}"] * 2


async def test_removal_of_settings_that_do_not_exist_makes_no_node_and_is_announced(tree: ClusterTree) -> None:
    await write(tree, "users", "ann/clients/c", {})
    assert await entity_paths(tree) == []
    assert await notified(tree) == ["users/ann/clients/c"]


async def test_a_user_with_clients_stays_without_settings_until_the_last_client_goes(tree: ClusterTree) -> None:
    await write(tree, "users", "ann", RATE)
    await write(tree, "users", "ann/clients/c", RATE)
    await write(tree, "users", "ann/clients/d", RATE)
    await write(tree, "users", "ann", {})
    assert (await tree.store.get("/config/users/ann"))[0] == b'{"version":1,"config":{}}'
    await write(tree, "users", "ann/clients/c", {})
    assert "/config/users/ann/clients/d" in await entity_paths(tree)
    await write(tree, "users", "ann/clients/d", {})
    assert await entity_paths(tree) == []


async def test_a_user_with_credentials_stays_when_the_last_client_goes(tree: ClusterTree) -> None:
    await write(tree, "users", "ann", {"SCRAM-SHA-256": "salt=x"})
    await write(tree, "users", "ann/clients/c", RATE)
    await write(tree, "users", "ann/clients/c", {})
    assert await entity_paths(tree) == ["/config/users/ann"]
    assert await tree.config("users", "ann") == {"SCRAM-SHA-256": "salt=x"}


async def test_an_unreadable_node_is_not_overwritten_and_hides_no_other(tree: ClusterTree) -> None:
    await tree.store.create("/config/users/bob", b"no json")
    await write(tree, "users", "ann", RATE)
    assert await read_client_entities(tree) == {("users", "ann"): RATE}
    with pytest.raises(ZnodeDecodeError):
        await write(tree, "users", "bob", RATE)


async def test_a_tree_without_its_persistent_nodes_is_empty_and_refuses_changes(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 0)
    assert await read_client_entities(ClusterTree(store)) == {}
    with pytest.raises(NoNodeError):
        await write(ClusterTree(store), "users", "ann/clients/c", RATE)
    await store.close()


async def test_a_client_added_while_its_user_is_removed_stays(
    tree: ClusterTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(tree, "users", "ann", RATE)
    multi, others = tree.store.multi, [("users", "ann/clients/c")]

    async def after_another_writer(operations: Sequence[Operation]) -> list[OperationResult]:
        if others:
            await write(tree, *others.pop(), RATE)
        return await multi(operations)

    monkeypatch.setattr(tree.store, "multi", after_another_writer)
    await write(tree, "users", "ann", {})
    found = {key: value for key, value in (await read_client_entities(tree)).items() if value}
    assert found == {("users", "ann/clients/c"): RATE}


@pytest.mark.parametrize("seed", range(5))
async def test_writers_at_the_same_time_lose_no_change_and_leave_no_empty_node(tree: ClusterTree, seed: int) -> None:
    """Each writer owns one setting of every entity; at the end a setting must be that of its writer's last change."""
    random = Random(seed)
    last: dict[tuple[str, str], dict[str, str]] = {entity: {} for entity in ENTITIES}

    async def writer(key: str) -> None:
        for turn in range(15):
            entity = random.choice(ENTITIES)
            is_removal = random.random() < 0.5

            def change(old: Mapping[str, str]) -> Mapping[str, str]:
                others = {name: value for name, value in old.items() if name != key}
                return others if is_removal else others | {key: str(turn)}  # noqa: B023

            await change_client_entity(tree, *entity, change)
            last[entity].pop(key, None)
            if not is_removal:
                last[entity][key] = str(turn)

    await asyncio.gather(*(writer(key) for key in ("a", "b", "c")))
    expected = {entity: settings for entity, settings in last.items() if settings}
    assert {key: value for key, value in (await read_client_entities(tree)).items() if value} == expected
    needed = {
        "/config/" + "/".join(f"{kind}/{name}".split("/")[:depth])
        for kind, name in expected
        for depth in range(2, 2 + len(name.split("/")))
    }
    assert set(await entity_paths(tree)) == needed
    assert sum(Counter(await notified(tree)).values()) == 45
