"""Elections on request: for which partitions they are needed, and how they are refused."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.leader_election import ElectionStrategy
from pybroker.protocol.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidTopicError,
    KafkaError,
    NotControllerError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
)
from support.in_process.control_plane import ControlPlane

T0 = TopicPartition("t", 0)
PREFERRED, UNCLEAN = ElectionStrategy.PREFERRED, ElectionStrategy.UNCLEAN


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Brokers 1 to 3, partition t-0 on 2 and 3."""
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await started.create_topic("t", {0: (2, 3)})
    await started.settled()
    yield started
    await started.stop()


async def elect(plane: ControlPlane, strategy: ElectionStrategy, partition: TopicPartition = T0) -> int | KafkaError:
    return (await plane.controller.elect_leaders([partition, partition], strategy))[partition]


async def down(plane: ControlPlane, *broker_ids: int) -> None:
    for broker_id in broker_ids:
        await plane.take_down(broker_id)
        await plane.settled()


async def up(plane: ControlPlane, broker_id: int) -> None:
    await plane.bring_up(broker_id)
    await plane.settled()


@pytest.mark.parametrize("strategy", [PREFERRED, UNCLEAN])
async def test_partition_led_by_its_preferred_replica_needs_no_election(
    plane: ControlPlane, strategy: ElectionStrategy
) -> None:
    assert isinstance(await elect(plane, strategy), ElectionNotNeededError)
    assert (await plane.state("t")).leader_epoch == 0


async def test_a_partition_that_another_replica_leads_does_not_need_an_unclean_election(plane: ControlPlane) -> None:
    await down(plane, 2)
    assert isinstance(await elect(plane, UNCLEAN), ElectionNotNeededError)


async def test_a_preferred_replica_that_is_down_cannot_lead(plane: ControlPlane) -> None:
    await down(plane, 2)
    assert isinstance(await elect(plane, PREFERRED), PreferredLeaderNotAvailableError)
    assert (await plane.state("t")).leader == 3


async def test_requested_unclean_election_takes_a_live_replica_although_the_topic_forbids_it(
    plane: ControlPlane,
) -> None:
    await down(plane, 2, 3)
    await up(plane, 2)
    assert (await plane.state("t")).leader == -1, "2 is not in sync"
    assert await elect(plane, UNCLEAN) == 2
    state = await plane.state("t")
    assert (state.leader, state.isr) == (2, (2,))


async def test_election_without_live_replicas_elects_no_leader(plane: ControlPlane) -> None:
    await down(plane, 2, 3)
    assert isinstance(await elect(plane, UNCLEAN), EligibleLeadersNotAvailableError)


async def test_a_partition_that_never_had_a_leader_gets_its_first(plane: ControlPlane) -> None:
    await plane.take_down(3)
    await plane.settled()
    await plane.create_topic("new", {0: (3,)})
    await plane.settled()
    new = TopicPartition("new", 0)
    assert plane.controller.context.leadership(new) is None
    assert isinstance(await elect(plane, PREFERRED, new), PreferredLeaderNotAvailableError)


async def test_election_is_refused_for_missing_partitions_and_topics_being_deleted(plane: ControlPlane) -> None:
    assert isinstance(await elect(plane, PREFERRED, TopicPartition("t", 1)), UnknownTopicOrPartitionError)
    assert isinstance(await elect(plane, UNCLEAN, TopicPartition("u", 0)), UnknownTopicOrPartitionError)
    await plane.take_down(3)
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert isinstance(await elect(plane, PREFERRED), InvalidTopicError)


async def test_election_is_refused_by_a_broker_that_is_not_controller(plane: ControlPlane) -> None:
    await plane.controller.call("resign", plane.controller._resign)
    with pytest.raises(NotControllerError):
        await elect(plane, PREFERRED)
