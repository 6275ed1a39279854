"""The order of the requests that a broker receives for one event of the controller."""

from collections.abc import Callable
from itertools import permutations
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.context import ControllerContext
from pybroker.controller.request_batch import RequestBatch
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from pybroker.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from pybroker.protocol.messages.stop_replica import StopReplicaRequest
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest

BROKERS = (1, 2)
KEPT, GONE = TopicPartition("t", 0), TopicPartition("t", 1)
LEADERSHIP = PartitionLeadership(LeaderAndIsr(1, BROKERS, leader_epoch=3), controller_epoch=5)

Addition = Callable[[RequestBatch], None]


def tell_roles(batch: RequestBatch) -> None:
    batch.add_leader_and_isr(BROKERS, KEPT, LEADERSHIP, is_new=False)


def tell_all_brokers(batch: RequestBatch) -> None:
    batch.add_update_metadata(BROKERS, [KEPT])


def stop(batch: RequestBatch) -> None:
    batch.add_stop_replica(BROKERS, GONE, delete=True)


@pytest.fixture
def batch() -> RequestBatch:
    context = ControllerContext()
    context.epoch = 5
    for broker_id in BROKERS:
        endpoint = RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", f"host-{broker_id}", 9092)
        context.put_broker(BrokerInfo(broker_id, (endpoint,), 0, None), 100 + broker_id)
    context.put_topic("t", UUID(int=9), {0: ReplicaAssignment(BROKERS), 1: ReplicaAssignment(BROKERS)})
    for partition in (KEPT, GONE):
        context.put_leadership(partition, LEADERSHIP)
    return RequestBatch(context, 1, "PLAINTEXT")


@pytest.mark.parametrize("additions", list(permutations((tell_roles, tell_all_brokers, stop))))
def test_broker_receives_leader_and_isr_then_update_metadata_then_stop_replica(
    batch: RequestBatch, additions: tuple[Addition, ...]
) -> None:
    """The order does not depend on how the batch was gathered. It is Kafka's: a client finds a leader where the
    metadata says, and a stopped replica's broker knows the new leader."""
    for add in additions:
        add(batch)
    requests = batch.take()
    for broker_id in BROKERS:
        kinds = [type(request) for to, request in requests if to == broker_id]
        assert kinds == [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest]
    assert batch.take() == []


@pytest.mark.parametrize("is_new", [True, False])
def test_replica_keeps_is_new_when_its_role_is_sent_twice(batch: RequestBatch, is_new: bool) -> None:
    """Otherwise the broker would not create the log."""
    later = PartitionLeadership(LeaderAndIsr(2, BROKERS, leader_epoch=4), controller_epoch=5)
    batch.add_leader_and_isr([2], KEPT, LEADERSHIP, is_new=is_new)
    batch.add_leader_and_isr([2], KEPT, later, is_new=False)
    (order,) = [request for _, request in batch.take() if isinstance(request, LeaderAndIsrRequest)]
    (state,) = order.topic_states[0].partition_states
    assert (state.leader, state.leader_epoch, state.is_new) == (2, 4, is_new)


@pytest.mark.parametrize("deletes", list(permutations((True, False))))
def test_replica_is_deleted_when_one_of_two_stop_orders_requests_deletion(
    batch: RequestBatch, deletes: tuple[bool, bool]
) -> None:
    for delete in deletes:
        batch.add_stop_replica([2], GONE, delete=delete)
    (order,) = [request for _, request in batch.take() if isinstance(request, StopReplicaRequest)]
    (state,) = order.topic_states[0].partition_states
    assert state.delete_partition
