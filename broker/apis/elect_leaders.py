"""ElectLeaders: have the preferred replica lead again, or any that lives (KIP-183, KIP-460).

v1 unclean elections, and an error for the whole request · v2 flexible.
"""

from collections.abc import Awaitable, Iterable, Mapping
from typing import Protocol

from ...controller.leader_election import ElectionStrategy
from ...protocol.errors import ErrorCode, KafkaError, NotControllerError, RequestTimedOutError, UnknownServerError
from ...protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ...storage.topic_partition import TopicPartition
from ..metadata_cache import MetadataCache
from ..topic_waiters import TopicWaiters
from .context import RequestContext
from .partitions_by_topic import partitions_by_topic

__all__ = ["ElectLeaders", "LeaderElector"]

_AT_A_TIME = 500
"""Partitions that the controller is asked for at once; it has the loop to itself meanwhile."""
_STRATEGIES = {0: ElectionStrategy.PREFERRED, 1: ElectionStrategy.UNCLEAN}


class LeaderElector(Protocol):
    """`Controller`, as far as this handler needs it."""

    def elect_leaders(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> Awaitable[Mapping[TopicPartition, int | KafkaError]]: ...


class ElectLeaders:
    """Handler."""

    def __init__(self, controller: LeaderElector, cache: MetadataCache, waiters: TopicWaiters) -> None:
        self._controller = controller
        self._cache = cache
        self._waiters = waiters

    async def __call__(self, context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Asked about all partitions, it does not mention those that need no election."""
        strategy = _STRATEGIES.get(request.election_type)
        if strategy is None:
            raise UnknownServerError()
        asks_for_all = request.topic_partitions is None
        partitions = self._all() if asks_for_all else _asked(request)
        results = await self._elect(partitions, strategy, request.timeout_ms)
        if asks_for_all:
            results = {
                partition: error
                for partition, error in results.items()
                if error is None or error.code != ErrorCode.ELECTION_NOT_NEEDED
            }
        return _response(results)

    async def _elect(
        self, partitions: list[TopicPartition], strategy: ElectionStrategy, timeout_ms: int
    ) -> dict[TopicPartition, KafkaError | None]:
        """None for the partitions whose new leader this broker's metadata has."""
        elected = await self._elect_in_portions(list(dict.fromkeys(partitions)), strategy)
        leaders = {partition: leader for partition, leader in elected.items() if isinstance(leader, int)}
        await self._waiters.wait_for_all(leaders.items(), lambda each: self._is_led_by(*each), timeout_ms)
        results: dict[TopicPartition, KafkaError | None] = {}
        for partition, outcome in elected.items():
            if isinstance(outcome, KafkaError):
                results[partition] = outcome
            else:
                results[partition] = None if self._is_led_by(partition, outcome) else RequestTimedOutError()
        return results

    async def _elect_in_portions(
        self, partitions: list[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, int | KafkaError]:
        elected: dict[TopicPartition, int | KafkaError] = {}
        for begin in range(0, len(partitions), _AT_A_TIME):
            try:
                elected |= await self._controller.elect_leaders(partitions[begin : begin + _AT_A_TIME], strategy)
            except NotControllerError as error:
                return elected | dict.fromkeys(partitions[begin:], error)
        return elected

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
