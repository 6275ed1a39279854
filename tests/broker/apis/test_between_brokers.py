"""APIs between brokers: requests and responses in every version, and the listeners that may send them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pybroker.broker.apis.between_brokers.allocate_producer_ids import AllocateProducerIds
from pybroker.broker.apis.between_brokers.alter_partition import AlterPartition
from pybroker.broker.apis.between_brokers.controlled_shutdown import ControlledShutdown
from pybroker.broker.apis.between_brokers.leader_and_isr import LeaderAndIsr
from pybroker.broker.apis.between_brokers.stop_replica import StopReplica
from pybroker.broker.apis.between_brokers.update_metadata import UpdateMetadata
from pybroker.broker.requests.between_brokers import BetweenBrokers, listeners_between_brokers
from pybroker.config.load import load_config
from pybroker.protocol.errors import ClusterAuthorizationError, ErrorCode, NotControllerError
from pybroker.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from pybroker.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from pybroker.protocol.messages.controlled_shutdown import ControlledShutdownRequest, RemainingPartition
from pybroker.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from pybroker.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from support.in_process.control_plane import ControlPlane
from support.in_process.group_handlers import call


class Orders:
    """Records the requests that it gets."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        self.taken.append(request)
        return LeaderAndIsrResponse(
            topics=[
                LeaderAndIsrTopicError(
                    topic_id=topic.topic_id,
                    partition_errors=[
                        LeaderAndIsrPartitionError(
                            topic_name=topic.topic_name, partition_index=state.partition_index, error_code=56
                        )
                        for state in topic.partition_states
                    ],
                )
                for topic in request.topic_states
            ]
        )

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        self.taken.append(request)
        return StopReplicaResponse()

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        self.taken.append(request)
        return UpdateMetadataResponse()


@pytest.mark.parametrize("version", range(8))
async def test_leader_and_isr_means_the_same_in_every_version(version: int) -> None:
    name = "t" if version < 2 else ""
    states = [LeaderAndIsrPartitionState(topic_name=name, partition_index=index, leader=index) for index in (0, 1)]
    topic_id = UUID(int=5) if version >= 5 else UUID(int=0)
    grouped = LeaderAndIsrTopicState(topic_name="t", topic_id=topic_id, partition_states=states)
    request = LeaderAndIsrRequest(
        ungrouped_partition_states=states if version < 2 else [], topic_states=[grouped] if version >= 2 else []
    )
    orders = Orders()
    response = await call(LeaderAndIsr(orders), version, request)
    (topic,) = orders.taken[0].topic_states
    assert (topic.topic_name, [state.leader for state in topic.partition_states]) == ("t", [0, 1])
    if version < 5:
        told = [(error.topic_name, error.partition_index, error.error_code) for error in response.partition_errors]
        assert told == [("t", 0, 56), ("t", 1, 56)]
    else:
        (answered,) = response.topics
        assert answered.topic_id == topic_id
        assert [error.partition_index for error in answered.partition_errors] == [0, 1]


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("delete", [False, True])
async def test_stop_replica_means_the_same_in_every_version(version: int, delete: bool) -> None:
    request = StopReplicaRequest(delete_partitions=delete and version < 3)
    if version == 0:
        request.ungrouped_partitions = [
            StopReplicaPartitionV0(topic_name="t", partition_index=index) for index in (0, 1)
        ]
    elif version < 3:
        request.topics = [StopReplicaTopicV1(name="t", partition_indexes=[0, 1])]
    else:
        states = [StopReplicaPartitionState(partition_index=index, delete_partition=delete) for index in (0, 1)]
        request.topic_states = [StopReplicaTopicState(topic_name="t", partition_states=states)]
    orders = Orders()
    await call(StopReplica(orders), version, request)
    (topic,) = orders.taken[0].topic_states
    stops = [(state.partition_index, state.leader_epoch, state.delete_partition) for state in topic.partition_states]
    assert (topic.topic_name, stops) == ("t", [(0, -1, delete), (1, -1, delete)])


@pytest.mark.parametrize("version", range(9))
async def test_update_metadata_means_the_same_in_every_version(version: int) -> None:
    name = "t" if version < 5 else ""
    states = [UpdateMetadataPartitionState(topic_name=name, partition_index=index, leader=index) for index in (0, 1)]
    request = UpdateMetadataRequest(
        ungrouped_partition_states=states if version < 5 else [],
        topic_states=[UpdateMetadataTopicState(topic_name="t", partition_states=states)] if version >= 5 else [],
    )
    orders = Orders()
    await call(UpdateMetadata(orders), version, request)
    (topic,) = orders.taken[0].topic_states
    assert (topic.topic_name, [state.leader for state in topic.partition_states]) == ("t", [0, 1])


# -- requests to the controller


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await started.create_topic("t", {0: (2, 3), 1: (2,)})
    await started.settled()
    yield started
    await started.stop()


