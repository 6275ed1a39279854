"""The level of transaction.version: who may change it, and how every broker learns it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pybroker.config.load import load_config
from pybroker.controller.features import (
    FeatureLevels,
    FeatureUpdate,
    UpgradeType,
    registered_features,
    why_refused,
)
from pybroker.controller.level_check import UnsupportedLevelError, check_levels
from pybroker.controller.tree import znodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import WatchEvent
from pybroker.controller.tree.znodes import BrokerInfo, Features, FeatureStatus, RegisteredEndpoint
from pybroker.protocol.errors import NotControllerError
from support.in_process.control_cluster import ControlCluster

UPGRADE, SAFE, UNSAFE = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE
ENDPOINTS = (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)
CLASSIC = load_config("group.coordinator.rebalance.protocols=classic")
PYBROKER = BrokerInfo(1, ENDPOINTS, 0, features=registered_features(CLASSIC))
KAFKA_3_9 = BrokerInfo(2, ENDPOINTS, 0)
OLDER = BrokerInfo(3, ENDPOINTS, 0, features={"transaction.version": {"min_version": 1, "max_version": 1}})


@pytest.mark.parametrize(
    ("update", "current", "brokers", "reason"),
    [
        (FeatureUpdate(2, UPGRADE), 0, [PYBROKER], None),
        (FeatureUpdate(2, UPGRADE), 2, [PYBROKER], None),
        (FeatureUpdate(0, SAFE), 2, [PYBROKER], None),
        (FeatureUpdate(1, UNSAFE), 2, [PYBROKER], None),
        (FeatureUpdate(0, SAFE), 2, [PYBROKER, KAFKA_3_9], None),
        (FeatureUpdate(2, UpgradeType.UNKNOWN), 0, [PYBROKER], "does not support the given upgrade type"),
        (FeatureUpdate(-1, UPGRADE), 0, [PYBROKER], "cannot be less than 0"),
        (FeatureUpdate(3, UPGRADE), 0, [PYBROKER], "Broker 1 only supports versions 0-2"),
        (FeatureUpdate(1, UPGRADE), 0, [PYBROKER, KAFKA_3_9], "Broker 2 does not support this feature."),
        (FeatureUpdate(2, UPGRADE), 0, [PYBROKER, OLDER], "Broker 3 only supports versions 0-1"),
        (FeatureUpdate(1, UPGRADE), 2, [PYBROKER], "Can't downgrade the version of this feature without setting"),
        (FeatureUpdate(2, SAFE), 1, [PYBROKER], "Can't downgrade to a newer version."),
    ],
)
def test_level_is_changed_only_as_kafka_4_changes_it(
    update: FeatureUpdate, current: int, brokers: list[BrokerInfo], reason: str | None
) -> None:
    refusal = why_refused(update, current, brokers)
    assert refusal == reason if reason is None or refusal is None else reason in refusal


class Reader:
    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        self.levels = FeatureLevels(store)
        self.levels.on_change(self._changed)
        self.changes: list[int] = []
        self.events = 0

    def _changed(self) -> None:
        self.changes.append(self.levels.transaction_version)

    async def read(self) -> tuple[int, int]:
        await self.levels.read(self._tell)
        return self.levels.transaction_version, self.levels.epoch

    def _tell(self, _event: WatchEvent) -> None:
        self.events += 1

    async def write(self, features: Features) -> None:
        await self.store.set(znodes.FEATURE_PATH, features.encode())


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 0)
    yield Reader(store)
    await store.close()


async def test_level_and_epoch_are_read_again_when_the_node_changes(reader: Reader) -> None:
    assert await reader.read() == (0, 0)
    await reader.store.create(znodes.FEATURE_PATH, Features().encode())
    assert reader.events == 1
    assert await reader.read() == (0, 0)
    await reader.write(Features({"transaction.version": 2}))
    assert await reader.read() == (2, 1)
    assert (reader.events, reader.changes) == (2, [2])


async def test_level_that_is_there_at_the_start_is_no_change(reader: Reader) -> None:
    await reader.store.create(znodes.FEATURE_PATH, Features({"transaction.version": 2}).encode())
    assert await reader.read() == (2, 0)
    assert reader.changes == []


@pytest.mark.parametrize("data", [b"{", Features({"transaction.version": 2}, FeatureStatus.DISABLED).encode()])
async def test_no_level_is_in_force_when_the_node_is_disabled_or_cannot_be_read(reader: Reader, data: bytes) -> None:
    await reader.store.create(znodes.FEATURE_PATH, data)
    assert await reader.read() == (0, 0)


async def test_node_is_read_again_after_a_lost_watch(reader: Reader) -> None:
    await reader.store.create(znodes.FEATURE_PATH, Features().encode())
    await reader.read()
    reader.levels.outdated()
    await reader.write(Features({"transaction.version": 1}))
    assert await reader.read() == (1, 1)


async def levels_in(cluster: ControlCluster) -> Features:
    (store, *_) = [plane.store for plane in cluster.planes.values()]
    return Features.decode((await store.get(znodes.FEATURE_PATH))[0])


async def test_controller_writes_the_level_when_every_broker_supports_it() -> None:
    cluster = await ControlCluster.start(1, 2, 3)
    assert await cluster.active.update_feature(FeatureUpdate(2, UPGRADE), validate_only=True) is None
    assert (await levels_in(cluster)).levels == {}
    assert await cluster.active.update_feature(FeatureUpdate(2, UPGRADE), validate_only=False) is None
    assert (await levels_in(cluster)).levels == {"transaction.version": 2}
    assert await cluster.active.update_feature(FeatureUpdate(0, SAFE), validate_only=False) is None
    assert (await levels_in(cluster)).levels == {}
    await cluster.stop()


@pytest.mark.parametrize(("feature", "protocol"), [("group.version", "consumer"), ("share.version", "share")])
def test_feature_of_a_group_protocol_is_raised_only_when_every_broker_asks_for_the_protocol(
    feature: str, protocol: str
) -> None:
    update = FeatureUpdate(1, UPGRADE, feature)
    config = load_config(f"group.coordinator.rebalance.protocols=classic,{protocol}")
    asking = replace(PYBROKER, features=registered_features(config))
    assert asking.features.keys() == {"transaction.version", feature}
    assert why_refused(update, 0, [asking]) is None
    assert why_refused(update, 0, [asking, PYBROKER]) == "Broker 1 does not support this feature."


@pytest.mark.parametrize(
    ("levels", "protocols", "refused"),
    [
        ({}, "classic", None),
        ({"transaction.version": 2}, "classic", None),
        ({"transaction.version": 3}, "classic", "transaction.version is 3 in this cluster"),
        ({"group.version": 1, "share.version": 1}, "classic,consumer,share", None),
        ({"group.version": 1}, "classic,share", "group.version is 1 in this cluster"),
        ({"share.version": 1}, "classic,consumer", "share.version is 1 in this cluster"),
        ({"share.version": 2}, "classic,share", "share.version is 2 .* supports levels up to 1"),
        ({"of.a.later.release": 1}, "classic", "of.a.later.release is 1 in this cluster"),
    ],
)
def test_broker_may_not_be_a_member_of_a_cluster_with_levels_that_it_does_not_support(
    levels: Mapping[str, int], protocols: str, refused: str | None
) -> None:
    config = load_config(f"group.coordinator.rebalance.protocols={protocols}")
    with nullcontext() if refused is None else pytest.raises(UnsupportedLevelError, match=refused):
        check_levels(levels, config)


async def test_controller_refuses_the_level_beside_a_kafka_3_9() -> None:
    cluster = await ControlCluster.start(1)
    kafka = await cluster.zookeeper.open("kafka")
    await kafka.create(KAFKA_3_9.path, KAFKA_3_9.encode(), ephemeral=True)
    await cluster.until(lambda: 2 in cluster.active.context.live_ids, "the controller knows the Kafka")
    reason = await cluster.active.update_feature(FeatureUpdate(2, UPGRADE), validate_only=False)
    assert reason == "Broker 2 does not support this feature."
    assert (await levels_in(cluster)).levels == {}
    await cluster.stop()


async def test_other_brokers_refuse_to_change_the_level() -> None:
    cluster = await ControlCluster.start(1, 2)
    (other,) = [plane.controller for plane in cluster.planes.values() if not plane.controller.is_active]
    with pytest.raises(NotControllerError):
        await other.update_feature(FeatureUpdate(2, UPGRADE), validate_only=False)
    await cluster.stop()
