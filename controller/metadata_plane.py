"""Combines the parts that work on the cluster's metadata: tree, registration, controller, topic administration."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from random import Random

from ..base.frozen import frozen
from ..config.config import Config
from ..protocol.replica_assignment import BrokerRack
from .broker_channel import ChannelTo
from .broker_registration import (
    BrokerIdTakenError,
    BrokerRegistration,
    cluster_id,
    earlier_broker_id,
    generate_broker_id,
)
from .controller import Controller
from .controller_settings import ControllerSettings
from .features import registered_features
from .producer_ids import ProducerIdBlocks, ProducerIds
from .topics.auto_creation import AutoTopicCreation
from .topics.partition_limit import PartitionLimit
from .topics.settings_limit import SettingsLimit
from .topics.topic_admin import TopicAdmin
from .topics.topic_growth import TopicGrowth
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import MetadataStore, MetadataStoreError, SessionEvent, SessionExpiredError, StoreClosedError
from .tree.znodes import BrokerInfo, RegisteredEndpoint, ZnodeDecodeError

__all__ = ["BrokerIdentity", "MetadataCallbacks", "MetadataPlane", "resolve_identity", "session_end_wait_ms"]

logger = logging.getLogger(__name__)

_MOST_MARGIN_MS = 5_000
_PATIENCE_OF_A_SINGLE_BROKER_MS = 1_000
"""Only its own disk can delay topics and producer ids. The first consumer gets its coordinator in one round trip."""
_RETRY_SECONDS = 1.0


@frozen
class BrokerIdentity:
    """The broker id and the cluster id, which ``meta.properties`` of each log directory contains."""

    broker_id: int
    cluster_id: str


async def resolve_identity(
    store: MetadataStore, config: Config, stored_broker_id: int | None, random: Random
) -> BrokerIdentity:
    """Find out the broker id and the cluster id, as the first step of the start.

    ``stored_broker_id`` comes from ``meta.properties``; None in new directories. A broker without ``broker.id`` (-1)
    keeps that id, or the id that its embedded store knows, or gets the next id from the tree (from 1001 on).
    """
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    cluster = await cluster_id(tree, random)
    broker_id = config.int("broker.id")
    if broker_id < 0:
        broker_id = await _own_number(tree, config) if stored_broker_id is None else stored_broker_id
    return BrokerIdentity(broker_id, cluster)


async def _own_number(tree: ClusterTree, config: Config) -> int:
    reserved_max = config.int("reserved.broker.max.id")
    earlier = await earlier_broker_id(tree, reserved_max) if config.uses_embedded_store else None
    return await generate_broker_id(tree, reserved_max) if earlier is None else earlier


@frozen(kw_only=True)
class MetadataCallbacks:
    """The broker's reactions to reports of its metadata plane.

    Attributes:
        fatal: the broker cannot go on: the store failed, or the controller found a bug of its own.
        on_deletion_settled: nothing of this topic is left in the tree, or its deletion has to wait for a broker.
        on_registered: this broker was registered with this broker epoch, at its start or in a new session.
    """

    fatal: Callable[[Exception], None]
    on_deletion_settled: Callable[[str], None] = lambda _topic: None
    on_registered: Callable[[int], None] = lambda _broker_epoch: None


class MetadataPlane:
    """Built after `resolve_identity`; started when the broker's listeners are bound and its handlers can be called.

    ``channel_to`` makes the channel to a broker; with the embedded store that is a `LocalChannel` to this broker.
    """

    def __init__(
        self,
        store: MetadataStore,
        config: Config,
        identity: BrokerIdentity,
        *,
        channel_to: ChannelTo,
        clock_ms: Callable[[], int],
        random: Random,
        settings_limit: SettingsLimit,
        callbacks: MetadataCallbacks,
    ) -> None:
        self.store = store
        self.config = config
        self.identity = identity
        self.settings_limit = settings_limit
        self._clock_ms = clock_ms
        self._callbacks = callbacks
        self.tree = ClusterTree(store)
        self.registration = BrokerRegistration(self.tree)
        self.controller = Controller(
            ControllerSettings.from_config(
                identity.broker_id, config, lambda: self.config.boolean("unclean.leader.election.enable")
            ),
            self.tree,
            channel_to=channel_to,
            clock_ms=clock_ms,
            random=random,
            fatal=callbacks.fatal,
            on_deletion_settled=callbacks.on_deletion_settled,
        )
        limit = PartitionLimit.from_config(config, lambda: self.controller.context.partition_count)
        self.topics = TopicAdmin(self.tree, config, self._live_brokers, random, limit, settings_limit)
        self.growth = TopicGrowth(self.tree, self._live_brokers, limit)
        self.auto_creation = AutoTopicCreation(self.topics, config, _PATIENCE_OF_A_SINGLE_BROKER_MS)
        blocks = ProducerIdBlocks(self.tree)
        self.producer_ids = ProducerIds(lambda: blocks.next_block(identity.broker_id), _PATIENCE_OF_A_SINGLE_BROKER_MS)
        # the registration
        self.broker_epoch = -1
        self._can_write = True
        self._has_session = asyncio.Event()
        self._has_session.set()
        self._endpoints: Sequence[RegisteredEndpoint] = ()
        self._rejoining: asyncio.Task[None] | None = None
        store.on_session_event(self._on_session_event)

    async def start(self, endpoints: Sequence[RegisteredEndpoint]) -> int:
        """Register this broker with ``endpoints``, the advertised addresses, and take part in the controller election.

        Returns the broker epoch as soon as there is a controller and, if it is this broker, this broker has taken its
        roles. Raises BrokerIdTakenError.
        """
        self._endpoints = endpoints
        await self._register_first()
        await self.controller.start()
        return self.broker_epoch

    async def _register_first(self) -> None:
        """Register, in the next session if this one expires: a start may take longer than a session."""
        while True:
            try:
                await self._register()
            except SessionExpiredError as error:
                logger.warning("broker %d registers in the next session: %s", self.identity.broker_id, error)
                await self._has_session.wait()
            else:
                return

    async def _register(self) -> None:
        wait_ms = session_end_wait_ms(
            max(self.config.int("zookeeper.session.timeout.ms"), self.store.session_timeout_ms)
        )
        self.broker_epoch = await self.registration.register(self._info(self._endpoints), wait_ms)
        self._callbacks.on_registered(self.broker_epoch)

    async def advertise(self, endpoints: Sequence[RegisteredEndpoint]) -> None:
        """Change the advertised addresses; the controller tells every broker."""
        self._endpoints = endpoints
        await self.registration.update(self._info(endpoints))

    def _info(self, endpoints: Sequence[RegisteredEndpoint]) -> BrokerInfo:
        return BrokerInfo(
            broker_id=self.identity.broker_id,
            endpoints=tuple(endpoints),
            timestamp_ms=self._clock_ms(),
            rack=self.config.optional_string("broker.rack"),
            features=registered_features(self.config),
        )

    def update_config(self, config: Config) -> None:
        """Apply changed dynamic settings of the broker."""
        self.config = config
        self.topics.update_config(config)

    async def stop(self) -> None:
        """Stop the controller and unregister. The store stays open; its owner closes it last."""
        if self._rejoining is not None:
            self._rejoining.cancel()
            await asyncio.gather(self._rejoining, return_exceptions=True)
        await self.auto_creation.stop()
        await self.producer_ids.stop()
        await self.controller.stop()
        if self.broker_epoch >= 0:
            self.broker_epoch = -1
            if self._can_write:  # otherwise the call would wait; the node ends with the session
                await self.registration.unregister(self.identity.broker_id)

    def kill(self) -> None:
        """End as a crash does: the registration stays in the tree."""
        if self._rejoining is not None:
            self._rejoining.cancel()
        self.controller.kill()
        self.auto_creation.kill()
        self.producer_ids.kill()

    def _on_session_event(self, event: SessionEvent) -> None:
        self._can_write = event in (SessionEvent.CONNECTED, SessionEvent.RENEWED)
        if event is SessionEvent.EXPIRED:
            self._has_session.clear()
            if self.config.uses_embedded_store:
                self._callbacks.fatal(StoreClosedError(None, "the embedded metadata store failed"))
        elif event is SessionEvent.RENEWED:
            self._has_session.set()
            self._rejoin_soon()

    def _rejoin_soon(self) -> None:
        if self.broker_epoch >= 0:  # else `start` registers
            if self._rejoining is not None:
                self._rejoining.cancel()  # it still works in an earlier session
            self._rejoining = asyncio.get_running_loop().create_task(self._rejoin(), name="rejoin-cluster")

    async def _rejoin(self) -> None:
        """Register in a new session. The controller treats the broker as restarted and sends its roles again."""
        while True:
            try:
                await self._register()
            except (SessionExpiredError, StoreClosedError):
                return  # another session will follow, or none
            except BrokerIdTakenError as error:
                self._callbacks.fatal(error)
                return
            except (MetadataStoreError, ZnodeDecodeError) as error:
                logger.error("broker %d cannot register: %s", self.identity.broker_id, error)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                self.controller.stand_for_election()
                return

    def _live_brokers(self) -> list[BrokerRack]:
        context = self.controller.context
        brokers = (context.broker(broker_id) for broker_id in context.live_ids)
        return [BrokerRack(info.broker_id, info.rack) for info in brokers if info is not None]


def session_end_wait_ms(session_timeout_ms: int) -> int:
    """How long to wait for the node of another session to vanish.

    ZooKeeper ends a session up to one tick late, and no session is shorter than two ticks.
    """
    return session_timeout_ms + min(session_timeout_ms // 2 + 1_000, _MOST_MARGIN_MS)
