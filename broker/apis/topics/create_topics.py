"""CreateTopics: create topics.

Behaviour: the response waits until each partition has a leader in this broker's metadata, as in Kafka. When this broker
is the leader, the response also waits until the log is open or cannot be opened, so that a client can produce at once.

v1 validation only, on request · v4 defaults for the counts (KIP-464) · v5 flexible; the response has the topic's counts
and settings (KIP-525) · v6 quotas may refuse it (KIP-599) · v7 topic ids (KIP-516).
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Set
from functools import cache
from typing import NamedTuple

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....config.config_entries import ConfigEntry
from ....config.notices import topic_notices
from ....config.topic_config import TopicConfig
from ....controller.topics.topic_admin import NewTopic, TopicAdmin
from ....controller.topics.topic_names import CLUSTER_METADATA_TOPIC
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, InvalidReplicaAssignmentError, KafkaError
from ....protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ....protocol.sentinels import NO_LEADER
from ...metadata.metadata_cache import MetadataCache
from ...metadata.topic_waiters import TopicWaiters
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.throttling import RequestMutations, Throttling

__all__ = ["CreateTopics"]

logger = logging.getLogger(__name__)


class _Rights(NamedTuple):
    """Topics that the client may not create, and topics whose settings it may not see in the response."""

    denied: Set[str] = frozenset()
    without_configs: Set[str] = frozenset()


class CreateTopics:
    """Handler.

    ``is_controller``: whether this broker is the controller; only the controller creates topics. ``config_entries``
    describes a topic's settings. ``is_election_over``: whether an elected broker leads a partition or failed to, as
    far as this broker knows. (This broker itself may have been elected without having the log yet.)
    """

    def __init__(
        self,
        topics: TopicAdmin,
        is_controller: Callable[[], bool],
        cache: MetadataCache,
        waiters: TopicWaiters,
        config_entries: Callable[[TopicConfig], list[ConfigEntry]],
        is_election_over: Callable[[int, TopicPartition], bool],
        throttling: Throttling,
        broker_listeners: Collection[str] = (),
    ) -> None:
        """``broker_listeners``: where other brokers ask for topics for their clients, whose rights they have checked.
        They need no right to create them but CLUSTER_ACTION; Kafka's brokers write such topics to ZooKeeper."""
        self._throttling = throttling
        self._broker_listeners = broker_listeners
        self._topics = topics
        self._is_controller = is_controller
        self._cache = cache
        self._waiters = waiters
        self._config_entries = config_entries
        self._is_election_over = is_election_over

    async def __call__(self, context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
        results: dict[str, CreatableTopicResult] = {}
        mutations = self._throttling.mutations(context, is_strict=context.api_version >= 6)
        created: list[str] = []
        validated = 0  # partitions that a validating request would have created
        show = cache(_shown)  # a request may create very many topics, most of them with the same settings
        mentions = Counter(topic.name for topic in request.topics)
        rights = self._rights(context, mentions)
        for topic in request.topics:
            if topic.name in results:
                continue
            await asyncio.sleep(0)  # a request may name very many topics, and nothing else here yields
            refusal = self._refusal(topic, mentions[topic.name], rights)
            if refusal is None:
                results[topic.name] = result = await self._create(
                    topic, request.validate_only, validated, show, mutations
                )
                if result.error_code == ErrorCode.NONE:
                    created.append(topic.name)
                    validated += result.num_partitions if request.validate_only else 0
            else:
                results[topic.name] = _failure(topic.name, *refusal)
        if not request.validate_only:
            await self._await_leaders([results[name] for name in created], request.timeout_ms)
        for name in rights.without_configs & results.keys():
            _hide_configs(results[name])
        mutations.finish()
        # As in Kafka, a topic that is named twice is answered twice.
        return CreateTopicsResponse(topics=[results[topic.name] for topic in request.topics])

    def _rights(self, context: RequestContext, names: Iterable[str]) -> _Rights:
        if not self._is_controller():
            return _Rights()
        may_create_all = context.may_on_cluster(AclOperation.CREATE, is_quiet=True) or (
            context.address.listener_name in self._broker_listeners
            and (context.client_id or "").isdecimal()  # brokers send their id
            and context.may_on_cluster(AclOperation.CLUSTER_ACTION, is_quiet=True)
        )
        names = [name for name in names if name != CLUSTER_METADATA_TOPIC]
        return _Rights(
            frozenset() if may_create_all else context.denied(AclOperation.CREATE, AclResourceType.TOPIC, names),
            context.denied(AclOperation.DESCRIBE_CONFIGS, AclResourceType.TOPIC, names, is_quiet=True),
        )

    def _refusal(self, topic: CreatableTopic, mentions: int, rights: _Rights) -> tuple[ErrorCode, str | None] | None:
        if not self._is_controller():
            return ErrorCode.NOT_CONTROLLER, None
        if topic.name == CLUSTER_METADATA_TOPIC:
            return ErrorCode.INVALID_REQUEST, f"Creation of internal topic {topic.name} is prohibited."
        if mentions > 1:
            return ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic."
        if topic.name in rights.denied:
            return TOPIC_DENIED, "Authorization failed."
        return None

    async def _create(
        self,
        topic: CreatableTopic,
        validate_only: bool,
        validated: int,
        show: Callable[[ConfigEntry], CreatableTopicConfigs],
        mutations: RequestMutations,
    ) -> CreatableTopicResult:
        try:
            created = await self._topics.create(
                _new_topic(topic), validate_only=validate_only, beside=validated, permit=mutations.permit()
            )
        except KafkaError as error:
            return _failure(topic.name, error.code, str(error))
        if not validate_only:
            for line in topic_notices(topic.name, {}, created.config.overrides):
                logger.warning("%s", line)
        return CreatableTopicResult(
            name=topic.name,
            topic_id=created.topic_id or NULL_UUID,
            error_message=None,
            num_partitions=created.partition_count,
            replication_factor=created.replication_factor,
            configs=[show(entry) for entry in self._config_entries(created.config)],
        )

    async def _await_leaders(self, results: list[CreatableTopicResult], timeout_ms: int) -> None:
        """A topic without leaders in time exists all the same; the client gets REQUEST_TIMED_OUT."""
        await self._waiters.wait_for_all(results, self._has_leaders, timeout_ms)
        for result in results:
            if timeout_ms <= 0 or not self._has_leaders(result):
                result.error_code = ErrorCode.REQUEST_TIMED_OUT
                result.num_partitions = result.replication_factor = -1
                result.configs = []

    def _has_leaders(self, result: CreatableTopicResult) -> bool:
        for index in range(result.num_partitions):
            state = self._cache.partition(result.name, index)
            if state is None or state.leader == NO_LEADER:
                return False
            if not self._is_election_over(state.leader, TopicPartition(result.name, index)):
                return False
        return True


def _new_topic(topic: CreatableTopic) -> NewTopic:
    assignments = {assignment.partition_index: tuple(assignment.broker_ids) for assignment in topic.assignments}
    if len(assignments) < len(topic.assignments):
        raise InvalidReplicaAssignmentError("A partition is assigned more than once.")
    return NewTopic(
        topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=assignments,
        settings={setting.name: setting.value for setting in topic.configs},
    )


def _shown(entry: ConfigEntry) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
    )


def _hide_configs(result: CreatableTopicResult) -> None:
    """As in Kafka, a failed creation says nothing of settings, but a refusal before the attempt does."""
    if result.error_code in (ErrorCode.NONE, TOPIC_DENIED, ErrorCode.INVALID_REQUEST):
        result.topic_config_error_code = TOPIC_DENIED
    result.topic_id = NULL_UUID
    result.num_partitions = result.replication_factor = -1
    result.configs = []


def _failure(name: str, error: ErrorCode, message: str | None) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error, error_message=message)
