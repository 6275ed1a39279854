"""ElectLeaders (KIP-183): make the preferred replica the leader, or any replica that is alive (KIP-460).

v1 unclean elections, and an error code for the whole request · v2 flexible.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Protocol

from ....base.acls import AclOperation
from ....base.topic_partition import TopicPartition
from ....controller.leader_election import ElectionStrategy
from ....protocol.errors import (
    ElectionNotNeededError,
    ErrorCode,
    KafkaError,
    NotControllerError,
    RequestTimedOutError,
    UnknownServerError,
)
from ....protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ...metadata.metadata_cache import MetadataCache
from ...metadata.topic_waiters import TopicWaiters
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["ElectLeaders", "LeaderElector"]

_AT_A_TIME = 500
"""Partitions in one call of the controller, which keeps the event loop busy for the whole call."""
_STRATEGIES = {0: ElectionStrategy.PREFERRED, 1: ElectionStrategy.UNCLEAN}


class LeaderElector(Protocol):
    """The part of `Controller` that this handler uses."""

    def elect_leaders(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> Awaitable[Mapping[TopicPartition, int | KafkaError]]: ...


class ElectLeaders:
    """Handles ElectLeaders requests."""

    def __init__(self, controller: LeaderElector, cache: MetadataCache, waiters: TopicWaiters) -> None:
        self._controller = controller
        self._cache = cache
        self._waiters = waiters
        self._for_all = asyncio.Lock()

    async def __call__(self, context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """A request for all partitions gets results only for the partitions that needed an election."""
        context.require_on_cluster(AclOperation.ALTER)
        strategy = _STRATEGIES.get(request.election_type)
        if strategy is None:
            raise UnknownServerError()
        if request.topic_partitions is not None:
            elected = await self._elect(list(dict.fromkeys(_asked(request))), strategy)
        else:
            async with self._for_all:  # a request of a few bytes takes memory for all partitions: one at a time
                elected = await self._elect(self._all(), strategy, if_needed=True)
        return _response(await self._await_leaders(elected, request.timeout_ms))

    async def _elect(
        self, partitions: list[TopicPartition], strategy: ElectionStrategy, *, if_needed: bool = False
    ) -> dict[TopicPartition, int | KafkaError]:
        """The new leader of each partition, or the error. ``if_needed``: leave out partitions that need no election."""
        elected: dict[TopicPartition, int | KafkaError] = {}
        for begin in range(0, len(partitions), _AT_A_TIME):
            try:
                portion = await self._controller.elect_leaders(partitions[begin : begin + _AT_A_TIME], strategy)
            except NotControllerError as error:
                return elected | dict.fromkeys(partitions[begin:], error)
            elected |= {
                partition: outcome
                for partition, outcome in portion.items()
                if not if_needed or not isinstance(outcome, ElectionNotNeededError)
            }
        return elected

    async def _await_leaders(
        self, elected: Mapping[TopicPartition, int | KafkaError], timeout_ms: int
    ) -> dict[TopicPartition, KafkaError | None]:
        """None for a partition whose new leader is in this broker's metadata in time, otherwise its error."""
        leaders = {partition: leader for partition, leader in elected.items() if isinstance(leader, int)}
        await self._waiters.wait_for_all(leaders.items(), lambda each: self._is_led_by(*each), timeout_ms)
        results: dict[TopicPartition, KafkaError | None] = {}
        for partition, outcome in elected.items():
            if isinstance(outcome, KafkaError):
                results[partition] = outcome
            else:
                results[partition] = None if self._is_led_by(partition, outcome) else RequestTimedOutError()
        return results

    def _is_led_by(self, partition: TopicPartition, leader: int) -> bool:
        known = self._cache.leader_of(partition.topic, partition.partition)
        return known is not None and known[0] == leader

    def _all(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic, state.partition_index)
            for topic in sorted(self._cache.topics)
            for state in self._cache.partitions(topic)
        ]


def _asked(request: ElectLeadersRequest) -> list[TopicPartition]:
    assert request.topic_partitions is not None
    return [TopicPartition(each.topic, index) for each in request.topic_partitions for index in each.partitions]


def _response(results: Mapping[TopicPartition, KafkaError | None]) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    PartitionResult(
                        partition_id=index,
                        error_code=ErrorCode.NONE if error is None else error.code,
                        error_message=None if error is None else error.message,
                    )
                    for index, error in partitions
                ],
            )
            for topic, partitions in partitions_by_topic(results).items()
        ]
    )
