"""AlterPartition requests to a controller that is slow, refuses them, or is replaced."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.inter_broker import alter_partition_sender
from pybroker.broker.inter_broker.alter_partition_sender import AlterPartitionSender
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from pybroker.replication.partition.isr import CommittedIsr, PendingIsr
from pybroker.replication.partition.partition import Partition
from simulation.machines.virtual_loop import VirtualLoop
from support.in_process.partitions import FakeLog, leading_partition, partition_state

TOPIC_ID = UUID(int=9)
TURNS = 1000
"""Within so many turns of the loop anything here happens that happens at all: nothing waits for time to pass."""


@pytest.fixture(autouse=True)
def retries_wait_for_a_turn_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alter_partition_sender, "RETRY_SECONDS", 0)


class Controller:
    """Answers when the test says so; what it is asked and says goes through the codec."""

    def __init__(self) -> None:
        self.asked: list[tuple[AlterPartitionRequest, int]] = []
        self._answers: asyncio.Queue[AlterPartitionResponse] = asyncio.Queue()

    async def ask(self, request: Message, version: int, *, give_up_after_ms: int | None = None) -> Any:
        self.asked.append((decode(AlterPartitionRequest, encode(request, version), version), version))
        answer = await self._answers.get()
        return decode(AlterPartitionResponse, encode(answer, version), version)

    def answer(self, *partitions: ResponsePartitionData, error: ErrorCode = ErrorCode.NONE) -> None:
        topic = ResponseTopicData(topic_id=TOPIC_ID, topic_name="orders", partitions=list(partitions))
        self._answers.put_nowait(AlterPartitionResponse(error_code=error, topics=[topic]))

    def isrs(self, number: int = -1) -> dict[int, list[int]]:
        """The ISR that the request proposes, by partition."""
        request, version = self.asked[number]
        return {
            partition.partition_index: [each.broker_id for each in partition.new_isr_with_epochs]
            if version >= 3
            else partition.new_isr
            for topic in request.topics
            for partition in topic.partitions
        }


class Settlement:
    """Stands in for `PartitionSet`, without hosted partitions."""

    def isr_change_accepted(
        self, partition: Partition, change: PendingIsr, isr: Any, leader_epoch: int, partition_epoch: int
    ) -> None:
        partition.isr_change_accepted(change, tuple(isr), leader_epoch, partition_epoch, 0)

    def isr_change_refused(self, partition: Partition, change: PendingIsr, error: ErrorCode) -> bool:
        return partition.isr_change_refused(change, error)


@pytest.fixture
def controller() -> Controller:
    return Controller()


NewChanges = Callable[..., AlterPartitionSender]


@pytest.fixture
def new_changes(controller: Controller) -> NewChanges:
    def new(version: int = 3) -> AlterPartitionSender:
        loop = asyncio.get_running_loop()
        return AlterPartitionSender(loop, controller, Settlement(), 1, lambda: 101, version)

    return new


def led(index: int, *, topic_id: UUID | None = TOPIC_ID) -> Partition:
    """Led by broker 1, with 2 and 3 in sync, of which 3 has not fetched for long."""
    partition = leading_partition(FakeLog(10), state=partition_state(leader_epoch=5, partition_epoch=7))
    partition.topic_partition = TopicPartition("orders", index)
    partition.topic_id = topic_id
    assert partition.leader is not None
    partition.leader.replicas[2].record_fetch(10, 0, 1_000_000, 10, 102)
    return partition


def shrink(partition: Partition) -> PendingIsr:
    change = partition.maybe_shrink_isr(1_000_000)
    assert change is not None
    return change


def accepted(index: int, *isr: int, partition_epoch: int = 8) -> ResponsePartitionData:
    return ResponsePartitionData(
        partition_index=index, leader_id=1, leader_epoch=5, isr=list(isr), partition_epoch=partition_epoch
    )


def refused(index: int, error: ErrorCode) -> ResponsePartitionData:
    return ResponsePartitionData(partition_index=index, error_code=error)


async def until_asked(controller: Controller, times: int = 1) -> None:
    await _turns(lambda: len(controller.asked) >= times, f"the controller was not asked {times} times")


async def until_settled(*partitions: Partition) -> None:
    await _turns(lambda: all(is_settled(each) for each in partitions), "the changes are not settled")


async def _turns(condition: Callable[[], object], what: str) -> None:
    for _ in range(TURNS):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"after {TURNS} turns {what}")


def members(partition: Partition) -> frozenset[int]:
    assert partition.leader is not None
    isr = partition.leader.isr
    assert isinstance(isr, CommittedIsr)
    return isr.members


def is_settled(partition: Partition) -> bool:
    return partition.leader is not None and isinstance(partition.leader.isr, CommittedIsr)


async def test_accepted_change_is_applied_as_the_controller_answered(
    controller: Controller, new_changes: NewChanges
) -> None:
    partition = led(0)
    new_changes().propose(partition, shrink(partition))
    await until_asked(controller)
    request, _ = controller.asked[0]
    assert (request.broker_id, request.broker_epoch) == (1, 101)
    wanted = request.topics[0].partitions[0]
    assert (wanted.leader_epoch, wanted.partition_epoch) == (5, 7)
    assert [(each.broker_id, each.broker_epoch) for each in wanted.new_isr_with_epochs] == [(1, 101), (2, 102)]
    controller.answer(accepted(0, 1, 2))
    await until_settled(partition)
    assert members(partition) == {1, 2}
    assert partition.partition_epoch == 8


async def test_proposals_made_during_a_request_are_sent_together_in_the_next(
    controller: Controller, new_changes: NewChanges
) -> None:
    changes, partitions = new_changes(), [led(index) for index in range(3)]
    changes.propose(partitions[0], shrink(partitions[0]))
    await until_asked(controller)
    for partition in partitions[1:]:
        changes.propose(partition, shrink(partition))
    await asyncio.sleep(0)
    assert len(controller.asked) == 1
    controller.answer(accepted(0, 1, 2))
    await until_asked(controller, 2)
    assert controller.isrs() == {1: [1, 2], 2: [1, 2]}
    controller.answer(accepted(1, 1, 2), accepted(2, 1, 2))
    await until_settled(*partitions)


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
async def test_isr_change_refused_by_the_controller_is_reverted(
    controller: Controller, new_changes: NewChanges, error: ErrorCode
) -> None:
    partition = led(0)
    new_changes().propose(partition, shrink(partition))
    controller.answer(refused(0, error))
    await until_settled(partition)
    assert members(partition) == {1, 2, 3}
    assert len(controller.asked) == 1


async def test_change_fenced_by_its_leader_epoch_is_not_sent_again(
    controller: Controller, new_changes: NewChanges
) -> None:
    partition, other = led(0), led(1)
    changes = new_changes()
    changes.propose(partition, shrink(partition))
    controller.answer(refused(0, ErrorCode.FENCED_LEADER_EPOCH))
    await until_asked(controller)
    changes.propose(other, shrink(other))
    await until_asked(controller, 2)
    assert controller.isrs() == {1: [1, 2]}
    assert partition.leader is not None
    assert partition.leader.isr.maximal == {1, 2, 3}
    changes.kill()


async def test_change_is_sent_again_after_an_inconclusive_error(
    controller: Controller, new_changes: NewChanges
) -> None:
    partition = led(0)
    new_changes().propose(partition, shrink(partition))
    controller.answer(refused(0, ErrorCode.UNKNOWN_SERVER_ERROR))
    controller.answer(error=ErrorCode.STALE_BROKER_EPOCH)
    controller.answer()  # says nothing of the partition
    controller.answer(accepted(0, 1, 2))
    await until_settled(partition)
    assert len(controller.asked) == 4
    assert members(partition) == {1, 2}


async def test_repeated_proposal_is_logged_once(
    controller: Controller, new_changes: NewChanges, caplog: pytest.LogCaptureFixture
) -> None:
    partition = led(0)
    caplog.set_level("INFO")
    new_changes().propose(partition, shrink(partition))
    for _ in range(5):
        controller.answer(error=ErrorCode.STALE_BROKER_EPOCH)
    controller.answer(accepted(0, 1, 2))
    await until_settled(partition)
    assert len(controller.asked) == 6
    assert [each for each in caplog.messages if "proposing" in each] == [
        "orders-0: proposing ISR [1, 2], currently [1, 2, 3]"
    ]


def test_refused_request_is_retried_after_a_pause(
    monkeypatch: pytest.MonkeyPatch, controller: Controller, new_changes: NewChanges
) -> None:
    monkeypatch.setattr(alter_partition_sender, "RETRY_SECONDS", 7)

    async def asked_in_time() -> list[int]:
        """How many requests were sent within each of 15 seconds."""
        partition, changes = led(0), new_changes()
        changes.propose(partition, shrink(partition))
        for _ in range(2):
            controller.answer(error=ErrorCode.STALE_BROKER_EPOCH)
        counts = []
        for _ in range(15):
            await asyncio.sleep(1)
            counts.append(len(controller.asked))
        await changes.close()
        return counts

    loop = VirtualLoop()
    counts = loop.run_until_complete(asked_in_time())
    loop.close()
    assert counts == [1] * 6 + [2] * 7 + [3] * 2


async def test_proposal_overtaken_by_a_leader_and_isr_order_is_not_sent_again(
    controller: Controller, new_changes: NewChanges
) -> None:
    partition, other = led(0), led(1)
    changes = new_changes()
    changes.propose(partition, shrink(partition))
    await until_asked(controller)
    changes.propose(other, shrink(other))
    partition.become_leader(partition_state(leader_epoch=6, partition_epoch=9, isr=(1, 3)), 10, 0)
    controller.answer(refused(0, ErrorCode.UNKNOWN_SERVER_ERROR))
    await until_asked(controller, 2)
    assert controller.isrs() == {1: [1, 2]}
    assert members(partition) == {1, 3}
    changes.kill()


async def test_alter_partition_names_topics_without_topic_ids_or_for_an_older_controller(
    controller: Controller, new_changes: NewChanges
) -> None:
    partition = led(0, topic_id=None)
    new_changes().propose(partition, shrink(partition))
    controller.answer(accepted(0, 1, 2))
    await until_settled(partition)
    assert controller.asked[0][1] == 1
    assert controller.isrs() == {0: [1, 2]}
    older = led(1)
    new_changes(version=0).propose(older, shrink(older))
    controller.answer(accepted(1, 1, 2))
    await until_settled(older)
    assert controller.asked[1][1] == 0
