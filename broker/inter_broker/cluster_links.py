"""Wires the parts of a broker that talk to other brokers: replica fetchers, controller link, ISR changes.

Created only when there can be other brokers.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...base.kafka_names import TRANSACTION_STATE_TOPIC
from ...base.topic_partition import TopicPartition
from ...config.config import Config
from ...controller.producer_ids import ProducerIds
from ...controller.topics.auto_creation import AutoTopicCreation
from ...controller.topics.topic_admin import TopicAdmin
from ...controller.tree.metadata_store import MetadataStore
from ...protocol.errors import ErrorCode
from ...protocol.messages.controlled_shutdown import ControlledShutdownRequest
from ...protocol.sentinels import NO_LEADER
from ...replication.follower.fetcher import Fetcher
from ...replication.follower.fetcher_pool import FetcherId, ReplicaFetchers
from ...replication.leader.replication_throttle import ReplicationThrottle
from ...replication.partition.hosted_partition import HostedPartition
from ...replication.partition.isr import PendingIsr
from ...replication.partition.partition import Partition
from ...replication.partition_set import PartitionSet
from ...replication.transaction_checks import TransactionPart
from ..coordinator.share.ports import EndOffset, OtherShareCoordinators
from ..metadata.address import Address
from ..metadata.metadata_cache import MetadataCache
from .alter_partition_sender import AlterPartitionSender
from .broker_link import BrokerLink
from .contact_watch import ContactWatch
from .controller_client import ProducerIdClient, TopicCreationClient
from .controller_link import ControllerLink, LocalController
from .direct_calls import called_directly
from .leaving import Successors, hand_over_leaderships
from .link_factory import LinkFactory
from .marker_sender import MarkerSender
from .other_brokers import OtherBrokers
from .remote_end_offsets import end_offsets_at
from .remote_leader import FetchSettings, LeaderVersions, RemoteLeader
from .request_versions import RequestVersions

if TYPE_CHECKING:
    from ..coordinator.share.ports import ShareState
    from .remote_share_states import RemoteShareStates
    from .transaction_verification import TransactionVerification

__all__ = ["ClusterLinks"]

logger = logging.getLogger(__name__)

_LOOKS = 1_000
_BETWEEN_LOOKS_S = 0.005
_LOOKS_AT_THE_LAST_REQUESTS = 20
"""A tenth of a second: requests sent before clients learned of the new leader have arrived by then."""


class ClusterLinks:
    """``links`` makes all of them. ``broker_epoch()``: the epoch of this broker's registration.

    ``transaction_version()``: the level of that feature; the broker sets it.
    """

    dynamic_settings = (
        "num.replica.fetchers",
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
    )
    """The settings that `update_config` applies."""

    def __init__(
        self,
        links: LinkFactory,
        config: Config,
        broker_id: int,
        partitions: PartitionSet,
        cache: MetadataCache,
        controller: LocalController,
        *,
        broker_epoch: Callable[[], int],
        clock_ms: Callable[[], int],
        broken: Callable[[Exception], None],
    ) -> None:
        self._loop = loop = links.loop
        self._links = links
        self._config = config
        self._broker_id = broker_id
        self._partitions = partitions
        self._cache = cache
        self._broker_epoch = broker_epoch
        self.transaction_version: Callable[[], int] = lambda: 0
        self._clock_ms = clock_ms
        self._broken = broken
        self._is_controller = controller.is_active
        self._listener = config.inter_broker_listener_name
        self._versions = RequestVersions.of(config.string("inter.broker.protocol.version"))
        self._throttle = ReplicationThrottle()
        self._limit_replication(config)
        self.fetchers = ReplicaFetchers(config.int("num.replica.fetchers"), self._new_fetcher)
        self.controller = ControllerLink(
            loop,
            broker_id,
            controller_id=lambda: cache.controller_id,
            is_active=self._is_controller,
            address_of=self._address_of,
            link_to=self._link_to,
            local={
                key: called_directly(handler, self._listener, broker_id, clock_ms)
                for key, handler in controller.handlers.items()
            },
            timeout_ms=config.int("controller.socket.timeout.ms"),
        )
        self._alter_partition = AlterPartitionSender(
            loop, self.controller, partitions, broker_id, broker_epoch, self._versions.alter_partition, broken
        )
        self._contact: ContactWatch | None = None
        partitions.suspension.on_change(self._suspension_changed)
        self._transaction_verification: TransactionVerification | None = None
        self._share_states: RemoteShareStates | None = None
        self.markers = MarkerSender(
            loop,
            link_to=self.link_to_broker,
            version=lambda: self._versions.write_txn_markers_at(self.transaction_version()),
            timeout_ms=2 * config.int("request.timeout.ms"),
            broken=broken,
        )

    def topic_creation(self, admin: TopicAdmin) -> AutoTopicCreation:
        """Creates missing topics that clients ask for, also when this broker is not the controller."""
        topics = TopicCreationClient(
            self.controller, self._versions.create_topics, admin, self._is_controller, lambda: self._config
        )
        return AutoTopicCreation(topics, self._config)

    def producer_ids(self) -> ProducerIds:
        version = self._versions.allocate_producer_ids
        blocks = ProducerIdClient(self.controller, version, self._broker_id, self._broker_epoch)
        return ProducerIds(blocks.next_block)

    def propose_isr(self, partition: Partition, change: PendingIsr) -> None:
        """See `AlterPartitionSender.propose`."""
        self._alter_partition.propose(partition, change)

    def update_config(self, config: Config) -> None:
        """Apply changed dynamic settings."""
        self._config = config
        self.fetchers.resize(config.int("num.replica.fetchers"))
        self._limit_replication(config)
        self.fetchers.wake()

    async def leave(self) -> None:
        """Controlled shutdown: have other brokers lead this broker's partitions before it stops."""
        config = self._config
        if not config.boolean("controlled.shutdown.enable") or self._broker_epoch() < 0:
            return
        self.fetchers.follow_nobody_anew()
        has_led = self._leads_for_others()
        is_done = await hand_over_leaderships(
            self.controller.ask_once,
            ControlledShutdownRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch()),
            self._versions.controlled_shutdown,
            Successors(self._cache, self._broker_id),
            max_retries=config.int("controlled.shutdown.max.retries"),
            backoff_ms=config.int("controlled.shutdown.retry.backoff.ms"),
        )
        if is_done and has_led:
            await self._await_follower_role()
            await self._refuse_the_last_requests()

    async def _await_follower_role(self) -> None:
        """Wait for the controller's requests to follow, which come on another connection than its response.

        If the broker stopped before them, its producers would wait for followers that fetch from the new leader.
        """
        for _ in range(_LOOKS):
            if not self._leads_for_others():
                return
            await asyncio.sleep(_BETWEEN_LOOKS_S)
        logger.warning("stopping while still leader: no LeaderAndIsr arrived in time")

    async def _refuse_the_last_requests(self) -> None:
        """Keep serving a moment longer, so that requests on their way are refused as not-leader.

        Otherwise their clients would see the connection end and not know whether the request was carried out. Many
        short waits give other tasks as many chances to run on a busy machine.
        """
        for _ in range(_LOOKS_AT_THE_LAST_REQUESTS):
            await asyncio.sleep(_BETWEEN_LOOKS_S)

    def _leads_for_others(self) -> bool:
        leaders = (hosted.partition.leader for hosted in self._partitions.leaders())
        return any(leader is not None and leader.replicas for leader in leaders)

    def kill(self) -> None:
        self._stop_watching_contact()
        self.fetchers.kill()
        self._alter_partition.kill()
        if self._transaction_verification is not None:
            self._transaction_verification.kill()
        if self._share_states is not None:
            self._share_states.kill()
        self.markers.kill()
        self.controller.kill()

    async def stop_asking(self) -> None:
        """Fail requests to other brokers on which clients wait, so that clients retry elsewhere. Before connections
        are closed."""
        await self._alter_partition.close()
        if self._transaction_verification is not None:
            await self._transaction_verification.close()
        if self._share_states is not None:
            await self._share_states.close()
        await self.markers.close()
        await self.controller.close()

    async def close(self) -> None:
        await self.stop_asking()  # if the start failed before there were connections
        self._stop_watching_contact()
        await self.fetchers.close()

    def watch_contact(self, store: MetadataStore) -> None:
        """Suspend leaderships while this broker is cut off from the store and the other brokers."""
        lag_max_ms = self._config.int("replica.lag.time.max.ms")
        self._contact = ContactWatch(self._loop, store, self._partitions.suspension, lag_max_ms)

    def _stop_watching_contact(self) -> None:
        if self._contact is not None:
            self._contact.kill()

    def _suspension_changed(self, changed: Sequence[HostedPartition]) -> None:
        """Show clients that ask for metadata no leader of suspended partitions."""
        for hosted in changed:
            if hosted.partition.is_leader:
                self._cache.show_leader(hosted.topic_partition)
            else:
                self._cache.hide_leader(hosted.topic_partition)

    # -- links

    def other_brokers(self) -> OtherBrokers:
        """How the coordinators of this broker reach others."""
        share_coordinators = OtherShareCoordinators(self.other_leader_of, self._share_states_of, self._end_offsets)
        return OtherBrokers(self.ask_about_transaction, self.markers.send, share_coordinators)

    def _share_states_of(self, broker_id: int) -> "ShareState":
        return self._other_share_states().of_broker(broker_id)

    async def _end_offsets(self, broker_id: int, asked: Sequence[TopicPartition]) -> Mapping[TopicPartition, EndOffset]:
        link = self._other_share_states().link(broker_id)
        return await end_offsets_at(link, self._versions.list_offsets, self._config.int("request.timeout.ms"), asked)

    def _other_share_states(self) -> "RemoteShareStates":
        if self._share_states is None:
            from .remote_share_states import RemoteShareStates  # most clusters have no share groups

            self._share_states = RemoteShareStates(
                self._loop, self.link_to_broker, self._config.int("request.timeout.ms"), self._broken
            )
        return self._share_states

    def ask_about_transaction(
        self, part: TransactionPart, partition_for: Callable[[str], int], answered: Callable[[ErrorCode], None]
    ) -> None:
        """Ask the coordinator of a transaction, which is another broker.

        ``partition_for``: the partition of ``__transaction_state`` that stores an id, the same in every call.
        """
        if self._transaction_verification is None:
            from .transaction_verification import TransactionVerification  # most clusters see no transaction

            self._transaction_verification = TransactionVerification(
                self._loop,
                coordinator_of=lambda transactional_id: self._leader_of_transactions(partition_for(transactional_id)),
                link_to=self.link_to_broker,
                timeout_ms=self._config.int("request.timeout.ms"),
                broken=self._broken,
            )
        self._transaction_verification.ask(part, answered)

    def _leader_of_transactions(self, partition: int) -> int | None:
        """The other live broker that coordinates the ids of this partition of ``__transaction_state``."""
        return self.other_leader_of(TopicPartition(TRANSACTION_STATE_TOPIC, partition))

    def other_leader_of(self, topic_partition: TopicPartition) -> int | None:
        """The other live broker that leads the partition."""
        leader = self._cache.leader_of(*topic_partition)
        if leader is None or leader[0] in (NO_LEADER, self._broker_id) or self._address_of(leader[0]) is None:
            return None
        return leader[0]

    def link_to_broker(self, broker_id: int) -> BrokerLink:
        """A new link to another broker; the caller closes it."""
        return self._link_to(lambda: self._address_of(broker_id))

    @property
    def list_offsets_version(self) -> int:
        """The version of ListOffsets for other brokers, by inter.broker.protocol.version."""
        return self._versions.list_offsets

    def _address_of(self, broker_id: int) -> Address | None:
        endpoint = self._cache.endpoint_of(broker_id, self._listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)

    def _link_to(self, address: Callable[[], Address | None], client_id: str | None = None) -> BrokerLink:
        return self._links.link_to(address, self._listener, client_id or str(self._broker_id), self._config)

    def _new_fetcher(self, fetcher_id: FetcherId) -> Fetcher:
        config, leader_id = self._config, fetcher_id.leader_id
        name = f"broker-{self._broker_id}-fetcher-{fetcher_id.number}"  # Kafka's client id
        leader = RemoteLeader(
            self._link_to(lambda: self._address_of(leader_id), name),
            self._broker_id,
            LeaderVersions(self._versions.fetch, self._versions.list_offsets, self._versions.offset_for_leader_epoch),
            FetchSettings(
                max_wait_ms=config.int("replica.fetch.wait.max.ms"),
                min_bytes=config.int("replica.fetch.min.bytes"),
                response_max_bytes=config.int("replica.fetch.response.max.bytes"),
                partition_max_bytes=config.int("replica.fetch.max.bytes"),
                timeout_ms=config.int("replica.socket.timeout.ms"),
            ),
            self._broker_epoch,
        )
        return Fetcher(
            f"{name} from broker {leader_id}",
            self._loop,
            leader,
            self._partitions,
            backoff_ms=config.int("replica.fetch.backoff.ms"),
            clock_ms=self._clock_ms,
            is_held_back=self._is_held_back,
            received=self._note_received,
            broken=self._broken,
        )

    # -- replication throttles

    def _limit_replication(self, config: Config) -> None:
        windows = (
            config.int("replication.quota.window.num"),
            config.int("replication.quota.window.size.seconds") * 1000,
        )
        self._throttle.configure(config.dynamic_int("follower.replication.throttled.rate"), *windows)
        self._partitions.throttle.configure(config.dynamic_int("leader.replication.throttled.rate"), *windows)

    def _is_held_back(self, topic_partition: TopicPartition) -> bool:
        hosted = self._partitions.get(topic_partition)
        is_throttled = hosted is not None and hosted.is_throttled_as_follower
        return is_throttled and self._throttle.is_exceeded(self._partitions.monotonic_ms())

    def _note_received(self, topic_partition: TopicPartition, size_bytes: int) -> None:
        hosted = self._partitions.get(topic_partition)
        if hosted is not None and hosted.is_throttled_as_follower:
            self._throttle.record(size_bytes, self._partitions.monotonic_ms())
