"""Metadata: topics, the leaders and replicas of their partitions, and the brokers.

v0 an empty list asks for all topics; a replica on a dead broker is an error · v1 null asks for all topics and an empty
list for none; controller, racks, internal topics · v2 cluster id · v4 whether missing topics may be created · v5
offline replicas · v6 LISTENER_NOT_FOUND · v7 leader epochs (KIP-320) · v8 authorized operations (KIP-430) · v9 flexible
· v10 topic ids in responses (KIP-516) · v12 topic ids in requests; names may be null.
"""

from collections.abc import Awaitable, Callable, Iterable, Set
from dataclasses import replace
from uuid import UUID

from ....base.acls import AclOperation, AclResourceType
from ....base.yielding import ITEMS_BETWEEN_YIELDS, with_yields
from ....controller.topics.auto_creation import CreationResult
from ....controller.topics.permit import Permit
from ....controller.topics.topic_names import is_internal_topic, is_legal_topic_name
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, InvalidRequestError
from ....protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ....protocol.messages.update_metadata import UpdateMetadataPartitionState
from ....protocol.sentinels import NO_LEADER
from ...metadata.advertised_address import AdvertisedAddresses
from ...metadata.metadata_cache import MetadataCache
from ...requests.authorized_operations import NOT_ASKED
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.encoded_in_turns import EncodedInTurns
from ...requests.throttling import Throttling

__all__ = ["Metadata"]


_WITH_CLUSTER_OPERATIONS = range(8, 11)
"""The versions that have the operations of the cluster behind the topics, in four bytes."""

CreateTopics = Callable[[Iterable[str], Permit], Awaitable[dict[str, CreationResult]]]


