"""Carries out the controller's requests to this broker (LeaderAndIsr, StopReplica, UpdateMetadata).

Requests are message objects of the newest version, with partitions grouped by topic. Each partition has its own result.
"""

from collections.abc import Callable, Iterable, Iterator

from ...base.topic_partition import TopicPartition
from ...controller.tree.cluster_tree import ClusterTree
from ...controller.tree.metadata_store import SessionExpiredError
from ...protocol.errors import ErrorCode, KafkaError, StaleBrokerEpochError
from ...protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from ...protocol.messages.stop_replica import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse
from ...protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from ...protocol.sentinels import NO_BROKER_EPOCH
from ...replication.partition.partition_state import PartitionState
from ...replication.state_changes import ReplicaStop, StateChanges
from ..metadata.metadata_cache import MetadataCache
from ..settings.topic_overrides import TopicOverrides

__all__ = ["ControllerOrders"]


class ControllerOrders:
    """``broker_epoch``: the epoch of the current registration. Requests for an earlier epoch are refused.

    LeaderAndIsr for a missing log is also refused after the broker's session has expired, because the log's settings
    cannot be read then. The controller sends the request again after the next registration.

    ``on_role_refused`` is called when this broker did not take the role of a partition.
    """

    def __init__(
        self,
        changes: StateChanges,
        cache: MetadataCache,
        overrides: TopicOverrides,
        tree: ClusterTree,
        on_role_refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._changes = changes
        self._cache = cache
        self._overrides = overrides
        self._tree = tree
        self._on_role_refused = on_role_refused
        self._refused: set[TopicPartition] = set()
        self.broker_epoch = NO_BROKER_EPOCH

    @property
    def has_been_registered(self) -> bool:
        return self.broker_epoch != NO_BROKER_EPOCH

    @property
    def controller_epoch(self) -> int:
        """The latest controller epoch that this broker knows; -1 before the first order."""
        return self._changes.controller_epoch

    def has_refused(self, topic_partition: TopicPartition) -> bool:
        """Whether this broker answered the last LeaderAndIsr for the partition with an error, for example because its
        log could not be created."""
        return topic_partition in self._refused

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        try:
            self._check_broker_epoch(request.broker_epoch)
            states = [state_of(topic, state) for topic in request.topic_states for state in topic.partition_states]
            await self._overrides.refresh(self._tree, self._topics_of_missing_logs(states))
            codes = await self._changes.become_leader_or_follower(states, request.controller_epoch)
        except SessionExpiredError:
            return LeaderAndIsrResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        except KafkaError as error:
            return LeaderAndIsrResponse(error_code=error.code)
        refused = {partition for partition, code in codes.items() if code is not ErrorCode.NONE}
        self._refused.difference_update(codes)
        self._refused |= refused
        if refused:
            self._on_role_refused()
        return leader_and_isr_response(request, codes)

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        try:
            self._check_broker_epoch(request.broker_epoch)
            stops = list(stops_of(request))
            self._refused.difference_update(stop.topic_partition for stop in stops)
            codes = await self._changes.stop_replicas(stops, request.controller_epoch)
        except KafkaError as error:
            return StopReplicaResponse(error_code=error.code)
        errors = [
            StopReplicaPartitionError(topic_name=partition.topic, partition_index=partition.partition, error_code=code)
            for partition, code in codes.items()
        ]
        return StopReplicaResponse(partition_errors=errors)

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        try:
            self._check_broker_epoch(request.broker_epoch)
        except KafkaError as error:
            return UpdateMetadataResponse(error_code=error.code)
        if request.controller_epoch < self._changes.controller_epoch:
            return UpdateMetadataResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
        self._changes.controller_epoch = request.controller_epoch
        self._cache.update(request)
        return UpdateMetadataResponse()

    def _topics_of_missing_logs(self, states: Iterable[PartitionState]) -> Iterable[str]:
        """Topics whose settings must be read, because a new log needs them from its start.

        For existing logs nothing is read: changes of settings are announced, and a broker that cannot reach the tree
        must still be able to take its roles.
        """
        return dict.fromkeys(
            state.topic_partition.topic for state in states if self._changes.lacks_log(state.topic_partition)
        )

    def _check_broker_epoch(self, broker_epoch: int) -> None:
        if broker_epoch != NO_BROKER_EPOCH and broker_epoch < self.broker_epoch:
            raise StaleBrokerEpochError(
                f"the request is for broker epoch {broker_epoch}, this broker has {self.broker_epoch}"
            )


def state_of(topic: LeaderAndIsrTopicState, state: LeaderAndIsrPartitionState) -> PartitionState:
    return PartitionState(
        topic_partition=TopicPartition(topic.topic_name, state.partition_index),
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(state.isr),
        partition_epoch=state.partition_epoch,
        replicas=tuple(state.replicas),
        topic_id=topic.topic_id if topic.topic_id.int else None,
        adding_replicas=tuple(state.adding_replicas),
        removing_replicas=tuple(state.removing_replicas),
        is_new=state.is_new,
    )


def leader_and_isr_response(
    request: LeaderAndIsrRequest, codes: dict[TopicPartition, ErrorCode]
) -> LeaderAndIsrResponse:
    topics = []
    for topic in request.topic_states:
        errors = [
            LeaderAndIsrPartitionError(
                topic_name=topic.topic_name,
                partition_index=state.partition_index,
                error_code=codes[TopicPartition(topic.topic_name, state.partition_index)],
            )
            for state in topic.partition_states
        ]
        topics.append(LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=errors))
    return LeaderAndIsrResponse(topics=topics)


def stops_of(request: StopReplicaRequest) -> Iterator[ReplicaStop]:
    for topic in request.topic_states:
        for state in topic.partition_states:
            partition = TopicPartition(topic.topic_name, state.partition_index)
            yield ReplicaStop(partition, state.leader_epoch, state.delete_partition)
