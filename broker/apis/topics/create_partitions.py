"""CreatePartitions (KIP-195): add partitions to topics.

Behaviour: the response waits until each new partition has a leader in this broker's metadata.

v1 throttling after the response (KIP-219) · v2 flexible · v3 quotas may refuse it (KIP-599).
"""

import asyncio
from collections import Counter

from ....base.acls import AclOperation, AclResourceType
from ....controller.controller import Controller
from ....controller.topics.topic_growth import MorePartitions, TopicGrowth
from ....protocol.errors import (
    ErrorCode,
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    NotControllerError,
    TopicAuthorizationError,
)
from ....protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from ....protocol.sentinels import NO_LEADER
from ...metadata.metadata_cache import MetadataCache
from ...metadata.topic_waiters import TopicWaiters
from ...requests.context import RequestContext
from ...requests.throttling import Throttling

__all__ = ["CreatePartitions"]


class CreatePartitions:
    """Handles CreatePartitions requests."""

    def __init__(
        self,
        growth: TopicGrowth,
        controller: Controller,
        cache: MetadataCache,
        waiters: TopicWaiters,
        throttling: Throttling,
    ) -> None:
        self._throttling = throttling
        self._growth = growth
        self._controller = controller
        self._cache = cache
        self._waiters = waiters

    async def __call__(self, context: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        if not self._controller.is_active:
            raise NotControllerError()
        mentions = Counter(topic.name for topic in request.topics)
        names = (name for name, count in mentions.items() if count == 1)
        denied = context.denied(AclOperation.ALTER, AclResourceType.TOPIC, names)
        mutations = self._throttling.mutations(context, is_strict=context.api_version >= 3)
        results: dict[str, CreatePartitionsTopicResult] = {}
        grown: list[CreatePartitionsTopic] = []
        validated = 0  # partitions that a validating request would have added
        for topic in request.topics:
            await asyncio.sleep(0)  # a request may name very many topics, and nothing else here yields
            result = CreatePartitionsTopicResult(name=topic.name)
            try:
                self._check(topic.name, mentions[topic.name], is_denied=topic.name in denied)
                added = await self._growth.grow(
                    _more(topic), validate_only=request.validate_only, beside=validated, permit=mutations.permit()
                )
            except KafkaError as error:
                result.error_code, result.error_message = error.code, error.message
            else:
                grown.append(topic)
                validated += added if request.validate_only else 0
            results[topic.name] = result
        if not request.validate_only:
            await self._await_leaders(grown, results, request.timeout_ms)
        mutations.finish()
        return CreatePartitionsResponse(results=list(results.values()))

    def _check(self, topic: str, mentions: int, *, is_denied: bool) -> None:
        if mentions > 1:
            raise InvalidRequestError("Duplicate topic in request.")
        if is_denied:
            raise TopicAuthorizationError("The topic authorization is failed.")
        if self._controller.is_queued_for_deletion(topic):
            raise InvalidTopicError("The topic is queued for deletion.")

    async def _await_leaders(
        self, topics: list[CreatePartitionsTopic], results: dict[str, CreatePartitionsTopicResult], timeout_ms: int
    ) -> None:
        """A topic whose partitions have no leaders in time keeps them; the client gets REQUEST_TIMED_OUT."""
        await self._waiters.wait_for_all(topics, self._has_leaders, timeout_ms)
        for topic in topics:
            if timeout_ms <= 0 or not self._has_leaders(topic):
                results[topic.name].error_code = ErrorCode.REQUEST_TIMED_OUT

    def _has_leaders(self, topic: CreatePartitionsTopic) -> bool:
        states = [self._cache.partition(topic.name, index) for index in range(topic.count)]
        return all(state is not None and state.leader != NO_LEADER for state in states)


def _more(topic: CreatePartitionsTopic) -> MorePartitions:
    if topic.assignments is None:
        return MorePartitions(topic.name, topic.count)
    return MorePartitions(topic.name, topic.count, [tuple(each.broker_ids) for each in topic.assignments])
