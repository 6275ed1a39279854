"""Changes of a partition's ISR that a leader may make, and the errors for all others."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.context import ControllerContext
from pybroker.controller.isr_rules import IsrChange, decide
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, LeaderRecoveryState, PartitionLeadership
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import BrokerInfo
from pybroker.protocol.errors import (
    FencedLeaderEpochError,
    IneligibleReplicaError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    KafkaError,
    NotControllerError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)

T0 = TopicPartition("t", 0)
TOPIC_ID = UUID(int=7)
CURRENT = LeaderAndIsr(1, (1, 2), leader_epoch=4, partition_epoch=9)
RECOVERING = LeaderAndIsr(1, (1,), 4, 9, LeaderRecoveryState.RECOVERING)


def known(state: LeaderAndIsr = CURRENT, *, live: tuple[int, ...] = (1, 2, 3)) -> ControllerContext:
    """Brokers ``live`` with broker epochs 101, 102, …, and a partition that is on brokers 1, 2 and 3."""
    context = ControllerContext()
    for broker_id in live:
        context.put_broker(BrokerInfo(broker_id, (), 0), 100 + broker_id)
    context.put_topic("t", TOPIC_ID, {0: ReplicaAssignment((1, 2, 3))})
    context.put_leadership(T0, PartitionLeadership(state, 1))
    return context


def change(*isr: int, epochs: Mapping[int, int] | None = None, **others: object) -> IsrChange:
    wish = IsrChange(leader_epoch=4, partition_epoch=9, isr={member: (epochs or {}).get(member, -1) for member in isr})
    return replace(wish, **others)  # type: ignore[arg-type]


def test_a_live_replica_may_join_and_one_that_lags_may_leave() -> None:
    assert decide(known(), 1, T0, change(1, 2, 3)) == replace(CURRENT, isr=(1, 2, 3))
    assert decide(known(), 1, T0, change(1)) == replace(CURRENT, isr=(1,))
    joined = decide(known(), 1, T0, change(1, 2, 3, epochs={1: 101, 2: 102, 3: 103}, topic_id=TOPIC_ID))
    assert joined == replace(CURRENT, isr=(1, 2, 3))


def test_repeating_an_applied_isr_change_is_no_error_even_with_an_older_partition_epoch() -> None:
    assert decide(known(), 1, T0, change(1, 2)) is None
    assert decide(known(), 1, T0, change(1, 2, partition_epoch=8)) is None


def test_recovered_leader_may_report_it_and_then_add_replicas() -> None:
    assert decide(known(RECOVERING), 1, T0, change(1)) == LeaderAndIsr(1, (1,), 4, 9)
    assert decide(known(RECOVERING), 1, T0, change(1, 2)) == LeaderAndIsr(1, (1, 2), 4, 9)


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        (change(1, topic_id=UUID(int=8)), UnknownTopicIdError),
        (change(1, partition_epoch=10), NotControllerError),
        (change(1, leader_epoch=5), NotControllerError),
        (change(1, leader_epoch=3, partition_epoch=10), NotControllerError),
        (change(1, leader_epoch=3), FencedLeaderEpochError),
        (change(1, 2, leader_epoch=3), FencedLeaderEpochError),
        (change(1, partition_epoch=8), InvalidUpdateVersionError),
        (change(1, 2, 7), InvalidRequestError),
        (change(2, 3), InvalidRequestError),
        (change(), InvalidRequestError),
        (change(1, leader_recovery_state=LeaderRecoveryState.RECOVERING), InvalidRequestError),
    ],
)
def test_invalid_isr_changes_are_refused_with_kafkas_errors(wish: IsrChange, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        decide(known(), 1, T0, wish)


def test_isr_change_from_a_broker_that_is_not_leader_is_refused() -> None:
    for wish in (change(1, 2), change(1, 2, 3)):
        with pytest.raises(InvalidRequestError, match="is led by broker 1, not by 2"):
            decide(known(), 2, T0, wish)


def test_recovering_leader_may_not_add_replicas_to_the_isr() -> None:
    with pytest.raises(InvalidRequestError, match="alone"):
        decide(known(RECOVERING), 1, T0, change(1, 2, leader_recovery_state=LeaderRecoveryState.RECOVERING))


def test_a_partition_that_never_had_a_leader_is_unknown() -> None:
    with pytest.raises(UnknownTopicOrPartitionError):
        decide(known(), 1, TopicPartition("t", 1), change(1))


def test_stopped_or_stopping_broker_may_not_join_the_isr() -> None:
    with pytest.raises(IneligibleReplicaError, match=r"\[3\]"):
        decide(known(live=(1, 2)), 1, T0, change(1, 2, 3))
    context = known()
    context.shutting_down[3] = None
    with pytest.raises(IneligibleReplicaError, match=r"\[3\]"):
        decide(context, 1, T0, change(1, 2, 3))
    assert decide(context, 1, T0, change(1)) == replace(CURRENT, isr=(1,))


@pytest.mark.parametrize("epoch", [102, 104])
def test_replica_with_another_broker_epoch_may_not_join_the_isr(epoch: int) -> None:
    """The replica caught up, crashed with unsynced records, and was restarted."""
    with pytest.raises(IneligibleReplicaError):
        decide(known(), 1, T0, change(1, 2, 3, epochs={3: epoch}))


@given(
    leader_epoch=st.integers(3, 5),
    partition_epoch=st.integers(8, 10),
    isr=st.lists(st.integers(1, 4), unique=True, max_size=4),
    recovery=st.sampled_from(LeaderRecoveryState),
    broker_id=st.integers(1, 3),
    live=st.sets(st.integers(1, 3)),
    current=st.sampled_from([CURRENT, RECOVERING]),
)
def test_granted_changes_keep_the_leader_and_epochs_and_a_legal_isr(
    leader_epoch: int,
    partition_epoch: int,
    isr: list[int],
    recovery: LeaderRecoveryState,
    broker_id: int,
    live: set[int],
    current: LeaderAndIsr,
) -> None:
    context = known(current, live=tuple(sorted(live)))
    wish = change(*isr, leader_epoch=leader_epoch, partition_epoch=partition_epoch, leader_recovery_state=recovery)
    try:
        granted = decide(context, broker_id, T0, wish)
    except KafkaError:
        return
    if granted is None:
        assert (current.isr, current.leader_recovery_state) == (tuple(isr), recovery)
        return
    assert (granted.leader, granted.leader_epoch, granted.partition_epoch) == (1, 4, 9)
    assert broker_id == 1
    assert 1 in granted.isr
    assert set(granted.isr) <= live
    assert granted.leader_recovery_state is LeaderRecoveryState.RECOVERED or granted.isr == (1,)
