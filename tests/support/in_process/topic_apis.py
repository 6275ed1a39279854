"""The topic APIs of a broker over a real controller, with a partition set controlled by the test."""

from pathlib import Path
from random import Random

from pybroker.broker.metadata.advertised_address import AdvertisedAddresses
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.metadata.topic_waiters import TopicWaiters
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import RequestContext
from pybroker.config.config import Config
from pybroker.config.load import load_config
from pybroker.controller.metadata_plane import MetadataCallbacks, MetadataPlane, resolve_identity
from pybroker.controller.topics.settings_limit import SettingsLimit
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.znodes import RegisteredEndpoint
from support.in_process.control_plane import FakeBroker


def reached(host: str, listener_name: str = "PLAINTEXT") -> ConnectionInfo:
    """A client's connection that used the address ``host``."""
    return ConnectionInfo(listener_name, "PLAINTEXT", (host, 19092), ("client", 50_000))


ADDRESS = reached("10.1.2.3")


def context(api_version: int, address: ConnectionInfo = ADDRESS) -> RequestContext:
    return RequestContext(api_version, 1, "test", address, 1_700_000_000_000)


class TopicApis:
    """One broker with the embedded store."""

    def __init__(self, config: Config, store: EmbeddedStore, plane: MetadataPlane, broker: FakeBroker) -> None:
        self.config = config
        self.plane = plane
        self.broker = broker
        self.cache: MetadataCache = broker.metadata
        self._store = store
        self.waiters = TopicWaiters(self.cache)
        self.addresses = AdvertisedAddresses(self.cache, broker.broker_id, as_reached={"PLAINTEXT"})

    @classmethod
    async def start(cls, directory: Path, settings: str = "") -> "TopicApis":
        config = load_config(f"broker.id=1\nlog.dirs={directory}\n{settings}")
        store = await EmbeddedStore.open(config.metadata_store_path, lambda: 1_700_000_000_000)
        identity = await resolve_identity(store, config, None, Random(1))
        broker = FakeBroker(identity.broker_id)
        failures: list[Exception] = []
        plane = MetadataPlane(
            store,
            config,
            identity,
            channel_to=lambda _broker_id, _info: broker,
            clock_ms=lambda: 1_700_000_000_000,
            random=Random(2),
            settings_limit=SettingsLimit(1 << 30, lambda: 0),
            callbacks=MetadataCallbacks(
                fatal=failures.append, on_deletion_settled=lambda _topic: apis.waiters.recheck()
            ),
        )
        apis = cls(config, store, plane, broker)
        await plane.start([RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "registered", 9092)])
        return apis

    async def stop(self) -> None:
        self.broker.reachable.set()
        await self.plane.stop()
        await self._store.close()
