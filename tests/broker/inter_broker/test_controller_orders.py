"""Requests of the controller that arrive late, or while the metadata tree is unreachable."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from pybroker.broker.inter_broker.controller_orders import ControllerOrders
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.settings.topic_overrides import TopicOverrides
from pybroker.controller.context import ControllerContext
from pybroker.controller.request_batch import RequestBatch
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from pybroker.controller.tree.metadata_store import SessionExpiredError
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from pybroker.protocol.codec import NULL_UUID
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from pybroker.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest
from support.in_process.embedded_tree import embedded_tree
from support.in_process.replicas import BROKER, TOPIC, TOPIC_ID, TP, Replicas

NOTHING = cast("Any", None)
OTHER = "other"


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path / "logs")
    yield replicas
    replicas.close()


class TreeOutOfReach:
    """A tree whose reads wait until it is reachable again, or until the session has expired."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def configs(self, entity_type: str, names: object) -> dict[str, dict[str, str]]:
        if self._error is not None:
            raise self._error
        never: asyncio.Future[dict[str, dict[str, str]]] = asyncio.get_running_loop().create_future()
        return await never


def order_to_lead(*topics: str, leader_epoch: int) -> LeaderAndIsrRequest:
    state = LeaderAndIsrPartitionState(
        partition_index=0,
        leader=BROKER,
        leader_epoch=leader_epoch,
        isr=[BROKER],
        partition_epoch=leader_epoch,
        replicas=[BROKER],
        is_new=True,
    )
    topic_states = [
        LeaderAndIsrTopicState(
            topic_name=topic, topic_id=TOPIC_ID if topic == TOPIC else NULL_UUID, partition_states=[state]
        )
        for topic in topics
    ]
    return LeaderAndIsrRequest(controller_epoch=1, topic_states=topic_states)


def codes_of(response: LeaderAndIsrResponse) -> list[int]:
    return [error.error_code for topic in response.topics for error in topic.partition_errors]


def orders_of(replicas: Replicas, tree: object) -> ControllerOrders:
    return ControllerOrders(replicas.changes, NOTHING, TopicOverrides(), cast("ClusterTree", tree))


async def test_order_for_an_expired_registration_is_refused(replicas: Replicas) -> None:
    gone = TreeOutOfReach(SessionExpiredError(None, "the session expired while its client was away"))
    answer = await orders_of(replicas, gone).leader_and_isr(order_to_lead(TOPIC, leader_epoch=0))
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


async def test_broker_disconnected_from_the_tree_takes_roles_in_existing_logs(replicas: Replicas) -> None:
    """Otherwise an elected leader would not lead for the rest of its session."""
    await replicas.order(leader_epoch=0)
    orders = orders_of(replicas, TreeOutOfReach())
    order = asyncio.create_task(orders.leader_and_isr(order_to_lead(TOPIC, leader_epoch=1)))
    for _ in range(100):
        await asyncio.sleep(0)
    is_taken = order.done()
    order.cancel()
    assert is_taken
    assert codes_of(order.result()) == [ErrorCode.NONE]
    assert replicas.hosted().partition.leader_epoch == 1


async def test_role_counts_as_refused_until_the_broker_takes_it_or_the_topic_is_deleted(replicas: Replicas) -> None:
    refusals: list[bool] = []
    tree = cast("ClusterTree", TreeOutOfReach())
    orders = ControllerOrders(
        replicas.changes, NOTHING, TopicOverrides(), tree, lambda: refusals.append(orders.has_refused(TP))
    )
    await replicas.order(leader_epoch=1)
    for leader_epoch, is_refused in ((0, True), (2, False), (1, True)):
        await orders.leader_and_isr(order_to_lead(TOPIC, leader_epoch=leader_epoch))
        assert orders.has_refused(TP) is is_refused
    assert refusals == [True, True]
    stopped = StopReplicaPartitionState(partition_index=0, leader_epoch=-2, delete_partition=True)
    topic = StopReplicaTopicState(topic_name=TOPIC, partition_states=[stopped])
    await orders.stop_replica(StopReplicaRequest(controller_epoch=1, topic_states=[topic]))
    assert not orders.has_refused(TP)


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[ClusterTree]:
    async with embedded_tree(tmp_path, now_ms=1) as tree:
        yield tree


