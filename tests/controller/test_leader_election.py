"""Tests of the rules that choose the next leader of a partition."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from pybroker.controller.leader_election import (
    Election,
    elect_after_restarts,
    elect_initial,
    elect_on_controlled_shutdown,
    elect_on_reassignment,
    elect_preferred,
    elect_when_offline,
)
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from pybroker.controller.tree.replica_assignment import ReplicaAssignment

THREE = ReplicaAssignment((1, 2, 3))


def alive(*broker_ids: int) -> Callable[[int], bool]:
    return lambda broker_id: broker_id in broker_ids


def test_first_live_replica_leads_a_new_partition_and_the_live_ones_are_in_sync() -> None:
    assert elect_initial(THREE, alive(2, 3)) == Election(LeaderAndIsr(2, (2, 3), 0, 0), (2, 3))
    assert elect_initial(THREE, alive()) == Election(None, ())


def test_leader_of_an_offline_partition_is_the_first_assigned_replica_that_is_live_and_in_sync() -> None:
    current = LeaderAndIsr(1, (1, 3, 2), 4, 9)
    election = elect_when_offline(THREE, current, alive(2, 3), unclean_allowed=False)
    assert election == Election(LeaderAndIsr(2, (3, 2), 5, 9), (2, 3))


def test_replica_out_of_sync_leads_only_when_unclean_election_is_allowed() -> None:
    current = LeaderAndIsr(1, (1,), 4, 9)
    assert elect_when_offline(THREE, current, alive(2, 3), unclean_allowed=False) == Election(None, (2, 3))
    unclean = elect_when_offline(THREE, current, alive(2, 3), unclean_allowed=True)
    assert unclean == Election(LeaderAndIsr(2, (2,), 5, 9, LeaderRecoveryState.RECOVERING), (2, 3))
    unmarked = elect_when_offline(THREE, current, alive(2, 3), unclean_allowed=True, marks_recovery=False)
    assert unmarked == Election(LeaderAndIsr(2, (2,), 5, 9), (2, 3))
    assert elect_when_offline(THREE, current, alive(), unclean_allowed=True).leader_and_isr is None


def test_clean_election_is_preferred_to_an_unclean_one_and_keeps_the_recovery_state() -> None:
    current = LeaderAndIsr(1, (1, 3), 4, 9, LeaderRecoveryState.RECOVERING)
    election = elect_when_offline(THREE, current, alive(2, 3), unclean_allowed=True)
    assert election.leader_and_isr == LeaderAndIsr(3, (3,), 5, 9, LeaderRecoveryState.RECOVERING)


def test_leader_that_was_restarted_with_all_others_leads_again_under_another_epoch() -> None:
    current = LeaderAndIsr(1, (1, 2, 3), 4, 9)
    again = LeaderAndIsr(1, (1, 2, 3), 5, 9)
    assert elect_after_restarts(THREE, current, alive(1, 2, 3), (1, 2, 3)).leader_and_isr == again
    assert elect_after_restarts(THREE, current, alive(1), (1,)).leader_and_isr == again
    first = elect_after_restarts(THREE, current, alive(1, 2, 3), (3, 1, 2)).leader_and_isr
    assert first == LeaderAndIsr(3, (1, 2, 3), 5, 9), "when 1 was restarted, 3 may have had what 1 lost"
    alone = LeaderAndIsr(1, (1,), 4, 9)
    assert elect_after_restarts(ReplicaAssignment((1,)), alone, alive(1), (1,)).leader_and_isr is None


def test_replicas_that_never_restarted_lead_after_restarts_without_a_controller() -> None:
    current = LeaderAndIsr(1, (1, 2, 3), 4, 9)
    assert elect_after_restarts(THREE, current, alive(1, 2, 3), (1,)).leader_and_isr == LeaderAndIsr(2, (2, 3), 5, 9)
    assert elect_after_restarts(THREE, current, alive(1, 2, 3), (3,)).leader_and_isr == LeaderAndIsr(1, (1, 2), 5, 9)
    assert elect_after_restarts(THREE, current, alive(1, 3), (1,)).leader_and_isr == LeaderAndIsr(3, (2, 3), 5, 9)
    assert elect_after_restarts(THREE, current, alive(2), (2,)).leader_and_isr == LeaderAndIsr(2, (1, 2, 3), 5, 9)


def test_reassignment_elects_among_the_target_replicas() -> None:
    assignment = ReplicaAssignment((4, 5, 1, 2), adding=(4, 5), removing=(1, 2))
    current = LeaderAndIsr(1, (1, 2, 5), 4, 9)
    election = elect_on_reassignment(assignment, current, alive(1, 2, 4, 5))
    assert election == Election(LeaderAndIsr(5, (1, 2, 5), 5, 9), (4, 5))
    assert elect_on_reassignment(assignment, current, alive(1, 2, 4)).leader_and_isr is None


def test_preferred_leader_must_be_live_and_in_sync() -> None:
    current = LeaderAndIsr(2, (1, 2), 4, 9)
    assert elect_preferred(THREE, current, alive(1, 2)).leader_and_isr == LeaderAndIsr(1, (1, 2), 5, 9)
    assert elect_preferred(THREE, current, alive(2)).leader_and_isr is None
    assert elect_preferred(THREE, LeaderAndIsr(2, (2,)), alive(1, 2)).leader_and_isr is None


def test_controlled_shutdown_moves_the_leader_and_removes_the_stopping_broker_from_the_isr() -> None:
    current = LeaderAndIsr(1, (1, 2, 3), 4, 9)
    election = elect_on_controlled_shutdown(THREE, current, alive(1, 2, 3), (1, 2))
    assert election == Election(LeaderAndIsr(3, (3,), 5, 9), (1, 2, 3))
    alone = LeaderAndIsr(1, (1,), 4, 9)
    assert elect_on_controlled_shutdown(THREE, alone, alive(1, 2, 3), (1,)).leader_and_isr is None


def test_origin_and_target_of_a_reassignment_follow_from_its_replicas() -> None:
    under_way = THREE.reassign_to((4, 2))
    assert under_way == ReplicaAssignment((4, 2, 1, 3), adding=(4,), removing=(1, 3))
    assert (under_way.origin, under_way.target) == ((2, 1, 3), (4, 2))
    assert under_way.is_being_reassigned
    assert not THREE.reassign_to((1, 2, 3)).is_being_reassigned
    assert under_way.without(3) == ReplicaAssignment((4, 2, 1), adding=(4,), removing=(1,))


BROKERS = st.integers(1, 5)


@st.composite
def partitions(draw: st.DrawFn) -> tuple[ReplicaAssignment, LeaderAndIsr]:
    """A partition that may be on its way to other replicas, with any state that it can come to."""
    replicas = tuple(draw(st.lists(BROKERS, min_size=1, unique=True)))
    target = draw(st.one_of(st.just(list(replicas)), st.lists(BROKERS, min_size=1, unique=True)))
    assignment = ReplicaAssignment(replicas).reassign_to(target)
    isr = tuple(draw(st.lists(st.sampled_from(assignment.replicas), min_size=1, unique=True)))
    leader = draw(st.sampled_from((-1, *isr)))
    return assignment, LeaderAndIsr(leader, isr, 4, 9, draw(st.sampled_from(LeaderRecoveryState)))


@given(
    partition=partitions(),
    online=st.sets(BROKERS),
    leaving=st.sets(BROKERS),
    unclean=st.booleans(),
)
def test_elected_leader_is_live_and_in_sync_and_gets_the_next_leader_epoch(
    partition: tuple[ReplicaAssignment, LeaderAndIsr], online: set[int], leaving: set[int], unclean: bool
) -> None:
    assignment, current = partition
    is_online = alive(*sorted(online))
    staying = alive(*sorted(online - leaving))
    elections = {
        "offline": (elect_when_offline(assignment, current, is_online, unclean_allowed=unclean), is_online),
        "reassign": (elect_on_reassignment(assignment, current, is_online), is_online),
        "preferred": (elect_preferred(assignment, current, is_online), is_online),
        "shutdown": (elect_on_controlled_shutdown(assignment, current, is_online, leaving), staying),
        "restarts": (elect_after_restarts(assignment, current, is_online, sorted(leaving)), is_online),
    }
    for strategy, (election, may_lead) in elections.items():
        assert set(election.recipients) <= set(assignment.replicas)
        elected = election.leader_and_isr
        if elected is None:
            continue
        assert may_lead(elected.leader)
        assert elected.leader in elected.isr
        assert elected.leader in assignment.replicas
        assert (elected.leader_epoch, elected.partition_epoch) == (5, 9)
        is_unclean = elected.leader not in current.isr
        assert not is_unclean or (strategy == "offline" and unclean)
        if is_unclean:
            assert elected.isr == (elected.leader,)
            assert elected.leader_recovery_state is LeaderRecoveryState.RECOVERING
            assert not any(is_online(member) for member in current.isr)
        else:
            assert set(elected.isr) <= set(current.isr)
            assert elected.leader_recovery_state is current.leader_recovery_state


@given(partition=partitions(), online=st.sets(BROKERS))
def test_partition_is_offline_only_when_no_isr_member_is_live(
    partition: tuple[ReplicaAssignment, LeaderAndIsr], online: set[int]
) -> None:
    assignment, current = partition
    election = elect_when_offline(assignment, current, alive(*sorted(online)), unclean_allowed=False)
    assert (election.leader_and_isr is None) == (not online & set(current.isr))


@given(replicas=st.lists(BROKERS, min_size=1, unique=True), wishes=st.lists(st.lists(BROKERS, min_size=1, unique=True)))
def test_repeatedly_replaced_reassignment_keeps_its_origin_and_target(
    replicas: list[int], wishes: list[list[int]]
) -> None:
    assignment = ReplicaAssignment(tuple(replicas))
    for target in wishes:
        assignment = assignment.reassign_to(target)
        assert assignment.target == tuple(target)
        assert set(assignment.origin) == set(replicas)
        assert set(assignment.replicas) == {*replicas, *target}
        assert set(assignment.adding) == {*target} - {*replicas}
        assert set(assignment.removing) == {*replicas} - {*target}
    called_off = assignment.reassign_to(assignment.origin)
    assert not called_off.is_being_reassigned
    assert set(called_off.replicas) == set(replicas)
