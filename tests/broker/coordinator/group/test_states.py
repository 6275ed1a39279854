"""The states of a group and the moves between them."""

import pytest
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.states import GroupState, IllegalGroupTransitionError, may_move

LEGAL = {
    (GroupState.EMPTY, GroupState.PREPARING_REBALANCE),
    (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE),
    (GroupState.PREPARING_REBALANCE, GroupState.EMPTY),
    (GroupState.COMPLETING_REBALANCE, GroupState.STABLE),
    (GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE),
    (GroupState.STABLE, GroupState.PREPARING_REBALANCE),
    *((state, GroupState.DEAD) for state in GroupState),
}


@pytest.mark.parametrize("target", GroupState)
@pytest.mark.parametrize("previous", GroupState)
def test_only_the_state_transitions_of_kafka_are_legal(previous: GroupState, target: GroupState) -> None:
    group = Group("g", 1, previous)

    if (previous, target) in LEGAL:
        group.transition_to(target, 2)
        assert (group.state, group.state_timestamp_ms) == (target, 2)
    else:
        with pytest.raises(IllegalGroupTransitionError):
            group.transition_to(target, 2)
        assert (group.state, group.state_timestamp_ms) == (previous, 1)


def test_a_dead_group_stays_dead() -> None:
    assert [state for state in GroupState if may_move(GroupState.DEAD, state)] == [GroupState.DEAD]
