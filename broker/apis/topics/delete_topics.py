"""DeleteTopics: delete topics.

Behaviour: the response waits until the topic is gone from this broker's metadata, as in Kafka. Then it waits a little
longer until the topic is gone from the metadata store too, so that a client can create the topic again at once.

v1 throttle time · v3 TOPIC_DELETION_DISABLED in place of INVALID_REQUEST · v4 flexible · v5 error messages (KIP-599) ·
v6 by name or topic id (KIP-516).
"""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from ....base.acls import AclOperation, AclResourceType
from ....controller.controller import Controller
from ....controller.topics.topic_admin import TopicAdmin
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, InvalidRequestError, KafkaError
from ....protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from ...metadata.metadata_cache import MetadataCache
from ...metadata.topic_waiters import TopicWaiters
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.throttling import RequestMutations, Throttling

__all__ = ["DeleteTopics"]


class DeleteTopics:
    """Handler.

    ``enabled``: the current value of ``delete.topic.enable``. ``settles_within_ms``: how long to wait for the metadata
    store after the topic is gone from the metadata, because a broker that does not answer may hold up its deletion;
    None: until the time of the request is over.
    """

    def __init__(
        self,
        topics: TopicAdmin,
        controller: Controller,
        cache: MetadataCache,
        waiters: TopicWaiters,
        enabled: Callable[[], bool],
        throttling: Throttling,
        settles_within_ms: int | None = None,
    ) -> None:
        self._throttling = throttling
        self._topics = topics
        self._controller = controller
        self._cache = cache
        self._waiters = waiters
        self._enabled = enabled
        self._settles_within_ms = settles_within_ms

    async def __call__(self, context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        states = (
            request.topics
            if context.api_version >= 6
            else [DeleteTopicState(name=name) for name in dict.fromkeys(request.topic_names)]
        )
        refusal = self._refusal(context)
        if refusal is not None:
            return DeleteTopicsResponse(
                responses=[
                    DeletableTopicResult(name=state.name, topic_id=state.topic_id, error_code=refusal)
                    for state in states
                ]
            )
        results = [self._named(state) for state in states]
        self._find(context, results)
        ids = {result.name: self._cache.topic_id(result.name) for result in results if result.name is not None}
        first: dict[str | None, DeletableTopicResult] = {}  # a topic that is named twice is deleted once
        found = [result for result in results if result.error_code == ErrorCode.NONE]
        for result in found:
            first.setdefault(result.name, result)
        mutations = self._throttling.mutations(context, is_strict=context.api_version >= 5)
        marked = [result for result in first.values() if await self._mark(result, mutations)]

        await self._await_deletion(
            {result.name: ids[result.name] for result in marked if result.name is not None}, request.timeout_ms
        )
        for result in marked:
            assert result.name is not None
            if request.timeout_ms <= 0 or self._is_known(result.name, ids[result.name]):
                result.error_code = ErrorCode.REQUEST_TIMED_OUT
        for result in found:
            marked_result = first[result.name]
            result.error_code, result.error_message = marked_result.error_code, marked_result.error_message
        if context.api_version < 6:  # a topic that is named twice is answered twice
            by_name = {result.name: result for result in results}
            results = [by_name[name] for name in request.topic_names]
        mutations.finish()
        return DeleteTopicsResponse(responses=results)

    def _refusal(self, context: RequestContext) -> ErrorCode | None:
        if not self._controller.is_active:
            return ErrorCode.NOT_CONTROLLER
        if not self._enabled():
            return ErrorCode.TOPIC_DELETION_DISABLED if context.api_version >= 3 else ErrorCode.INVALID_REQUEST
        return None

    def _named(self, state: DeleteTopicState) -> DeletableTopicResult:
        """With the name of the topic, if there is one with the id."""
        result = DeletableTopicResult(name=state.name, topic_id=state.topic_id)
        if state.topic_id != NULL_UUID:
            if state.name is not None:
                raise InvalidRequestError("Topic name and topic ID can not both be specified.")
            result.name = self._controller.topic_name(state.topic_id)
        return result

    def _find(self, context: RequestContext, results: Sequence[DeletableTopicResult]) -> None:
        """Set the errors of topics that are unknown, or that the client may not delete."""
        names = [result.name for result in results if result.name is not None]
        undescribed = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)
        undeleted = context.denied(AclOperation.DELETE, AclResourceType.TOPIC, names)
        for result in results:
            if result.topic_id != NULL_UUID and result.name is None:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            elif result.topic_id != NULL_UUID and result.name in undescribed:
                result.name = None  # the client must not learn it
                result.error_code = TOPIC_DENIED
            elif result.name in undeleted:
                result.error_code = TOPIC_DENIED
            elif result.name is None or not self._cache.has_topic(result.name):
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    async def _mark(self, result: DeletableTopicResult, mutations: RequestMutations) -> bool:
        assert result.name is not None
        try:
            mutations.permit()(self._cache.partition_count(result.name) or 0)
            await self._topics.mark_for_deletion(result.name)
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = str(error)
            return False
        return True

    async def _await_deletion(self, topics: Mapping[str, UUID], timeout_ms: int) -> None:
        await self._waiters.wait_for_all(topics.items(), lambda topic: not self._is_known(*topic), timeout_ms)
        settles_within_ms = timeout_ms if self._settles_within_ms is None else min(timeout_ms, self._settles_within_ms)
        gone = [name for name, topic_id in topics.items() if not self._is_known(name, topic_id)]
        await self._waiters.wait_for_all(
            gone, lambda name: not self._controller.is_being_deleted(name), settles_within_ms
        )

    def _is_known(self, topic: str, topic_id: UUID) -> bool:
        """Whether this broker's metadata has the topic. A topic of the same name with another id is new, so it does
        not count."""
        return self._cache.has_topic(topic) and self._cache.topic_id(topic) == topic_id
