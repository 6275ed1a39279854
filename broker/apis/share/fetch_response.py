"""The response to a ShareFetch, from its records, its errors and what was acknowledged."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol
from uuid import UUID

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError, error_for
from ....protocol.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from ....replication.partition_set import PartitionSet
from ...metadata.leader_hints import BrokerEndpoint, LeaderHints, current_leader, endpoints_of
from ...requests.context import RequestContext
from ...requests.throttling import Throttling
from ...share.fetched_records import FetchedRecords
from ...share.sessions import MemberKey, SessionPartition
from ...share.share_partitions import SharePartitions
from ..records.fetch import TopicNames
from .acknowledging import AcknowledgeErrors

__all__ = ["FetchResponses", "HintedLeaders", "NamesAndLeaders"]

_NO_LEADER_HINT = LeaderIdAndEpoch()
"""All responses share it; nobody may change it."""
_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class NamesAndLeaders(TopicNames, LeaderHints, Protocol):
    """The methods of the metadata cache that are used here."""


class HintedLeaders:
    """The leaders that a response names, to which the client goes (KIP-951)."""

    def __init__(self, partitions: PartitionSet, topics: NamesAndLeaders) -> None:
        self._partitions = partitions
        self._topics = topics
        self._node_ids: list[int] = []

    def leader_for(self, partition: SessionPartition, error: ErrorCode) -> tuple[int, int] | None:
        """Id and epoch of the leader to name with this error; None: none."""
        if error not in _ELSEWHERE:
            return None
        name = self._topics.topic_name(partition.topic_id)
        if name is None:
            return None
        leader = current_leader(self._partitions, self._topics, TopicPartition(name, partition.partition))
        if leader is not None:
            self._node_ids.append(leader[0])
        return leader

    def endpoints(self, context: RequestContext) -> list[BrokerEndpoint]:
        return endpoints_of(self._topics, self._node_ids, context.address.listener_name)


class FetchResponses(NamedTuple):
    """``throttling``: the quotas of consumers; None: there are none."""

    shares: SharePartitions
    partitions: PartitionSet
    topics: NamesAndLeaders
    throttling: Throttling | None

    def response(
        self,
        context: RequestContext,
        key: MemberKey,
        fetched: Iterable[FetchedRecords],
        errors: Mapping[SessionPartition, KafkaError],
        acknowledged: AcknowledgeErrors,
        opened: Iterable[SessionPartition] = (),
    ) -> ShareFetchResponse:
        """Partitions without records, errors and acknowledgements are left out, but for those in ``opened``."""
        leaders = HintedLeaders(self.partitions, self.topics)
        found: dict[SessionPartition, PartitionData] = {}
        size_bytes = 0
        for each in fetched:
            partition = SessionPartition(each.active.place.key.topic_id, each.active.place.key.partition)
            data = found[partition] = _data(partition)
            if each.error is not ErrorCode.NONE:
                _set_error(data, error_for(each.error), leaders, partition)
            elif each.records is not None:
                size_bytes += each.records.size_bytes
                data.records = each.records
                data.acquired_records = [
                    AcquiredRecords(first_offset=first, last_offset=last, delivery_count=delivery_count)
                    for first, last, delivery_count in each.acquired
                ]
                self._count_sent(each)
        for partition, error in errors.items():
            _set_error(found.setdefault(partition, _data(partition)), error, leaders, partition)
        for partition, refusal in acknowledged.items():
            data = found.setdefault(partition, _data(partition))
            if refusal is not None:
                data.acknowledge_error_code, data.acknowledge_error_message = refusal.code, refusal.message
        for partition in opened:
            found.setdefault(partition, _data(partition))
        if self.throttling is not None and size_bytes:
            # The records are locked for the member, so it gets them; its next request waits.
            self.throttling.fetched(context, size_bytes)
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=self.shares.settings_of(key.group_id).lock_ms,
            responses=_by_topic(found),
            node_endpoints=[
                NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
                for node in leaders.endpoints(context)
            ],
        )

    def _count_sent(self, each: FetchedRecords) -> None:
        hosted = self.partitions.get(each.active.place.topic_partition)
        if hosted is not None and each.records is not None:
            self.partitions.traffic.sent(
                hosted.traffic, each.records.size_bytes, to_follower=False, is_reassignment=False
            )


def _data(partition: SessionPartition) -> PartitionData:
    return PartitionData(partition_index=partition.partition, current_leader=_NO_LEADER_HINT, records=b"")


def _set_error(data: PartitionData, error: KafkaError, leaders: HintedLeaders, partition: SessionPartition) -> None:
    data.error_code, data.error_message = error.code, error.message
    leader = leaders.leader_for(partition, error.code)
    if leader is not None:
        data.current_leader = LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])


def _by_topic(found: Mapping[SessionPartition, PartitionData]) -> list[ShareFetchableTopicResponse]:
    topics: dict[UUID, ShareFetchableTopicResponse] = {}
    for partition, data in found.items():
        topic = topics.setdefault(partition.topic_id, ShareFetchableTopicResponse(topic_id=partition.topic_id))
        topic.partitions.append(data)
    return list(topics.values())
