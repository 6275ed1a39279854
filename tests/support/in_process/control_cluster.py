"""Several controllers on one ZooKeeper in memory, each with its session, and brokers that record requests."""

import asyncio
from collections.abc import Callable, Mapping
from random import Random

from pybroker.config.load import unchecked_config
from pybroker.controller.controller import Controller
from pybroker.controller.metadata_plane import BrokerIdentity, MetadataCallbacks, MetadataPlane
from pybroker.controller.topics.settings_limit import SettingsLimit
from pybroker.controller.tree.metadata_store import MetadataStore
from pybroker.controller.tree.renewing_store import RenewingStore
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from simulation.machines.model_zookeeper import ModelZooKeeper
from support.in_process.control_plane import FakeBroker
from support.time.patience import LOOKS

__all__ = ["ControlCluster"]

_BETWEEN_LOOKS_S = 0.001


class ControlCluster:
    """`zookeeper`: where the test can cut and end sessions; those of broker N belong to client ``broker-N``."""

    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000
        self.zookeeper = ModelZooKeeper(
            asyncio.get_running_loop(), Random(1), lambda: self.now_ms, latency_s=(0.0, 0.0)
        )
        self.brokers: dict[int, FakeBroker] = {}
        self.planes: dict[int, MetadataPlane] = {}
        self.failures: list[Exception] = []
        self.registrations: dict[int, list[int]] = {}

    @classmethod
    async def start(cls, *broker_ids: int) -> "ControlCluster":
        cluster = cls()
        for broker_id in broker_ids:
            await cluster.start_broker(broker_id)
        return cluster

    async def stop(self) -> None:
        for broker_id in list(self.planes):
            await self.stop_broker(broker_id)
        assert self.failures == []

    async def start_broker(self, broker_id: int, settings: Mapping[str, str] | None = None) -> MetadataPlane:
        async def begin_session() -> MetadataStore:
            return await self.zookeeper.open(f"broker-{broker_id}")

        self.brokers.setdefault(broker_id, FakeBroker(broker_id))
        store = await RenewingStore.open(begin_session, self.failures.append)
        plane = MetadataPlane(
            store,
            unchecked_config("", {"broker.id": str(broker_id), "zookeeper.connect": "model:2181", **(settings or {})}),
            BrokerIdentity(broker_id, "cluster"),
            channel_to=self._channel_to,
            clock_ms=lambda: self.now_ms,
            random=Random(broker_id),
            settings_limit=SettingsLimit(1 << 30, lambda: 0),
            callbacks=MetadataCallbacks(
                fatal=self.failures.append, on_registered=self.registrations.setdefault(broker_id, []).append
            ),
        )
        await plane.tree.create_persistent_paths()
        self.planes[broker_id] = plane
        await plane.start([RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", f"host-{broker_id}", 9092)])
        return plane

    async def stop_broker(self, broker_id: int) -> None:
        plane = self.planes.pop(broker_id)
        await plane.stop()
        await plane.store.close()

    def crash(self, broker_id: int) -> None:
        """Kill a broker; its session lives on until `expire`."""
        plane = self.planes.pop(broker_id)
        plane.kill()
        plane.store.kill()

    def session(self, broker_id: int) -> int:
        return self.planes[broker_id].store.session_id

    def know(self, topic: str) -> bool:
        """Whether all running brokers know the topic."""
        return all(self.brokers[broker_id].metadata.has_topic(topic) for broker_id in self.planes)

    @property
    def active(self) -> Controller:
        (controller,) = [plane.controller for plane in self.planes.values() if plane.controller.is_active]
        return controller

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Poll a condition; ``what`` names it in the failure."""
        for _ in range(LOOKS):
            if holds():
                return
            await asyncio.sleep(_BETWEEN_LOOKS_S)
        raise AssertionError(f"not after {LOOKS} looks: {what}")

    def _channel_to(self, broker_id: int, info: Callable[[], BrokerInfo | None]) -> FakeBroker:
        return self.brokers.setdefault(broker_id, FakeBroker(broker_id))
