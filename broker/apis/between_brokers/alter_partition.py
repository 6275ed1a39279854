"""AlterPartition (KIP-497): a leader asks the controller, this broker, to change the ISR of its partitions.

v1 leader recovery state · v2 topic ids; INELIGIBLE_REPLICA in place of OPERATION_NOT_ATTEMPTED · v3 broker epochs of
the ISR's members.
"""

from collections.abc import Iterable, Mapping

from ....base.topic_partition import TopicPartition
from ....controller.controller import Controller
from ....controller.isr_rules import IsrChange
from ....controller.tree.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from ....protocol.errors import ErrorCode, InvalidRequestError, KafkaError, NotControllerError
from ....protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)
from ....protocol.sentinels import NO_BROKER_EPOCH
from ...requests.context import RequestContext

__all__ = ["AlterPartition"]


class AlterPartition:
    """Handler. Raises NotControllerError and StaleBrokerEpochError for the whole request."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def __call__(self, context: RequestContext, request: AlterPartitionRequest) -> AlterPartitionResponse:
        if not self._controller.is_active:  # another broker does not know the topic ids
            raise NotControllerError("This broker is not the controller.")
        version = context.api_version
        names = self._names(request, version)
        if None in names:  # a newly elected controller may not have loaded the topics yet
            await self._controller.caught_up()
            names = self._names(request, version)
        changes = {
            TopicPartition(name, partition.partition_index): _change(topic, partition, version)
            for name, topic in zip(names, request.topics, strict=True)
            if name is not None
            for partition in topic.partitions
        }
        states = await self._controller.alter_partitions(request.broker_id, request.broker_epoch, changes)
        return AlterPartitionResponse(
            topics=[_answer(name, topic, states, version) for name, topic in zip(names, request.topics, strict=True)]
        )

    def _names(self, request: AlterPartitionRequest, version: int) -> list[str | None]:
        if version < 2:
            return [topic.topic_name for topic in request.topics]
        return [self._controller.topic_name(topic.topic_id) for topic in request.topics]


def _change(topic: RequestTopicData, partition: RequestPartitionData, version: int) -> IsrChange:
    try:
        recovery = LeaderRecoveryState(partition.leader_recovery_state)
    except ValueError as error:
        raise InvalidRequestError(f"unknown leader recovery state {partition.leader_recovery_state}") from error
    return IsrChange(
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=(
            {member.broker_id: member.broker_epoch for member in partition.new_isr_with_epochs}
            if version >= 3
            else dict.fromkeys(partition.new_isr, NO_BROKER_EPOCH)
        ),
        leader_recovery_state=recovery,
        topic_id=topic.topic_id if version >= 2 else None,
    )


def _answer(
    name: str | None,
    topic: RequestTopicData,
    states: Mapping[TopicPartition, LeaderAndIsr | KafkaError],
    version: int,
) -> ResponseTopicData:
    indexes: Iterable[int] = (partition.partition_index for partition in topic.partitions)
    return ResponseTopicData(
        topic_name=topic.topic_name,
        topic_id=topic.topic_id,
        partitions=[
            ResponsePartitionData(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            if name is None
            else _partition_answer(index, states[TopicPartition(name, index)], version)
            for index in indexes
        ],
    )


def _partition_answer(index: int, outcome: LeaderAndIsr | KafkaError, version: int) -> ResponsePartitionData:
    if isinstance(outcome, KafkaError):
        code = outcome.code
        if code is ErrorCode.INELIGIBLE_REPLICA and version < 2:
            code = ErrorCode.OPERATION_NOT_ATTEMPTED
        return ResponsePartitionData(partition_index=index, error_code=code)
    return ResponsePartitionData(
        partition_index=index,
        leader_id=outcome.leader,
        leader_epoch=outcome.leader_epoch,
        isr=list(outcome.isr),
        leader_recovery_state=int(outcome.leader_recovery_state),
        partition_epoch=outcome.partition_epoch,
    )