class Metadata:
    """Handler. ``create_missing`` is `AutoTopicCreation.create`, None when ``auto.create.topics.enable`` is off."""

    def __init__(
        self,
        cache: MetadataCache,
        addresses: AdvertisedAddresses,
        cluster_id: str,
        create_missing: CreateTopics | None,
        throttling: Throttling,
    ) -> None:
        self._throttling = throttling
        self._cache = cache
        self._addresses = addresses
        self._cluster_id = cluster_id
        self._create_missing = create_missing

    def __call__(
        self, context: RequestContext, request: MetadataRequest
    ) -> MetadataResponse | Awaitable[MetadataResponse | EncodedInTurns[MetadataResponseTopic]]:
        """Answers at once, unless it creates a topic, or all of many topics are wanted."""
        _check(context, request)
        asks_for_all = request.topics is None or (context.api_version == 0 and not request.topics)
        if asks_for_all:
            names = sorted(self._cache.topics)
            if len(names) > ITEMS_BETWEEN_YIELDS:
                return self._permitted(context, request, names)
            names = [name for name in names if _may_describe(context, name)]
            return self._response(context, request, [self._topic(context, name) for name in names])
        assert request.topics is not None
        topic_ids = dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != NULL_UUID)
        if topic_ids:
            return self._response(context, request, [self._topic_by_id(context, topic_id) for topic_id in topic_ids])
        names = list(dict.fromkeys(topic.name for topic in request.topics if topic.name is not None))
        denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)
        failed = {name: _denied_topic(name) for name in denied}
        missing = [name for name in names if name not in denied and not self._cache.has_topic(name)]
        if missing and request.allow_auto_topic_creation and self._create_missing is not None:
            undone = self._may_not_create(context, missing)
            failed |= {name: _failed_topic(name, TOPIC_DENIED) for name in undone}
            missing = [name for name in missing if name not in undone]
            if missing:
                creation = self._create_missing(missing, self._throttling.auto_created(context))
                return self._after_creation(context, request, names, failed, creation)
        failed |= {name: _failed_topic(name, _why_missing(name)) for name in missing}
        return self._by_name(context, request, names, failed)

    async def _permitted(
        self, context: RequestContext, request: MetadataRequest, names: list[str]
    ) -> EncodedInTurns[MetadataResponseTopic]:
        """The topics of ``names`` that the client may describe. Topics may be deleted meanwhile."""
        around = self._response(context, request, [])

        def message(throttle_time_ms: int, topics: list[MetadataResponseTopic]) -> MetadataResponse:
            return replace(around, throttle_time_ms=throttle_time_ms, topics=topics)

        has_operations = context.api_version in _WITH_CLUSTER_OPERATIONS
        response = EncodedInTurns(message, context.api_version, bytes_behind=4 if has_operations else 0)
        async for name in with_yields(names):
            if _may_describe(context, name) and self._cache.has_topic(name):
                topic = self._topic(context, name)
                self._add_operations(context, request, [topic])
                await response.add(topic, 1 + len(topic.partitions))
        return response

    def _may_not_create(self, context: RequestContext, names: list[str]) -> Set[str]:
        if context.may_on_cluster(AclOperation.CREATE, is_quiet=True):
            return frozenset()
        return context.denied(AclOperation.CREATE, AclResourceType.TOPIC, names)

    async def _after_creation(
        self,
        context: RequestContext,
        request: MetadataRequest,
        names: list[str],
        failed: dict[str, MetadataResponseTopic],
        creation: Awaitable[dict[str, CreationResult]],
    ) -> MetadataResponse:
        created = {name: _failed_topic(name, result.code) for name, result in (await creation).items()}
        return self._by_name(context, request, names, failed | created)

    def _by_name(
        self,
        context: RequestContext,
        request: MetadataRequest,
        names: list[str],
        failed: dict[str, MetadataResponseTopic],
    ) -> MetadataResponse:
        """``failed``: topics that were unknown when the request came, also those created since, and denied ones."""
        topics = [failed[name] if name in failed else self._topic(context, name) for name in names]
        return self._response(context, request, topics)

    def _response(
        self, context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
    ) -> MetadataResponse:
        self._add_operations(context, request, topics)
        has_operations = context.api_version in _WITH_CLUSTER_OPERATIONS
        asks_for_cluster = has_operations and request.include_cluster_authorized_operations
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
                for node in self._addresses.endpoints(context.address)
            ],
            cluster_id=self._cluster_id,
            controller_id=self._cache.controller_id,
            topics=topics,
            cluster_authorized_operations=context.cluster_operation_bits() if asks_for_cluster else NOT_ASKED,
        )

    def _add_operations(
        self, context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
    ) -> None:
        if context.api_version >= 8 and request.include_topic_authorized_operations:
            for topic in topics:
                if topic.name is not None and topic.error_code != TOPIC_DENIED:
                    topic.topic_authorized_operations = context.operation_bits(AclResourceType.TOPIC, topic.name)

    def _topic_by_id(self, context: RequestContext, topic_id: UUID) -> MetadataResponseTopic:
        name = self._cache.topic_name(topic_id)
        if name is None:
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
        if not context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, name):
            return MetadataResponseTopic(error_code=TOPIC_DENIED, name=None, topic_id=topic_id)
        return self._topic(context, name)

    def _topic(self, context: RequestContext, name: str) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=name,
            topic_id=self._cache.topic_id(name),
            is_internal=is_internal_topic(name),
            partitions=[self._partition(context, state) for state in self._cache.partitions(name)],
        )

    def _partition(self, context: RequestContext, state: UpdateMetadataPartitionState) -> MetadataResponsePartition:
        version = context.api_version
        listener = context.address.listener_name
        replicas, isr = state.replicas, state.isr
        if version == 0:  # in later versions the client sees which brokers are not listed
            replicas = [broker_id for broker_id in replicas if self._cache.endpoint_of(broker_id, listener)]
            isr = [broker_id for broker_id in isr if self._cache.endpoint_of(broker_id, listener)]
        leader = state.leader
        error = ErrorCode.NONE
        if self._cache.endpoint_of(leader, listener) is None:
            knows_leader = self._cache.is_alive(leader) and version >= 6
            error = ErrorCode.LISTENER_NOT_FOUND if knows_leader else ErrorCode.LEADER_NOT_AVAILABLE
            leader = NO_LEADER
        elif len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=error,
            partition_index=state.partition_index,
            leader_id=leader,
            leader_epoch=state.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=state.offline_replicas,
        )


def _check(context: RequestContext, request: MetadataRequest) -> None:
    version = context.api_version
    if version >= 12:
        if any(topic.name is None and topic.topic_id == NULL_UUID for topic in request.topics or ()):
            raise InvalidRequestError("A topic has neither a name nor an id")
        return
    for topic in request.topics or ():
        if topic.name is None:
            raise InvalidRequestError(f"Topic name can not be null for version {version}")
        if topic.topic_id != NULL_UUID:
            raise InvalidRequestError(f"Topic IDs are not supported in requests for version {version}")


def _may_describe(context: RequestContext, name: str) -> bool:
    return context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, name, is_quiet=True)


def _why_missing(name: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION


def _denied_topic(name: str) -> MetadataResponseTopic:
    """It tells nothing but the name, not even whether there is such a topic."""
    return MetadataResponseTopic(error_code=TOPIC_DENIED, name=name)


def _failed_topic(name: str, error: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error, name=name, is_internal=is_internal_topic(name))
