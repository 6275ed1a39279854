"""Preferred leaders are elected by the periodic rebalance and by requests in the tree."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.isr_rules import IsrChange
from pybroker.controller.leader_balance import LeaderBalance, partitions_to_give_back
from pybroker.controller.leader_election import ElectionStrategy
from pybroker.controller.tree import znodes
from pybroker.protocol.errors import ElectionNotNeededError, PreferredLeaderNotAvailableError
from support.in_process.control_plane import ControlPlane
from support.in_process.partition_list_node import encode_partition_list

T = [TopicPartition("t", index) for index in range(4)]


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Broker 2 is preferred for four partitions, 3 for none; 3 leads them all, and 2 is in sync with the first two."""
    started = await ControlPlane.start(
        tmp_path / "metadata.db", (1, 2, 3), leader_balance=LeaderBalance(interval_seconds=300, percentage=10)
    )
    await started.create_topic("t", dict.fromkeys(range(4), (2, 3)))
    await started.settled()
    await started.bounce(2)
    await started.settled()
    await take_in(started, T[:2])
    yield started
    await started.stop()


async def take_in(plane: ControlPlane, partitions: list[TopicPartition]) -> None:
    context = plane.controller.context
    changes = {}
    for partition in partitions:
        state = await plane.state("t", partition.partition)
        changes[partition] = IsrChange(state.leader_epoch, state.partition_epoch, {3: -1, 2: -1})
    await plane.controller.alter_partitions(3, context.broker_epoch(3), changes)


async def leaders(plane: ControlPlane) -> list[int]:
    return [(await plane.state("t", index)).leader for index in range(4)]


async def test_partitions_return_to_a_preferred_leader_when_its_imbalance_exceeds_the_limit(
    plane: ControlPlane,
) -> None:
    context = plane.controller.context
    assert await leaders(plane) == [3, 3, 3, 3]
    assert partitions_to_give_back(context, 10) == T[:2]
    assert partitions_to_give_back(context, 99) == T[:2]
    assert partitions_to_give_back(context, 100) == []
    await plane.controller.call("balance", plane.controller._term.balance_leaders)
    assert await leaders(plane) == [2, 2, 3, 3]
    assert partitions_to_give_back(context, 49) == [], "the others are not in sync"
    await take_in(plane, T[2:])
    assert partitions_to_give_back(context, 50) == []
    assert partitions_to_give_back(context, 49) == T[2:]
    await plane.take_down(2)
    await plane.settled()
    assert partitions_to_give_back(context, 10) == []


async def test_topics_being_deleted_are_not_rebalanced(plane: ControlPlane) -> None:
    plane.brokers[2].reachable.clear()
    await plane.tree.mark_for_deletion("t")
    await plane.controller.call("look", plane.nap)
    assert partitions_to_give_back(plane.controller.context, 10) == []
    plane.brokers[2].reachable.set()


async def test_balance_timer_runs_until_the_controllers_term_ends(plane: ControlPlane) -> None:
    term = plane.controller._term
    first = term._balance_timer
    assert first is not None
    await plane.controller.call("balance", term.balance_leaders)
    second = term._balance_timer
    assert second is not None
    assert second.when() - first.when() > 200
    await plane.controller.call("resign", plane.controller._resign)
    assert second.cancelled()


async def test_no_timer_runs_when_auto_leader_rebalance_is_disabled(tmp_path: Path) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    assert plane.controller._term._balance_timer is None
    await plane.stop()


async def test_election_request_in_the_tree_is_tried_once_and_removed(plane: ControlPlane) -> None:
    for _ in range(2):  # twice: the watch is set again
        wished = [*T, TopicPartition("nowhere", 0)]
        await plane.store.create(znodes.PREFERRED_ELECTION_PATH, encode_partition_list(wished))
        await plane.settled()
        assert await leaders(plane) == [2, 2, 3, 3]
        assert await plane.store.exists(znodes.PREFERRED_ELECTION_PATH) is None
    await plane.store.create(znodes.PREFERRED_ELECTION_PATH, b"\x00")
    await plane.settled()
    assert await plane.store.exists(znodes.PREFERRED_ELECTION_PATH) is None


async def test_next_controller_handles_election_requests_left_in_the_tree(plane: ControlPlane) -> None:
    await plane.controller.stop()
    await plane.store.create(znodes.PREFERRED_ELECTION_PATH, encode_partition_list(T[:1]))
    await plane.start_controller()
    assert await leaders(plane) == [2, 3, 3, 3]
    assert await plane.store.exists(znodes.PREFERRED_ELECTION_PATH) is None


async def test_each_partition_of_a_requested_election_gets_its_own_result(plane: ControlPlane) -> None:
    answers = await plane.controller.elect_leaders(T, ElectionStrategy.PREFERRED)
    assert (answers[T[0]], answers[T[1]]) == (2, 2)
    assert all(isinstance(answers[partition], PreferredLeaderNotAvailableError) for partition in T[2:])
    again = await plane.controller.elect_leaders(T[:1], ElectionStrategy.PREFERRED)
    assert isinstance(again[T[0]], ElectionNotNeededError)


async def test_requested_unclean_election_takes_a_live_replica(plane: ControlPlane) -> None:
    await plane.take_down(3)
    await plane.settled()
    assert await leaders(plane) == [2, 2, -1, -1]
    answers = await plane.controller.elect_leaders(T, ElectionStrategy.UNCLEAN)
    assert all(isinstance(answers[partition], ElectionNotNeededError) for partition in T[:2])
    assert (answers[T[2]], answers[T[3]]) == (2, 2)
    assert (await plane.state("t", 2)).isr == (2,)