async def test_unreadable_topic_settings_do_not_prevent_leadership(replicas: Replicas, tree: ClusterTree) -> None:
    await tree.store.create(f"/config/topics/{TOPIC}", b"no json")
    await tree.store.create(f"/config/topics/{OTHER}", b'{"version":1,"config":{"retention.ms":"7"}}')
    overrides = TopicOverrides()
    orders = ControllerOrders(replicas.changes, NOTHING, overrides, tree)
    answer = await orders.leader_and_isr(order_to_lead(TOPIC, OTHER, leader_epoch=0))
    assert codes_of(answer) == [ErrorCode.NONE, ErrorCode.NONE]
    assert (overrides(TOPIC), overrides(OTHER)) == ({}, {"retention.ms": "7"})
    at_the_start = TopicOverrides()
    await at_the_start.load(tree)
    assert (at_the_start(TOPIC), at_the_start(OTHER)) == ({}, {"retention.ms": "7"})


@pytest.mark.parametrize(("broker_epoch", "is_taken"), [(6, False), (7, True), (8, True), (-1, True)])
async def test_orders_for_an_earlier_registration_are_refused(
    replicas: Replicas, broker_epoch: int, is_taken: bool
) -> None:
    """The orders were on their way when this broker was restarted (KIP-380). Orders without a broker epoch are
    accepted, and so are orders for a later registration, whose response is still on its way.
    """
    cache = MetadataCache()
    orders = ControllerOrders(replicas.changes, cache, TopicOverrides(), cast("ClusterTree", TreeOutOfReach()))
    orders.broker_epoch = 7
    await replicas.order(leader_epoch=0)
    lead = order_to_lead(TOPIC, leader_epoch=1)
    lead.broker_epoch = broker_epoch
    stop = StopReplicaRequest(
        controller_epoch=1,
        broker_epoch=broker_epoch,
        topic_states=[
            StopReplicaTopicState(
                topic_name=TOPIC, partition_states=[StopReplicaPartitionState(partition_index=0, leader_epoch=1)]
            )
        ],
    )
    know = UpdateMetadataRequest(controller_id=3, controller_epoch=1, broker_epoch=broker_epoch)
    codes = [(await orders.leader_and_isr(lead)).error_code, orders.update_metadata(know).error_code]
    assert replicas.hosted().partition.leader_epoch == int(is_taken)
    assert (cache.controller_id == 3) is is_taken
    codes.append((await orders.stop_replica(stop)).error_code)
    assert replicas.hosted().partition.is_leader is not is_taken
    assert codes == [ErrorCode.NONE if is_taken else ErrorCode.STALE_BROKER_EPOCH] * 3


async def test_a_replica_that_the_same_round_gives_a_role_and_deletes_is_gone(
    replicas: Replicas, tree: ClusterTree
) -> None:
    """Roles are applied first; otherwise the role would recreate the deleted replica."""
    await replicas.order(leader_epoch=3)
    cache = MetadataCache()
    orders = ControllerOrders(replicas.changes, cache, TopicOverrides(), tree)
    for broker_id, request in _round_that_leads_and_deletes().take():
        assert broker_id == BROKER
        match request:
            case LeaderAndIsrRequest():
                assert codes_of(await orders.leader_and_isr(request)) == [ErrorCode.NONE]
            case UpdateMetadataRequest():
                orders.update_metadata(request)
            case StopReplicaRequest():
                answer = await orders.stop_replica(request)
                assert [error.error_code for error in answer.partition_errors] == [ErrorCode.NONE]
    assert replicas.partitions.get(TP) is None
    assert replicas.logs.get(TP) is None
    assert cache.topics == [TOPIC]


def _round_that_leads_and_deletes() -> RequestBatch:
    context = ControllerContext()
    context.epoch = 1
    context.put_broker(BrokerInfo(BROKER, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "here", 9092),), 0), 7)
    context.put_topic(TOPIC, TOPIC_ID, {0: ReplicaAssignment((BROKER,))})
    leadership = PartitionLeadership(LeaderAndIsr(BROKER, (BROKER,), leader_epoch=4), 1)
    context.put_leadership(TP, leadership)
    batch = RequestBatch(context, BROKER, "PLAINTEXT")
    batch.add_stop_replica([BROKER], TP, delete=True)
    batch.add_leader_and_isr([BROKER], TP, leadership, is_new=True)
    return batch
