"""DescribeProducers (KIP-664): the producers that write idempotently or in transactions to partitions. Only v0."""

import asyncio
from collections.abc import Collection, Iterable, Sequence

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....controller.topics.topic_names import check_topic_name
from ....protocol.errors import KafkaError, UnknownTopicOrPartitionError
from ....protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)
from ....replication.partition_set import PartitionSet
from ....storage.log.log import Log
from ...metadata.metadata_cache import MetadataCache
from ...requests.context import RequestContext
from ...requests.duplicate_names import has_many_duplicates

__all__ = ["DescribeProducers"]


class DescribeProducers:
    """Handler. Any replica answers, not only the leader.

    Requests run one at a time: a request of a few bytes may ask for partitions with ten thousand producers each.
    """

    def __init__(self, partitions: PartitionSet, cache: MetadataCache) -> None:
        self._partitions = partitions
        self._cache = cache
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
        async with self._one_at_a_time:
            return DescribeProducersResponse(
                topics=[await self._topic(context, *each) for each in _wanted(request.topics)]
            )

    async def _topic(self, context: RequestContext, name: str, indexes: Iterable[int]) -> TopicResponse:
        try:
            check_topic_name(name)
            context.require(AclOperation.READ, AclResourceType.TOPIC, name)
            if not self._cache.has_topic(name):
                raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
        except KafkaError as error:
            failed = [
                PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)
                for index in indexes
            ]
            return TopicResponse(name=name, partitions=failed)
        answers: dict[int, PartitionResponse] = {}
        for index in indexes:
            if index not in answers:
                answers[index] = await self._partition(TopicPartition(name, index))
        return TopicResponse(name=name, partitions=[answers[index] for index in indexes])

    async def _partition(self, topic_partition: TopicPartition) -> PartitionResponse:
        index = topic_partition.partition
        try:
            # On the partition's strand, so that no append changes the producers meanwhile.
            producers = await self._partitions.require(topic_partition).run(_producers_of)
        except KafkaError as error:
            return PartitionResponse(partition_index=index, error_code=error.code)
        return PartitionResponse(partition_index=index, active_producers=producers)


def _producers_of(log: Log) -> list[ProducerState]:
    return [
        ProducerState(
            producer_id=entry.producer_id,
            producer_epoch=entry.producer_epoch,
            last_sequence=entry.last_sequence,
            last_timestamp=entry.last_timestamp,
            coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=entry.current_txn_first_offset,
        )
        for entry in log.producer_state.producers.values()
    ]


def _wanted(topics: Sequence[TopicRequest]) -> Iterable[tuple[str, Collection[int]]]:
    """The requested partition indexes by topic. A repetitive request yields each partition once."""
    if not has_many_duplicates((topic.name, index) for topic in topics for index in topic.partition_indexes):
        return [(topic.name, topic.partition_indexes) for topic in topics]
    wanted: dict[str, dict[int, None]] = {}
    for topic in topics:
        wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return [(name, tuple(indexes)) for name, indexes in wanted.items()]
