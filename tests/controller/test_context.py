"""Tests of the legal and illegal state changes of partitions and replicas."""

from random import Random

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.base.topic_partition import TopicPartition
from pybroker.base.uuid_text import uuid_from_text, uuid_text
from pybroker.controller.context import ControllerContext, IllegalMoveError
from pybroker.controller.state_tables import PartitionReplica, PartitionState, ReplicaState
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.topic_ids import new_topic_id
from pybroker.protocol.codec import NULL_UUID

PARTITION = TopicPartition("t", 0)
REPLICA = PartitionReplica(PARTITION, 1)

P, R = PartitionState, ReplicaState
LEGAL_PARTITION_MOVES = {
    (P.NON_EXISTENT, P.NEW),
    *((state, P.ONLINE) for state in (P.NEW, P.ONLINE, P.OFFLINE)),
    *((state, P.OFFLINE) for state in (P.NEW, P.ONLINE, P.OFFLINE)),
    (P.OFFLINE, P.NON_EXISTENT),
}
LEGAL_REPLICA_MOVES = {
    (R.NON_EXISTENT, R.NEW),
    *((state, R.ONLINE) for state in (R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE)),
    *((state, R.OFFLINE) for state in (R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE)),
    (R.OFFLINE, R.DELETION_STARTED),
    (R.DELETION_STARTED, R.DELETION_SUCCESSFUL),
    (R.DELETION_STARTED, R.DELETION_INELIGIBLE),
    (R.OFFLINE, R.DELETION_INELIGIBLE),
    (R.DELETION_SUCCESSFUL, R.NON_EXISTENT),
}


@pytest.mark.parametrize("current", PartitionState)
@pytest.mark.parametrize("target", PartitionState)
def test_partition_makes_only_legal_state_changes(current: PartitionState, target: PartitionState) -> None:
    context = ControllerContext()
    context.initialize_partition(PARTITION, current)
    if (current, target) in LEGAL_PARTITION_MOVES:
        context.move_partition(PARTITION, target)
        assert context.partition_state(PARTITION) is target
    else:
        with pytest.raises(IllegalMoveError):
            context.move_partition(PARTITION, target)
        assert context.partition_state(PARTITION) is current


@pytest.mark.parametrize("current", ReplicaState)
@pytest.mark.parametrize("target", ReplicaState)
def test_replica_makes_only_legal_state_changes(current: ReplicaState, target: ReplicaState) -> None:
    context = ControllerContext()
    context.initialize_replica(REPLICA, current)
    if (current, target) in LEGAL_REPLICA_MOVES:
        context.move_replica(REPLICA, target)
        assert context.replica_state(REPLICA) is target
    else:
        with pytest.raises(IllegalMoveError):
            context.move_replica(REPLICA, target)
        assert context.replica_state(REPLICA) is current


def test_removed_topic_leaves_nothing_behind() -> None:
    context = ControllerContext()
    topic_id = new_topic_id(Random(1))
    context.put_topic("t", topic_id, {0: ReplicaAssignment((1,))})
    context.initialize_partition(PARTITION, P.ONLINE)
    context.initialize_replica(REPLICA, R.ONLINE)
    context.topics_to_delete["t"] = None
    context.offline_dir_replicas[1] = {PARTITION}
    context.remove_topic("t")
    assert context.topics == []
    assert context.all_partitions == []
    assert context.topic_name(topic_id) is None
    assert context.partition_state(PARTITION) is P.NON_EXISTENT
    assert context.replica_state(REPLICA) is R.NON_EXISTENT
    assert context.offline_dir_replicas[1] == set()
    assert not context.is_queued_for_deletion("t")


def test_replica_that_moves_away_and_back_is_not_offline() -> None:
    context = ControllerContext()
    context.initialize_replica(REPLICA, R.DELETION_SUCCESSFUL)
    context.offline_dir_replicas[1] = {PARTITION}
    context.move_replica(REPLICA, R.NON_EXISTENT)
    assert context.offline_dir_replicas[1] == set()


def test_topic_does_not_change_its_id() -> None:
    random = Random(1)
    context = ControllerContext()
    context.put_topic("t", new_topic_id(random), {})
    with pytest.raises(InvariantError):
        context.put_topic("t", new_topic_id(random), {})


def test_new_topic_ids_are_not_reserved_and_do_not_start_with_a_dash() -> None:
    random = Random(3)
    ids = [new_topic_id(random) for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert NULL_UUID not in ids
    assert not any(uuid_text(topic_id).startswith("-") for topic_id in ids)
    assert all(uuid_from_text(uuid_text(topic_id)) == topic_id for topic_id in ids)
    assert all(topic_id.version == 4 for topic_id in ids)
