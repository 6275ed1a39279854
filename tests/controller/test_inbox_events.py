"""Notifications that brokers and tools write to the tree for the controller."""

from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.tree import znodes
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from pybroker.controller.tree.metadata_store import Create, Delete, SetData
from pybroker.protocol.errors import ErrorCode
from support.in_process.control_plane import ControlPlane
from support.in_process.partition_list_node import ISR_CHANGE_PREFIX, encode_partition_list

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


async def notify(plane: ControlPlane, prefix: str, data: bytes) -> None:
    await plane.store.create(prefix, data, sequential=True)


async def test_isr_written_to_the_tree_by_a_leader_is_sent_to_every_broker(plane: ControlPlane) -> None:
    """As leaders before Kafka 2.7 do."""
    state = znodes.encode_partition_state(PartitionLeadership(LeaderAndIsr(2, (2,)), 1))
    await plane.store.set(znodes.partition_state_path(T0), state)
    await notify(plane, ISR_CHANGE_PREFIX, b"nothing that anybody understands")
    await notify(plane, ISR_CHANGE_PREFIX, encode_partition_list([T0, TopicPartition("gone", 0)]))
    await plane.settled()
    for broker in plane.brokers.values():
        told = broker.metadata.partition("t", 0)
        assert told is not None
        assert (told.isr, told.zk_version) == ([2], 1)
    assert await plane.store.children(znodes.ISR_CHANGE_PATH) == []


async def test_several_brokers_that_lost_a_directory_are_each_asked(plane: ControlPlane) -> None:
    plane.brokers[2].errors[T0] = ErrorCode.KAFKA_STORAGE_ERROR
    plane.brokers[3].errors[T1] = ErrorCode.KAFKA_STORAGE_ERROR
    create = [
        Create(znodes.LOG_DIR_EVENT_PREFIX, data, sequential=True)
        for data in (znodes.encode_log_dir_event(2), b"\x00", znodes.encode_log_dir_event(3))
    ]
    await plane.store.multi(create)
    await plane.settled()
    assert (await plane.state("t", 0)).leader == 3
    assert (await plane.state("t", 1)).leader == 2
    assert await plane.store.children(znodes.LOG_DIR_EVENT_PATH) == []


async def test_every_notification_of_a_failed_log_directory_is_handled(plane: ControlPlane) -> None:
    """The watch is set again, whatever else the controller reads meanwhile."""
    for broker_id, partition, heir in ((2, T0, 3), (3, T1, 2)):
        plane.brokers[broker_id].errors[partition] = ErrorCode.KAFKA_STORAGE_ERROR
        await plane.tree.notify_of_log_dir_event(broker_id)
        await plane.settled()
        assert (await plane.state(*partition)).leader == heir
    for partition, leader in ((T0, 3), (T1, 2)):
        state = await plane.state(*partition)
        alone = LeaderAndIsr(leader, (leader,), state.leader_epoch)
        written = znodes.encode_partition_state(PartitionLeadership(alone, 1))
        changed = await plane.store.set(znodes.partition_state_path(partition), written)
        await notify(plane, ISR_CHANGE_PREFIX, encode_partition_list([partition]))
        await plane.settled()
        told = plane.brokers[1].metadata.partition(*partition)
        assert told is not None
        assert told.zk_version == changed.version


async def test_replaced_controller_deletes_no_notification(plane: ControlPlane) -> None:
    plane.brokers[2].errors[T0] = ErrorCode.KAFKA_STORAGE_ERROR
    info, _ = await plane.store.get("/controller")
    other = info.replace(b'"brokerid":1', b'"brokerid":9')
    await plane.store.multi(
        [
            Delete("/controller"),
            Create("/controller", other),
            SetData("/controller_epoch", b"2"),
            Create(znodes.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(2), sequential=True),
        ]
    )
    await plane.settled()
    assert not plane.controller.is_active
    assert len(await plane.store.children(znodes.LOG_DIR_EVENT_PATH)) == 1


async def test_the_next_controller_starts_with_an_empty_inbox(plane: ControlPlane) -> None:
    await plane.controller.stop()
    await notify(plane, ISR_CHANGE_PREFIX, encode_partition_list([T0]))
    await notify(plane, znodes.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(2))
    await plane.start_controller()
    assert await plane.store.children(znodes.ISR_CHANGE_PATH) == []
    assert await plane.store.children(znodes.LOG_DIR_EVENT_PATH) == []
    assert plane.controller.is_active


async def test_unreadable_broker_nodes_do_not_stop_other_brokers_from_starting(plane: ControlPlane) -> None:
    await plane.store.create("/brokers/ids/nobody")
    await plane.store.create("/brokers/ids/7", b"\x00")
    await plane.bring_up(4)
    await plane.settled()
    assert plane.brokers[1].metadata.broker_ids == [1, 2, 3, 4]


async def test_settings_that_cannot_be_read_allow_no_unclean_election(plane: ControlPlane) -> None:
    plane.unclean = True
    await plane.store.set("/config/topics/t", b"\x00")
    for broker_id in (3, 2):
        await plane.take_down(broker_id)
        await plane.settled()
    await plane.bring_up(3)
    await plane.settled()
    assert plane.controller.is_active
    assert (await plane.state("t", 0)).leader == -1