def alter_request(plane: ControlPlane, version: int, *isr: int, topic_id: UUID | None = None) -> AlterPartitionRequest:
    context = plane.controller.context
    partition = RequestPartitionData(leader_epoch=0, partition_epoch=0)
    if version >= 3:
        partition.new_isr_with_epochs = [BrokerState(broker_id=member) for member in isr]
    else:
        partition.new_isr = list(isr)
    topic = RequestTopicData(partitions=[partition])
    if version >= 2:
        topic.topic_id = topic_id or context.topic_ids["t"]
    else:
        topic.topic_name = "t"
    return AlterPartitionRequest(broker_id=2, broker_epoch=context.broker_epoch(2), topics=[topic])


async def alter(plane: ControlPlane, version: int, request: AlterPartitionRequest) -> ResponsePartitionData:
    response = await call(AlterPartition(plane.controller), version, request)
    (topic,) = response.topics
    assert (topic.topic_name, topic.topic_id) == (request.topics[0].topic_name, request.topics[0].topic_id)
    (partition,) = topic.partitions
    assert isinstance(partition, ResponsePartitionData)
    return partition


@pytest.mark.parametrize("version", range(4))
async def test_alter_partition_changes_the_isr_for_the_leader(plane: ControlPlane, version: int) -> None:
    changed = await alter(plane, version, alter_request(plane, version, 2))
    assert changed == ResponsePartitionData(
        partition_index=0, leader_id=2, leader_epoch=0, isr=[2], leader_recovery_state=0, partition_epoch=1
    )


@pytest.mark.parametrize("version", range(4))
async def test_alter_partition_refuses_an_ineligible_replica_with_the_code_of_its_version(
    plane: ControlPlane, version: int
) -> None:
    await plane.take_down(3)
    await plane.settled()
    request = alter_request(plane, version, 2, 3)
    state = await plane.state("t")
    partition = request.topics[0].partitions[0]
    partition.leader_epoch, partition.partition_epoch = state.leader_epoch, state.partition_epoch
    refused = await alter(plane, version, request)
    wanted = ErrorCode.OPERATION_NOT_ATTEMPTED if version < 2 else ErrorCode.INELIGIBLE_REPLICA
    assert refused.error_code == wanted


async def test_alter_partition_with_an_outdated_topic_id_gets_unknown_topic_id(plane: ControlPlane) -> None:
    refused = await alter(plane, 3, alter_request(plane, 3, 2, topic_id=UUID(int=99)))
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_alter_partition_sent_to_another_broker_gets_not_controller(plane: ControlPlane) -> None:
    request = alter_request(plane, 3, 2)
    await plane.controller.call("resign", plane.controller._resign)
    with pytest.raises(NotControllerError):
        await call(AlterPartition(plane.controller), 3, request)


async def test_alter_partition_waits_until_a_new_controller_knows_the_topics(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = plane.controller
    topic_name, caught_up = controller.topic_name, controller.caught_up

    async def read_the_tree() -> None:
        await caught_up()
        monkeypatch.setattr(controller, "topic_name", topic_name)

    monkeypatch.setattr(controller, "topic_name", lambda _topic_id: None)
    monkeypatch.setattr(controller, "caught_up", read_the_tree)
    response = await call(AlterPartition(controller), 3, alter_request(plane, 3, 2))
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE


async def test_allocate_producer_ids_returns_the_start_and_length_of_a_new_block(plane: ControlPlane) -> None:
    request = AllocateProducerIdsRequest(broker_id=2, broker_epoch=plane.controller.context.broker_epoch(2))
    handler = AllocateProducerIds(plane.controller)
    first, second = [await call(handler, 0, request) for _ in range(2)]
    assert first == AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=1000)
    assert second == AllocateProducerIdsResponse(producer_id_start=1000, producer_id_len=1000)


@pytest.mark.parametrize("version", range(4))
async def test_controlled_shutdown_names_the_partitions_still_led(plane: ControlPlane, version: int) -> None:
    await plane.take_down(3)
    await plane.settled()
    request = ControlledShutdownRequest(broker_id=2, broker_epoch=-1)
    response = await call(ControlledShutdown(plane.controller), version, request)
    assert response.error_code == ErrorCode.NONE
    assert response.remaining_partitions == [RemainingPartition(topic_name="t", partition_index=0)]


# -- listeners


async def test_apis_between_brokers_are_refused_on_listeners_for_clients() -> None:
    config = load_config(
        "listeners=PLAINTEXT://:9092,INSIDE://:9093\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT\n"
        "inter.broker.listener.name=inside\n"
    )
    assert listeners_between_brokers(config) == ("INSIDE",)
    orders = Orders()
    for listeners, wanted in ((("PLAINTEXT",), 1), (("INSIDE",), 1)):
        handler = BetweenBrokers(UpdateMetadata(orders), listeners)
        if listeners == ("PLAINTEXT",):
            await call(handler, 8, UpdateMetadataRequest())
        else:
            with pytest.raises(ClusterAuthorizationError):
                await call(handler, 8, UpdateMetadataRequest())
        assert len(orders.taken) == wanted
