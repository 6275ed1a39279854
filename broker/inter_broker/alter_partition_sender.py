"""Sends changes of ISRs to the controller as AlterPartition requests (Kafka: AlterPartitionManager).

One request is in flight at a time; changes proposed meanwhile go together with the next one. A request is retried until
it is answered. Until then the leader stays correct whether or not the change was written.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Protocol
from uuid import UUID

from ...base.gathered_lines import log_gathered
from ...base.topic_partition import TopicPartition
from ...protocol.codec import NULL_UUID
from ...protocol.errors import ErrorCode, known_error_code
from ...protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from ...replication.partition.isr import PendingIsr
from ...replication.partition.partition import Partition
from .controller_link import ControllerChannel

__all__ = ["AlterPartitionSender"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.05
_FIRST_WITH_TOPIC_IDS = 2
_FIRST_WITH_BROKER_EPOCHS = 3
_UNKNOWN_EPOCH = -1

Proposal = tuple[Partition, PendingIsr]


class IsrSettlement(Protocol):
    """The part of `PartitionSet` that takes the outcome of a change."""

    def isr_change_accepted(
        self, partition: Partition, change: PendingIsr, isr: Iterable[int], leader_epoch: int, partition_epoch: int
    ) -> None: ...

    def isr_change_refused(self, partition: Partition, change: PendingIsr, error: ErrorCode) -> bool: ...


class AlterPartitionSender:
    """``broker_epoch()``: the epoch of this broker's registration; ``version``: of AlterPartition. ``broken`` is called
    with an unexpected exception."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        controller: ControllerChannel,
        partitions: IsrSettlement,
        broker_id: int,
        broker_epoch: Callable[[], int],
        version: int,
        broken: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._broken = broken
        self._loop = loop
        self._controller = controller
        self._partitions = partitions
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._version = version
        self._waiting: dict[TopicPartition, Proposal] = {}
        self._task: asyncio.Task[None] | None = None
        self._logged: dict[TopicPartition, PendingIsr] = {}
        """The changes of the last request; repeated ones are not logged."""
        self._refused: int = ErrorCode.NONE
        """Error code of the last whole response; repeated ones are logged at debug level."""

    def propose(self, partition: Partition, change: PendingIsr) -> None:
        """Send ``change``, which ``partition`` has noted as pending. It replaces an earlier unsent change."""
        self._waiting[partition.topic_partition] = (partition, change)
        if self._task is None:
            self._task = self._loop.create_task(self._run(), name="isr-changes")

    def kill(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        self.kill()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while self._waiting:
                proposals, self._waiting = self._still_pending(), {}
                if proposals and not await self._send(proposals):
                    await asyncio.sleep(RETRY_SECONDS)
        except ConnectionError:
            logger.debug("the broker stops and sends no more ISR changes")
        except Exception as error:  # a bug; without `broken` a leader would wait forever
            logger.exception("a bug: no more ISR changes can be sent")
            self._broken(error)
        finally:
            self._task = None

    def _still_pending(self) -> dict[TopicPartition, Proposal]:
        """The waiting changes, without those that a LeaderAndIsr request has made void."""
        return {
            topic_partition: (partition, change)
            for topic_partition, (partition, change) in self._waiting.items()
            if partition.leader is not None and partition.leader.isr is change
        }

    async def _send(self, proposals: dict[TopicPartition, Proposal]) -> bool:
        """Returns whether all changes are settled; the others are queued again."""
        has_ids = all(partition.topic_id is not None for partition, _ in proposals.values())
        version = self._version if has_ids else min(self._version, _FIRST_WITH_TOPIC_IDS - 1)
        request = self._request(proposals, version)
        response: AlterPartitionResponse = await self._controller.ask(request, version)
        if response.error_code:
            level = logging.DEBUG if response.error_code == self._refused else logging.WARNING
            code = known_error_code(response.error_code)
            logger.log(level, "the controller refused ISR changes, they are retried: %s", code.name)
            self._refused = response.error_code
            self._wait_again(proposals)
            return False
        self._refused = ErrorCode.NONE
        answers = self._answers(response, proposals, version)
        outcomes = [_outcome(*each, answers.get(tp)) for tp, each in proposals.items()]
        log_gathered(logger, logging.INFO, "replication.isr-change-settled", outcomes)
        unsettled = {
            topic_partition: proposal
            for topic_partition, proposal in proposals.items()
            if not self._settle(*proposal, answers.get(topic_partition))
        }
        self._wait_again(unsettled)
        return not unsettled

    def _request(self, proposals: dict[TopicPartition, Proposal], version: int) -> AlterPartitionRequest:
        topics: dict[str, RequestTopicData] = {}
        proposed: list[str] = []
        for topic_partition, (partition, change) in proposals.items():
            topic_id = partition.topic_id or NULL_UUID
            topic = topics.setdefault(
                topic_partition.topic, RequestTopicData(topic_name=topic_partition.topic, topic_id=topic_id)
            )
            members = [each for each in partition.replicas if each in change.proposed]
            members += [each for each in sorted(change.proposed) if each not in members]
            topic.partitions.append(
                RequestPartitionData(
                    partition_index=topic_partition.partition,
                    leader_epoch=partition.leader_epoch,
                    partition_epoch=partition.partition_epoch,
                    new_isr=members if version < _FIRST_WITH_BROKER_EPOCHS else [],
                    new_isr_with_epochs=[
                        BrokerState(broker_id=each, broker_epoch=self._epoch_of(partition, each)) for each in members
                    ]
                    if version >= _FIRST_WITH_BROKER_EPOCHS
                    else [],
                )
            )
            if self._logged.get(topic_partition) is not change:
                current = sorted(change.committed.members)
                proposed.append(f"{topic_partition}: proposing ISR {members}, currently {current}")
        log_gathered(logger, logging.INFO, "replication.isr-change-proposed", proposed)
        self._logged = {topic_partition: change for topic_partition, (_, change) in proposals.items()}
        return AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def _epoch_of(self, partition: Partition, broker_id: int) -> int:
        """The broker epoch in which a follower caught up (KIP-903)."""
        if broker_id == self._broker_id:
            return self._broker_epoch()
        replica = partition.leader.replicas.get(broker_id) if partition.leader is not None else None
        return _UNKNOWN_EPOCH if replica is None else replica.broker_epoch

    def _answers(
        self, response: AlterPartitionResponse, proposals: dict[TopicPartition, Proposal], version: int
    ) -> dict[TopicPartition, ResponsePartitionData]:
        names: dict[UUID | None, str] = {
            partition.topic_id: topic_partition.topic for topic_partition, (partition, _) in proposals.items()
        }
        return {
            TopicPartition(name, answer.partition_index): answer
            for topic in response.topics
            for name in [topic.topic_name if version < _FIRST_WITH_TOPIC_IDS else names.get(topic.topic_id, "")]
            for answer in topic.partitions
        }

    def _settle(self, partition: Partition, change: PendingIsr, answer: ResponsePartitionData | None) -> bool:
        """Hand the outcome to the partition. False: the change must be sent again."""
        if answer is not None and not answer.error_code:
            self._partitions.isr_change_accepted(
                partition, change, answer.isr, answer.leader_epoch, answer.partition_epoch
            )
            return True
        return not self._partitions.isr_change_refused(partition, change, _code(answer))

    def _wait_again(self, proposals: dict[TopicPartition, Proposal]) -> None:
        """Queue changes again, unless the same partition has proposed another one meanwhile."""
        self._waiting = {**proposals, **self._waiting}


def _outcome(partition: Partition, change: PendingIsr, answer: ResponsePartitionData | None) -> str:
    if answer is not None and not answer.error_code:
        return f"{partition.topic_partition}: the ISR is {answer.isr}, partition epoch {answer.partition_epoch}"
    return f"{partition.topic_partition}: the ISR stays {sorted(change.committed.members)}: {_code(answer).name}"


def _code(answer: ResponsePartitionData | None) -> ErrorCode:
    return ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else known_error_code(answer.error_code)
