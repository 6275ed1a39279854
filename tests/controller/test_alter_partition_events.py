"""AlterPartition at the controller: what is written, which brokers are notified, and the leader's response."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.isr_rules import IsrChange
from pybroker.controller.tree import znodes
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from pybroker.controller.tree.znodes import ProducerIdBlock
from pybroker.protocol.errors import (
    BrokerIdNotRegisteredError,
    InvalidUpdateVersionError,
    KafkaError,
    NotControllerError,
    StaleBrokerEpochError,
    UnknownTopicOrPartitionError,
)
from support.in_process.control_plane import ControlPlane

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def wish(*isr: int, leader_epoch: int = 0, partition_epoch: int = 0) -> IsrChange:
    return IsrChange(leader_epoch, partition_epoch, dict.fromkeys(isr, -1))


async def alter(
    plane: ControlPlane, changes: dict[TopicPartition, IsrChange], broker_id: int = 2
) -> dict[TopicPartition, LeaderAndIsr | KafkaError]:
    epoch = plane.controller.context.broker_epoch(broker_id)
    return await plane.controller.alter_partitions(broker_id, epoch, changes)


async def test_smaller_isr_is_written_and_sent_to_every_broker(plane: ControlPlane) -> None:
    for broker in plane.brokers.values():
        broker.forget_requests()
    assert await alter(plane, {T0: wish(2)}) == {T0: LeaderAndIsr(2, (2,), 0, 1)}
    assert await plane.state("t") == LeaderAndIsr(2, (2,), 0, 1)
    await plane.settled()
    for broker in plane.brokers.values():
        assert len(broker.requests) == 1
        state = broker.metadata.partition("t", 0)
        assert state is not None
        assert (state.isr, state.leader_epoch, state.zk_version) == ([2], 0, 1)


async def test_changes_of_many_isrs_in_one_request_are_logged_in_one_line(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    await plane.create_topic("wide", dict.fromkeys(range(20), (2, 3)))
    await plane.settled()
    caplog.clear()
    with caplog.at_level("INFO", "pybroker.controller.alter_partition_events"):
        await alter(plane, {TopicPartition("wide", partition): wish(2) for partition in range(20)})
        await alter(plane, {TopicPartition("wide", partition): wish(2, leader_epoch=7) for partition in range(20)})
    assert [record.getMessage() for record in caplog.records if record.name.endswith("alter_partition_events")] == [
        "partition wide-0: ISR [2], partition epoch 1; partition wide-1: ISR [2], partition epoch 1; "
        "partition wide-2: ISR [2], partition epoch 1; and 17 more like these",
        *[record.getMessage() for record in caplog.records if "may not change the ISR" in record.getMessage()],
    ]
    assert caplog.text.count("may not change the ISR of") == 3
    assert caplog.text.count("and 17 more like these") == 2


async def test_isr_may_shrink_and_grow_repeatedly(plane: ControlPlane) -> None:
    for epoch, isr in enumerate([(2,), (2, 3), (2,), (2, 3)]):
        assert await alter(plane, {T0: wish(*isr, partition_epoch=epoch)}) == {T0: LeaderAndIsr(2, isr, 0, epoch + 1)}


async def test_each_partition_of_an_alter_partition_request_gets_its_own_result(plane: ControlPlane) -> None:
    nowhere = TopicPartition("nowhere", 0)
    answers = await alter(plane, {T0: wish(2), T1: wish(3), nowhere: wish(2)})
    assert answers[T0] == LeaderAndIsr(2, (2,), 0, 1)
    assert isinstance(answers[T1], KafkaError)
    assert isinstance(answers[nowhere], UnknownTopicOrPartitionError)
    assert await plane.state("t", 1) == LeaderAndIsr(3, (3, 2))


async def test_repeated_alter_partition_request_returns_the_current_state(plane: ControlPlane) -> None:
    first = await alter(plane, {T0: wish(2)})
    assert await alter(plane, {T0: wish(2)}) == first
    assert (await plane.state("t")).partition_epoch == 1


async def test_partition_state_written_by_another_client_is_read_again(plane: ControlPlane) -> None:
    path = znodes.partition_state_path(T0)
    await plane.store.set(path, znodes.encode_partition_state(PartitionLeadership(LeaderAndIsr(2, (2, 3)), 1)))
    answers = await alter(plane, {T0: wish(2)})
    assert isinstance(answers[T0], InvalidUpdateVersionError)
    assert await alter(plane, {T0: wish(2, partition_epoch=1)}) == {T0: LeaderAndIsr(2, (2,), 0, 2)}


async def test_isr_change_of_a_partition_missing_from_the_tree_is_refused(plane: ControlPlane) -> None:
    await plane.store.delete(znodes.partition_state_path(T0))
    answers = await alter(plane, {T0: wish(2)})
    assert isinstance(answers[T0], UnknownTopicOrPartitionError)


async def test_alter_partition_with_another_broker_epoch_is_fenced(plane: ControlPlane) -> None:
    epoch = plane.controller.context.broker_epoch(2)
    for broker_id, broker_epoch in ((2, epoch - 1), (2, epoch + 1), (2, -1), (9, epoch)):
        with pytest.raises(StaleBrokerEpochError):
            await plane.controller.alter_partitions(broker_id, broker_epoch, {T0: wish(2)})
    assert (await plane.state("t")).isr == (2, 3)


async def test_controller_with_an_outdated_epoch_writes_no_isr(plane: ControlPlane) -> None:
    await plane.store.set("/controller_epoch", b"5")
    with pytest.raises(NotControllerError):
        await alter(plane, {T0: wish(2)})
    assert (await plane.state("t")).isr == (2, 3)


async def test_broker_that_is_not_controller_refuses_alter_partition(plane: ControlPlane) -> None:
    epoch = plane.controller.context.broker_epoch(2)
    await plane.controller.call("resign", plane.controller._resign)
    with pytest.raises(NotControllerError):
        await plane.controller.alter_partitions(2, epoch, {T0: wish(2)})
    with pytest.raises(NotControllerError):
        await plane.controller.allocate_producer_ids(2, epoch)


async def test_leader_elected_after_an_isr_change_is_in_the_new_isr(plane: ControlPlane) -> None:
    await alter(plane, {T0: wish(2)})
    await plane.take_down(2)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr) == (-1, (2,))


async def test_brokers_get_blocks_of_producer_ids_that_do_not_overlap(plane: ControlPlane) -> None:
    context = plane.controller.context
    blocks = [
        await plane.controller.allocate_producer_ids(broker_id, context.broker_epoch(broker_id))
        for broker_id in (2, 3, 2)
    ]
    assert blocks == [ProducerIdBlock(2, 0, 999), ProducerIdBlock(3, 1000, 1999), ProducerIdBlock(2, 2000, 2999)]
    with pytest.raises(BrokerIdNotRegisteredError):
        await plane.controller.allocate_producer_ids(9, 1)
    with pytest.raises(StaleBrokerEpochError):
        await plane.controller.allocate_producer_ids(2, context.broker_epoch(2) - 1)
