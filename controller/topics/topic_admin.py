"""Creates and deletes topics for clients (Kafka's ZkAdminManager and AdminZkClient).

It checks the request and writes it into the tree; the controller's watches do the rest.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from random import Random
from uuid import UUID

from ...base.frozen import frozen
from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.topic_config import TopicConfig
from ...protocol.errors import (
    InvalidConfigurationError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    NotControllerError,
    TopicExistsError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from ...protocol.replica_assignment import BrokerRack, IncompleteRacksError, assign_replicas
from ..tree.cluster_tree import ClusterTree
from ..tree.metadata_store import BadVersionError, NodeExistsError, NoNodeError
from ..tree.replica_assignment import ReplicaAssignment
from ..tree.topic_ids import new_topic_id
from ..tree.znodes import TopicInfo
from .colliding_topics import CollidingTopics
from .partition_limit import PartitionLimit
from .permit import Permit, permit_all
from .settings_limit import SettingsLimit
from .topic_names import check_directory_names, check_topic_name, is_internal_topic

__all__ = ["USE_DEFAULT", "CreatedTopic", "NewTopic", "TopicAdmin"]

logger = logging.getLogger(__name__)

USE_DEFAULT = -1


@frozen
class NewTopic:
    """A topic to create. Either counts (-1: the broker's default) or ``assignments``: partition → brokers."""

    name: str
    partition_count: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    settings: Mapping[str, str | None] = field(default_factory=dict)


@frozen
class CreatedTopic:
    """``topic_id`` is None when the request was only validated."""

    name: str
    topic_id: UUID | None
    partition_count: int
    replication_factor: int
    config: TopicConfig


class TopicAdmin:
    """Runs on the controller. ``live_brokers``: the brokers that can get replicas. Methods raise `KafkaError`."""

    def __init__(
        self,
        tree: ClusterTree,
        config: Config,
        live_brokers: Callable[[], list[BrokerRack]],
        random: Random,
        partition_limit: PartitionLimit,
        settings_limit: SettingsLimit,
    ) -> None:
        self._tree = tree
        self._colliding_topics = CollidingTopics(tree)
        self._config = config
        self._live_brokers = live_brokers
        self._random = random
        self._partition_limit = partition_limit
        self._settings_limit = settings_limit

    def update_config(self, config: Config) -> None:
        """Apply changed dynamic settings of the broker."""
        self._config = config

    async def create(
        self, topic: NewTopic, *, validate_only: bool = False, beside: int = 0, permit: Permit = permit_all
    ) -> CreatedTopic:
        """Write a new topic into the tree; it gets leaders a little later.

        The limit on partitions counts ``beside`` further partitions, of other topics in the same request. Raises
        the error of ``permit``,
        TopicExistsError, InvalidTopicError, InvalidConfigurationError, InvalidRequestError, InvalidPartitionsError,
        InvalidReplicationFactorError, InvalidReplicaAssignmentError, PolicyViolationError.
        """
        if _can_be_a_node(topic.name) and await self._tree.topic_exists(topic.name):
            raise TopicExistsError(f"Topic '{topic.name}' already exists.")
        settings = _settings_of(topic)
        assignment = self._assignment_of(topic, beside)
        await self._check_name(topic.name)
        _check_assignment(assignment)
        check_directory_names(topic.name, len(assignment))
        if not is_internal_topic(topic.name):  # coordinators need their topics
            self._partition_limit.check(beside + len(assignment))
            self._settings_limit.check({}, settings)
        try:
            config = TopicConfig.defaults(self._config, settings)
        except ConfigError as error:
            raise InvalidConfigurationError(str(error)) from error
        topic_id = None
        if not validate_only:
            permit(len(assignment))
            topic_id = new_topic_id(self._random)
            replicas = {index: ReplicaAssignment(brokers) for index, brokers in sorted(assignment.items())}
            try:
                await self._tree.create_topic(TopicInfo(topic.name, topic_id, replicas), settings)
            except NodeExistsError as error:
                raise TopicExistsError(f"Topic '{topic.name}' already exists.") from error
            except (BadVersionError, NoNodeError) as error:
                raise NotControllerError("The controller has changed.") from error
            logger.info("topic %s: %d partitions, id %s", topic.name, len(assignment), topic_id)
        return CreatedTopic(topic.name, topic_id, len(assignment), len(assignment[0]), config)

    async def create_all(self, topics: Sequence[NewTopic]) -> dict[str, KafkaError | None]:
        """Create each topic as `create` does; returns by topic why it was not created, or None."""
        results: dict[str, KafkaError | None] = {}
        for topic in topics:
            try:
                await self.create(topic)
            except KafkaError as error:
                results[topic.name] = error
            else:
                results[topic.name] = None
        return results

    async def mark_for_deletion(self, topic: str) -> None:
        """Mark a topic for deletion; marking it again is no error. Raises UnknownTopicOrPartitionError."""
        if not _can_be_a_node(topic) or not await self._tree.topic_exists(topic):
            raise UnknownTopicOrPartitionError(f"Topic '{topic}' to delete does not exist.")
        try:
            await self._tree.mark_for_deletion(topic)
        except NodeExistsError:
            logger.info("topic %s is being deleted already", topic)

    def _assignment_of(self, topic: NewTopic, beside: int) -> Mapping[int, tuple[int, ...]]:
        if topic.assignments:
            if topic.partition_count != USE_DEFAULT or topic.replication_factor != USE_DEFAULT:
                raise InvalidRequestError(
                    "Both numPartitions or replicationFactor and replicasAssignments were set."
                    " Both cannot be used at the same time."
                )
            self._partition_limit.check_at_once(len(topic.assignments))
            return topic.assignments
        count = topic.partition_count
        if count == USE_DEFAULT:
            count = self._config.int("num.partitions")
        self._partition_limit.check_at_once(count)
        if not is_internal_topic(topic.name):
            self._partition_limit.check(beside + max(count, 0))  # this check is fast, the assignment is not
        factor = topic.replication_factor
        if factor == USE_DEFAULT:
            factor = self._config.int("default.replication.factor")
        try:
            return assign_replicas(self._live_brokers(), count, factor, self._random.randrange)
        except IncompleteRacksError as error:
            raise UnknownServerError(str(error)) from error

    async def _check_name(self, name: str) -> None:
        check_topic_name(name)
        if await self._tree.is_marked_for_deletion(name):
            raise TopicExistsError(f"Topic '{name}' is marked for deletion.")
        colliding = await self._colliding_topics.of(name)
        if name in colliding:
            raise TopicExistsError(f"Topic '{name}' already exists.")
        if colliding:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topics: {', '.join(colliding)}")


def _can_be_a_node(name: str) -> bool:
    """Names that fail this are refused later; they must not be used as paths of the tree."""
    return bool(name) and "/" not in name and "\0" not in name and name not in (".", "..")


def _settings_of(topic: NewTopic) -> dict[str, str]:
    unset = [name for name, value in topic.settings.items() if value is None]
    if unset:
        raise InvalidConfigurationError(f"Null value not supported for topic configs: {','.join(unset)}")
    return {name: value for name, value in topic.settings.items() if value is not None}


def _check_assignment(assignment: Mapping[int, tuple[int, ...]]) -> None:
    if len({len(brokers) for brokers in assignment.values()}) != 1:
        raise InvalidReplicaAssignmentError("All partitions should have the same number of replicas")
    for index, brokers in assignment.items():
        if not brokers:
            raise InvalidReplicaAssignmentError(f"Cannot have replication factor of 0 for partition id {index}.")
        if len(set(brokers)) != len(brokers):
            raise InvalidReplicaAssignmentError(f"Duplicate replica assignment found: {index} on {list(brokers)}")
        if any(broker_id < 0 for broker_id in brokers):
            raise InvalidReplicaAssignmentError(f"Invalid broker id in the replica list of partition id {index}.")
    if sorted(assignment) != list(range(len(assignment))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
