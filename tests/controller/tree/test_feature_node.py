"""The ``/feature`` znode is written as each Kafka release writes it."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pybroker.config.load import unchecked_config
from pybroker.controller.controller_settings import ControllerSettings
from pybroker.controller.tree import znodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.feature_node import enable_features
from pybroker.controller.tree.znodes import Features, FeatureStatus


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 0)
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("release", "version"), [("3.0", 1), ("3.2", 1), ("3.2-IV0", 1), ("3.3-IV0", 2), ("3.3", 2), ("3.9.1", 2)]
)
async def test_the_node_is_written_as_the_release_reads_it(store: EmbeddedStore, release: str, version: int) -> None:
    await enable_features(store, release, {})
    data, _ = await store.get(znodes.FEATURE_PATH)
    assert json.loads(data) == {"version": version, "status": 1, "features": {}}


async def test_feature_levels_survive_an_upgrade_and_a_downgrade(store: EmbeddedStore) -> None:
    levels = {"f": 3}
    await store.create(znodes.FEATURE_PATH, Features(levels, version=1).encode())
    for release, version, zk_version in (("3.2", 1, 0), ("3.9", 2, 1), ("3.9", 2, 1), ("3.0", 1, 2)):
        await enable_features(store, release, {})
        data, stat = await store.get(znodes.FEATURE_PATH)
        assert (Features.decode(data), stat.version) == (Features(levels, version=version), zk_version)


async def test_disabled_features_start_without_levels_when_enabled(store: EmbeddedStore) -> None:
    await store.create(znodes.FEATURE_PATH, Features({"f": 3}, FeatureStatus.DISABLED).encode())
    await enable_features(store, "3.9", {})
    data, _ = await store.get(znodes.FEATURE_PATH)
    assert Features.decode(data) == Features()


async def test_levels_of_a_new_store_leave_those_of_an_older_one_alone(store: EmbeddedStore) -> None:
    await enable_features(store, "3.9", {"f": 2})
    data, _ = await store.get(znodes.FEATURE_PATH)
    assert Features.decode(data) == Features({"f": 2})
    await enable_features(store, "3.9", {"f": 3})
    assert (await store.get(znodes.FEATURE_PATH))[0] == data


async def test_new_store_of_a_single_broker_begins_with_transaction_version_2() -> None:
    def levels(**settings: str) -> Mapping[str, int]:
        config = unchecked_config("", {"broker.id": "1", "log.dirs": "/d", **settings})
        return ControllerSettings.from_config(1, config, lambda: False).levels_of_new

    assert levels() == {"transaction.version": 2}
    assert levels(**{"zookeeper.connect": "zk:2181"}) == {}
