"""Tests of the secret that the salts of unknown users are derived from."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.security.sasl.salt_secret import SALT_SECRET_PATH, salt_secret
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings


async def new_store(path: Path) -> EmbeddedStore:
    store = await EmbeddedStore.open(path, lambda: 0)
    await ClusterTree(store).create_persistent_paths()
    return store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    opened = await new_store(tmp_path / "metadata.db")
    yield opened
    await opened.close()


async def test_brokers_that_start_at_once_agree_on_the_secret(store: EmbeddedStore) -> None:
    found = await asyncio.gather(*(salt_secret(store) for _ in range(3)))
    assert len(set(found)) == 1
    assert await salt_secret(store) == found[0]


async def test_secret_of_each_cluster_is_random(store: EmbeddedStore, tmp_path: Path) -> None:
    other = await new_store(tmp_path / "other.db")
    assert await salt_secret(store) != await salt_secret(other)
    await other.close()


async def test_secret_is_no_user_and_is_kept_from_strangers_like_the_credentials(store: EmbeddedStore) -> None:
    await salt_secret(store)
    assert await ClusterTree(store).configs("users") == {}
    assert not ZooKeeperSettings("h:1", "", 1000, 1000, set_acl=True).may_be_read_by_all(SALT_SECRET_PATH)
