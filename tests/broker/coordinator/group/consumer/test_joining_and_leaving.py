"""Members join a consumer group, leave it, and are refused (KIP-848)."""

from pybroker.broker.coordinator.group.consumer.states import ConsumerGroupState
from support.in_process.consumer_groups import CoordinatedGroup, Topics, heartbeat


def test_first_member_gets_all_partitions_in_epoch_one() -> None:
    group = CoordinatedGroup(Topics(t=3))
    answer = group.beat("a", 0, names=("t",))
    assert (answer.member_id, answer.member_epoch) == ("a", 1)
    assert answer.assignment == group.topics.assignment(t=range(3))
    assert group.group.state is ConsumerGroupState.STABLE


def test_second_member_gets_partitions_when_the_first_has_given_them_back() -> None:
    group = CoordinatedGroup(topics := Topics(t=2))
    owned = group.beat("a", 0, names=("t",)).assignment
    waiting = group.beat("b", 0, names=("t",))
    assert (waiting.member_epoch, waiting.assignment) == (2, {})
    reduced = group.beat("a", 1, owned=owned)
    assert reduced.member_epoch == 1
    assert reduced.assignment is not None
    assert len(reduced.assignment[topics.topic_id("t")]) == 1
    assert group.beat("b", 2).assignment is None
    assert group.beat("a", 1, owned=reduced.assignment).member_epoch == 2
    given = group.beat("b", 2)
    assert given.assignment == topics.assignment(t={0, 1} - reduced.assignment[topics.topic_id("t")])
    assert group.group.state is ConsumerGroupState.STABLE
    assert group.decide(heartbeat("b", 2)).records == ()


def test_last_member_that_leaves_leaves_an_empty_group() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",))
    group.beat("a", -1)
    assert group.group.state is ConsumerGroupState.EMPTY
    assert group.group.owners == {}
    assert group.group.target_epoch == group.group.epoch == 2
