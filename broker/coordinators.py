"""The coordinators of a broker, of groups and of transactions, with the parts of the broker that they use."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ..base.topic_partition import TopicPartition
from ..config.config import Config
from ..config.group_config import GroupConfig
from ..config.group_protocols import asks_for_share_groups
from ..controller.producer_ids import ProducerIdsExhaustedError
from ..controller.tree.metadata_store import MetadataStoreError
from ..protocol.errors import CoordinatorNotAvailableError, ErrorCode, KafkaError
from ..protocol.sentinels import NO_LEADER
from ..replication.partition_set import PartitionSet
from ..replication.state_changes import StateChanges
from ..replication.transaction_checks import TransactionChecks, TransactionPart
from .coordinator.coordinator_partitions import CoordinatorPartitions
from .coordinator.group.consumer.consumer_groups import ConsumerPorts
from .coordinator.group.consumer.settings import ConsumerGroupSettings
from .coordinator.group.coordinator import GroupCoordinator
from .coordinator.group.modern.cached_topics import CachedTopics
from .coordinator.group.settings import GroupSettings
from .coordinator.group.share.settings import ShareGroupSettings
from .coordinator.group.share.share_groups import SharePorts
from .coordinator.internal_topic import InternalTopic, consumer_offsets_settings, transaction_state_settings
from .coordinator.leadership_moves import CoordinatorMoves
from .coordinator.marker_writer import MarkerWriter, ProducerMarker
from .coordinator.share.no_states import NoShareStates
from .coordinator.transaction.coordinator import CoordinatorPorts, TransactionCoordinator
from .coordinator.transaction.end_markers import EndMarker, MarkersToWrite
from .coordinator.transaction.gathered_additions import GatheredAdditions
from .coordinator.transaction.marker_delivery import MarkerCodes, MarkerPorts
from .coordinator.transaction.requesting_producer import RequestingProducer
from .coordinator.transaction.settings import TransactionSettings
from .environment import Environment
from .inter_broker.other_brokers import OtherBrokers
from .metadata.metadata_cache import MetadataCache, MetadataUpdate
from .share_on_demand import ShareOnDemand

if TYPE_CHECKING:
    from .share_coordination import ShareCoordination

__all__ = ["CoordinatorParts", "Coordinators"]

logger = logging.getLogger(__name__)

Answered = Callable[[ErrorCode], None]
Spawn = Callable[[Coroutine[Any, Any, None]], None]


class CoordinatorParts(NamedTuple):
    """The parts of the broker that its coordinators use.

    ``others``: None on a broker without a cluster. ``transaction_version``: the level of that feature.
    ``create_topic``: has a missing internal topic created. ``group_config``: the settings of a group by its id.
    """

    broker_id: int
    partitions: PartitionSet
    cache: MetadataCache
    next_producer_id: Callable[[], Awaitable[int]]
    spawn: Spawn
    others: OtherBrokers | None
    transaction_version: Callable[[], int]
    create_topic: Callable[[str], Awaitable[object]]
    group_config: Callable[[str], GroupConfig]


class Coordinators:
    """Used on ``loop``."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, config: Config, environment: Environment, parts: CoordinatorParts
    ) -> None:
        self._parts = parts
        self._now_ms = now_ms = environment.clock_ms
        timers = environment.timers_on(loop)
        offsets = InternalTopic(consumer_offsets_settings(config), parts.partitions, parts.cache, now_ms)
        state = InternalTopic(transaction_state_settings(config), parts.partitions, parts.cache, now_ms)
        topics = CachedTopics(parts.cache)
        consumers = ConsumerPorts(ConsumerGroupSettings.from_config(config), topics, parts.group_config)
        make_share = partial(self._share_coordination, loop, config, environment)
        self.share = share = ShareOnDemand(make_share) if asks_for_share_groups(config) else None
        share_states = NoShareStates() if share is None else share.states
        share_settings = ShareGroupSettings.from_config(config)
        shares = SharePorts(share_settings, topics, share_states, parts.group_config)
        self.groups = GroupCoordinator(
            GroupSettings.from_config(config), offsets, timers, now_ms, environment.new_uuid, consumers, shares
        )
        self.marker_writer = MarkerWriter(parts.partitions, self.groups.commits, config.int("request.timeout.ms"))
        self.transactions = TransactionCoordinator(
            TransactionSettings.from_config(config),
            state,
            CoordinatorPorts(
                timers,
                now_ms,
                environment.random,
                MarkerPorts(parts.broker_id, self._leader_of, self._write_marker, self._send_markers),
                self._take_producer_id,
                self.groups.partition_for,
                parts.transaction_version,
            ),
        )
        self._additions = GatheredAdditions(self.transactions.requests, loop)
        self.transaction_checks = TransactionChecks(
            parts.partitions,
            self._ask_about_transaction,
            now_ms,
            is_enabled=config.boolean("transaction.partition.verification.enable"),
        )
        coordinated: list[CoordinatorPartitions[Any]] = [self.groups.partitions, self.transactions.partitions]
        on_demand = {} if share is None else {SHARE_GROUP_STATE_TOPIC: share.partitions}
        self._moves = moves = CoordinatorMoves(coordinated, parts.spawn, on_demand)
        self.groups.load_again_by(
            lambda partition, epoch: moves.load(TopicPartition(CONSUMER_OFFSETS_TOPIC, partition), epoch)
        )
        self._known_topics: set[str] = set()

    dynamic_settings = ("transaction.partition.verification.enable",)
    """The settings that `update_config` applies."""

    def update_config(self, config: Config) -> None:
        """Apply changed dynamic settings."""
        self.transaction_checks.is_enabled = config.boolean("transaction.partition.verification.enable")

    def follow(self, changes: StateChanges) -> None:
        """Load and unload with the leaderships of this broker, from now on."""
        changes.on_leadership(self._moves.leadership_changed)
        self._parts.cache.on_update(self._metadata_updated)

    def start(self) -> None:
        """Start the periodic work of the coordinators."""
        self.groups.start()
        self.transactions.start()
        if self.share is not None:
            self.share.start()

    async def close(self) -> None:
        """Stop answering, and wait for running appends."""
        if self.share is not None:
            await self.share.close()
        await self.transactions.close()
        await self.groups.close()

    def kill(self) -> None:
        """Stop answering."""
        if self.share is not None:
            self.share.kill()
        self.transactions.kill()
        self.groups.kill()

    def _share_coordination(
        self, loop: asyncio.AbstractEventLoop, config: Config, environment: Environment
    ) -> "ShareCoordination":
        from .share_coordination import ShareCoordination, ShareParts  # most brokers have no share groups

        parts = self._parts
        others = None if parts.others is None else parts.others.share_coordinators
        return ShareCoordination(
            loop,
            config,
            environment,
            ShareParts(parts.partitions, parts.cache, parts.create_topic, parts.spawn, others),
        )

    def _metadata_updated(self, update: MetadataUpdate) -> None:
        self._moves.partitions_deleted(update.deleted)
        if update.deleted:
            self.groups.administration.forget_partitions(update.deleted)
        self._tell_consumer_groups(update.topics)
        count = self._parts.cache.partition_count(TRANSACTION_STATE_TOPIC)
        if count:
            self.transactions.registry.check_partition_count(count)
        self.transactions.leaders_changed()

    def _tell_consumer_groups(self, topics: Sequence[str]) -> None:
        known, cache = self._known_topics, self._parts.cache
        came = {topic for topic in topics if topic not in known and cache.has_topic(topic)}
        went = {topic for topic in topics if topic in known and not cache.has_topic(topic)}
        self.groups.consumers.topics_changed(topics)
        if self.groups.shares is not None:
            self.groups.shares.topics_changed(topics)
        if came or went:
            known |= came
            known -= went
            self.groups.consumers.topics_came_or_went()

    # -- what the transaction coordinator needs

    def _leader_of(self, topic_partition: TopicPartition) -> int | None:
        """See `MarkerPorts`. The first metadata that the controller sends has all partitions of the cluster."""
        cache = self._parts.cache
        leader = cache.leader_of(*topic_partition)
        if leader is None:
            return None if cache.has_topic(TRANSACTION_STATE_TOPIC) else NO_LEADER
        return leader[0] if cache.is_alive(leader[0]) else NO_LEADER

    def _write_marker(self, marker: EndMarker, topic_partition: TopicPartition, done: Answered) -> None:
        end = ProducerMarker(
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            marker.is_commit,
            marker.bumps_epochs,
        )
        self.marker_writer.write(end, topic_partition, self._now_ms(), done)

    def _send_markers(
        self, broker_id: int, markers: Sequence[MarkersToWrite], answered: Callable[[MarkerCodes | None], None]
    ) -> None:
        others = self._parts.others
        assert others is not None
        others.send_markers(broker_id, markers, answered)

    def _take_producer_id(self, done: Callable[[int | KafkaError], None]) -> None:
        self._parts.spawn(self._take_from(done))

    async def _take_from(self, done: Callable[[int | KafkaError], None]) -> None:
        producer_id: int | KafkaError
        try:
            producer_id = await self._parts.next_producer_id()
        except KafkaError as error:
            producer_id = error
        except (MetadataStoreError, ProducerIdsExhaustedError) as error:
            logger.warning("no producer id for a transactional producer: %s", error)
            producer_id = CoordinatorNotAvailableError()
        done(producer_id)

    def _ask_about_transaction(self, part: TransactionPart, answered: Answered) -> None:
        """Ask the coordinator of the transaction, which may be this broker."""
        others = self._parts.others
        producer = RequestingProducer(part.producer_id, part.producer_epoch)
        if part.adds:
            code = self.transactions.registry.check(part.transactional_id)
        else:
            codes = self.transactions.requests.verify(part.transactional_id, producer, [part.topic_partition])
            code = codes[part.topic_partition]
        if code is ErrorCode.NOT_COORDINATOR and others is not None:
            others.ask_about_transaction(part, self.transactions.partition_for, answered)
        elif part.adds:
            added = partial(_answer_leader, answered)
            self._additions.add(part.transactional_id, producer, part.topic_partition, added)
        else:
            _answer_leader(answered, code)


def _answer_leader(answered: Answered, code: ErrorCode) -> None:
    """On PRODUCER_FENCED a producer would stop instead of starting a new transaction."""
    answered(ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code)
