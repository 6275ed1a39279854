"""Collects the requests to brokers during an event, so that few requests are sent.

This is Kafka's ControllerBrokerRequestBatch.
"""

from collections.abc import Iterable
from uuid import UUID

from ..base.topic_partition import TopicPartition
from ..protocol.codec import NULL_UUID
from ..protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from ..protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from ..protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from .broker_channel import ControlRequest
from .context import ControllerContext
from .tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from .tree.znodes import BrokerInfo

__all__ = ["RequestBatch"]

_SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class RequestBatch:
    """Collects by broker; `take` returns the requests.

    LeaderAndIsr comes before UpdateMetadata, so that a leader knows its role before clients do; StopReplica comes last.
    Requests have the form of the newest version; the channel to an older broker translates them.
    """

    def __init__(self, context: ControllerContext, controller_id: int, inter_broker_listener: str) -> None:
        self._context = context
        self._controller_id = controller_id
        self._inter_broker_listener = inter_broker_listener
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}
        self._metadata_brokers: dict[int, None] = {}
        self._metadata: dict[TopicPartition, UpdateMetadataPartitionState] = {}

    def add_leader_and_isr(
        self,
        broker_ids: Iterable[int],
        partition: TopicPartition,
        leadership: PartitionLeadership,
        *,
        is_new: bool,
    ) -> None:
        """Tell the replicas on ``broker_ids`` their roles, and all brokers the leader."""
        assignment = self._context.assignment(partition)
        state = leadership.leader_and_isr
        for broker_id in broker_ids:
            states = self._leader_and_isr.setdefault(broker_id, {})
            earlier = states.get(partition)
            states[partition] = LeaderAndIsrPartitionState(
                topic_name=partition.topic,
                partition_index=partition.partition,
                controller_epoch=leadership.controller_epoch,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=list(state.isr),
                partition_epoch=state.partition_epoch,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding),
                removing_replicas=list(assignment.removing),
                is_new=is_new or (earlier is not None and earlier.is_new),
                leader_recovery_state=int(state.leader_recovery_state),
            )
        self.add_update_metadata(self._context.live_or_shutting_down_ids, [partition])

    def add_stop_replica(self, broker_ids: Iterable[int], partition: TopicPartition, *, delete: bool) -> None:
        for broker_id in broker_ids:
            states = self._stop_replica.setdefault(broker_id, {})
            earlier = states.get(partition)
            states[partition] = StopReplicaPartitionState(
                partition_index=partition.partition,
                leader_epoch=self._context.leader_epoch(partition),
                delete_partition=delete or (earlier is not None and earlier.delete_partition),
            )

    def add_update_metadata(self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Tell ``broker_ids`` the live brokers, and the state of those ``partitions`` that have one."""
        self._metadata_brokers.update(dict.fromkeys(broker_ids))
        for partition in partitions:
            leadership = self._context.leadership(partition)
            if leadership is None:
                continue
            state = leadership.leader_and_isr
            if self._context.is_queued_for_deletion(partition.topic):
                state = LeaderAndIsr.during_delete(state.isr)
            replicas = self._context.assignment(partition).replicas
            self._metadata[partition] = UpdateMetadataPartitionState(
                topic_name=partition.topic,
                partition_index=partition.partition,
                controller_epoch=leadership.controller_epoch,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=list(state.isr),
                zk_version=state.partition_epoch,
                replicas=list(replicas),
                offline_replicas=[r for r in replicas if not self._context.is_replica_online(r, partition)],
            )

    def take(self) -> list[tuple[int, ControlRequest]]:
        """The requests with their broker ids, in the order of sending. The batch is empty afterwards."""
        requests: list[tuple[int, ControlRequest]] = []
        live = set(self._context.live_or_shutting_down_ids)
        for broker_id, states in self._leader_and_isr.items():
            if broker_id in live:
                requests.append((broker_id, self._leader_and_isr_request(broker_id, states)))
        if self._metadata_brokers:
            topics = self._metadata_topics()
            brokers = [_live_broker(info) for info in self._context.live_or_shutting_down]
            requests += [
                (broker_id, self._update_metadata_request(broker_id, topics, brokers))
                for broker_id in self._metadata_brokers
                if broker_id in live
            ]
        for broker_id, stops in self._stop_replica.items():
            if broker_id in live:
                requests.append((broker_id, self._stop_replica_request(broker_id, stops)))
        self._leader_and_isr.clear()
        self._stop_replica.clear()
        self._metadata_brokers.clear()
        self._metadata.clear()
        return requests

    def _leader_and_isr_request(
        self, broker_id: int, states: dict[TopicPartition, LeaderAndIsrPartitionState]
    ) -> LeaderAndIsrRequest:
        topics: dict[str, LeaderAndIsrTopicState] = {}
        for partition, state in states.items():
            topic = topics.setdefault(
                partition.topic,
                LeaderAndIsrTopicState(topic_name=partition.topic, topic_id=self._topic_id(partition.topic)),
            )
            topic.partition_states.append(state)
        leader_ids = {state.leader for state in states.values()}
        return LeaderAndIsrRequest(
            controller_id=self._controller_id,
            controller_epoch=self._context.epoch,
            broker_epoch=self._context.broker_epoch(broker_id),
            topic_states=list(topics.values()),
            live_leaders=[
                self._live_leader(info) for info in self._context.live_or_shutting_down if info.broker_id in leader_ids
            ],
        )

    def _live_leader(self, info: BrokerInfo) -> LeaderAndIsrLiveLeader:
        endpoint = info.endpoint(self._inter_broker_listener) or info.endpoints[0]
        return LeaderAndIsrLiveLeader(broker_id=info.broker_id, host_name=endpoint.host, port=endpoint.port)

    def _metadata_topics(self) -> list[UpdateMetadataTopicState]:
        topics: dict[str, UpdateMetadataTopicState] = {}
        for partition, state in self._metadata.items():
            topic = topics.setdefault(
                partition.topic,
                UpdateMetadataTopicState(topic_name=partition.topic, topic_id=self._topic_id(partition.topic)),
            )
            topic.partition_states.append(state)
        return list(topics.values())

    def _update_metadata_request(
        self, broker_id: int, topics: list[UpdateMetadataTopicState], brokers: list[UpdateMetadataBroker]
    ) -> UpdateMetadataRequest:
        return UpdateMetadataRequest(
            controller_id=self._controller_id,
            controller_epoch=self._context.epoch,
            broker_epoch=self._context.broker_epoch(broker_id),
            topic_states=topics,
            live_brokers=brokers,
        )

    def _stop_replica_request(
        self, broker_id: int, states: dict[TopicPartition, StopReplicaPartitionState]
    ) -> StopReplicaRequest:
        topics: dict[str, StopReplicaTopicState] = {}
        for partition, state in states.items():
            topic = topics.setdefault(partition.topic, StopReplicaTopicState(topic_name=partition.topic))
            topic.partition_states.append(state)
        return StopReplicaRequest(
            controller_id=self._controller_id,
            controller_epoch=self._context.epoch,
            broker_epoch=self._context.broker_epoch(broker_id),
            topic_states=list(topics.values()),
        )

    def _topic_id(self, topic: str) -> UUID:
        return self._context.topic_ids.get(topic, NULL_UUID)


def _live_broker(info: BrokerInfo) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(
        id=info.broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                port=endpoint.port,
                host=endpoint.host,
                listener=endpoint.listener_name,
                security_protocol=_SECURITY_PROTOCOL_IDS[endpoint.security_protocol],
            )
            for endpoint in info.endpoints
        ],
        rack=info.rack,
    )
