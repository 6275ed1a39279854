"""The group epoch rises and a new target is computed when topics or subscriptions of a consumer group change."""

from collections.abc import Generator

import pytest
from pybroker.broker.coordinator.group.consumer.decision import World, decide
from pybroker.broker.coordinator.group.consumer.patterns import resolved_records
from pybroker.broker.coordinator.group.consumer.records import ResolvedPattern
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.broker.coordinator.group.consumer.targets import assignment_input
from pybroker.broker.coordinator.group.modern.assignment import Assignment
from pybroker.broker.coordinator.group.modern.assignors.assignor import GroupSpec, assign
from pybroker.broker.coordinator.group.modern.assignors.table import ASSIGNORS
from pybroker.broker.coordinator.group.modern.target_changes import target_records
from pybroker.protocol.errors import ErrorCode
from support.in_process.consumer_groups import SETTINGS, CoordinatedGroup, Topics, heartbeat


def resolve(group: CoordinatedGroup, pattern: str, *topics: str) -> None:
    found = ResolvedPattern(pattern, frozenset(topics), 1, 0)
    group.apply(resolved_records(group.group, [found], group.topics))


def see_topics(group: CoordinatedGroup) -> None:
    group.group.note_topics_changed()


@pytest.fixture
def group() -> CoordinatedGroup:
    """A group with one member that reads a topic of two partitions."""
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",))
    return group


# -- topics


def test_topic_that_grows_gives_its_new_partitions_to_the_group(group: CoordinatedGroup) -> None:
    group.topics.create("t", 3)
    assert group.beat("a", 1).assignment is None
    see_topics(group)
    answer = group.beat("a", 1)
    assert (answer.member_epoch, answer.assignment) == (2, group.topics.assignment(t=range(3)))


def test_subscribed_topic_that_comes_is_assigned(group: CoordinatedGroup) -> None:
    group.beat("a", 1, names=("t", "u"))
    group.topics.create("u", 1)
    see_topics(group)
    assert group.beat("a", 2).assignment == group.topics.assignment(t=range(2), u=[0])


def test_partitions_of_a_deleted_topic_are_taken(group: CoordinatedGroup) -> None:
    group.topics.delete("t")
    see_topics(group)
    answer = group.beat("a", 1)
    assert (answer.member_epoch, answer.assignment) == (1, {})
    assert group.beat("a", 1, owned={}).member_epoch == 2
    assert group.group.owners == {}


def test_topic_made_anew_is_another_topic(group: CoordinatedGroup) -> None:
    before = group.topics.assignment(t=range(2))
    group.topics.delete("t")
    group.topics.create("t", 2)
    see_topics(group)
    assert group.beat("a", 1, owned=before).assignment == {}
    answer = group.beat("a", 1, owned={})
    assert (answer.member_epoch, answer.assignment) == (2, group.topics.assignment(t=range(2)))


def test_look_at_topics_that_have_not_changed_writes_nothing(group: CoordinatedGroup) -> None:
    see_topics(group)
    assert group.decide(heartbeat("a", 1)).records == ()
    assert not group.group.topics_changed


def test_change_of_a_topic_that_nobody_reads_writes_nothing(group: CoordinatedGroup) -> None:
    group.topics.create("u", 1)
    see_topics(group)
    assert group.decide(heartbeat("a", 1)).records == ()


# -- subscriptions


def test_member_that_unsubscribes_gives_its_partitions_back(group: CoordinatedGroup) -> None:
    answer = group.beat("a", 1, names=())
    assert (answer.member_epoch, answer.assignment) == (1, {})
    assert group.group.epoch == 2
    assert group.beat("a", 1, owned={}).member_epoch == 2


def test_same_names_in_another_order_change_nothing() -> None:
    group = CoordinatedGroup(Topics(t=1, u=1))
    group.beat("a", 0, names=("t", "u"))
    assert group.decide(heartbeat("a", 1, names=("u", "t", "u"))).records == ()


def test_group_uses_the_assignor_that_most_members_prefer() -> None:
    group = CoordinatedGroup(Topics(t=3, u=3))
    group.beat("a", 0, names=("t", "u"), server_assignor="range")
    group.beat("b", 0, names=("t", "u"), server_assignor="range")
    assert group.group.target_of("a") == group.topics.assignment(t=[0, 1], u=[0, 1])
    assert group.group.protocol_name == "range"


def test_change_of_the_preferred_assignor_raises_the_epoch(group: CoordinatedGroup) -> None:
    group.beat("a", 1, server_assignor="uniform")  # the default: nothing changes but the record
    assert group.group.epoch == 1
    group.beat("a", 1, server_assignor="range")
    assert group.group.epoch == 2


# -- patterns


def test_pattern_matches_nothing_until_it_is_resolved() -> None:
    group = CoordinatedGroup(Topics(t=2))
    assert group.beat("a", 0, pattern="t.*").assignment == {}
    resolve(group, "t.*", "t")
    assert group.group.epoch == 2
    assert group.beat("a", 1).assignment == group.topics.assignment(t=range(2))


def test_pattern_with_the_same_topics_does_not_raise_the_epoch() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, pattern="t.*")
    resolve(group, "t.*", "t")
    group.beat("a", 1)
    resolve(group, "t.*", "t")
    assert group.group.epoch == 2


def test_new_member_with_a_resolved_pattern_raises_the_epoch() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, pattern="t.*")
    resolve(group, "t.*", "t")
    group.beat("a", 1)
    assert group.beat("b", 0, pattern="t.*").member_epoch == 3


def test_pattern_that_cannot_be_used_is_refused() -> None:
    group = CoordinatedGroup(Topics(t=2))
    assert group.error_of(heartbeat("a", 0, pattern="(")) is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_pattern_that_nobody_uses_any_more_is_deleted() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, pattern="t.*")
    group.beat("b", 0, pattern="t.*")
    resolve(group, "t.*", "t")
    group.beat("a", 1, pattern="")
    assert set(group.group.patterns) == {"t.*"}
    assert group.group.is_subscribed_to("t")
    group.fence("b")
    assert group.group.patterns == {}
    assert not group.group.is_subscribed_to("t")


def test_emptied_pattern_raises_the_epoch_and_takes_the_partitions() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, pattern="t.*")
    resolve(group, "t.*", "t")
    group.beat("a", 1)
    assert group.beat("a", 2, pattern="").assignment == {}
    assert group.group.epoch == 3


def test_result_for_a_pattern_without_members_is_dropped(group: CoordinatedGroup) -> None:
    assert resolved_records(group.group, [ResolvedPattern("t.*", frozenset("t"), 1, 0)], group.topics) == ()


def test_topics_of_patterns_and_names_are_counted_apart() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",), pattern="t.*")
    resolve(group, "t.*", "t")
    group.beat("a", 1, names=())
    assert group.group.is_subscribed_to("t")
    group.beat("a", 3, pattern="")
    assert not group.group.is_subscribed_to("t")


# -- the assignor


class Failing:
    """An assignor that fails."""

    name = "uniform"

    def steps(self, spec: GroupSpec) -> Generator[None, None, dict[str, Assignment]]:
        yield
        raise ArithmeticError("failed")


def test_failure_of_the_assignor_leaves_the_group_as_it_was(group: CoordinatedGroup) -> None:
    epoch = group.group.epoch
    world: World = group.world._replace(assignors={"uniform": Failing()})
    with pytest.raises(ArithmeticError):
        decide(group.group, heartbeat("b", 0, names=("t",)), world)
    assert (group.group.epoch, set(group.group.members)) == (epoch, {"a"})


def test_assignor_gets_existing_topics_and_the_target_until_now(group: CoordinatedGroup) -> None:
    group.beat("b", 0, names=("t", "missing"), instance_id="i")
    spec = assignment_input(group.group, group.topics)
    assert spec.partition_counts == {group.topics.topic_id("t"): 2}
    assert spec.is_homogeneous
    assert spec.members["b"].instance_id == "i"
    assert spec.members["b"].topic_ids == {group.topics.topic_id("t")}
    assert spec.members["a"].target == group.group.target_of("a")
    group.topics.create("missing", 1)
    assert not assignment_input(group.group, group.topics).is_homogeneous


def test_target_of_a_large_group_is_left_to_be_computed_outside_of_heartbeats() -> None:
    group = CoordinatedGroup(Topics(t=5_000))
    answer = group.beat("a", 0, names=("t",))
    assert (answer.member_epoch, answer.assignment) == (1, {})
    assert (group.group.epoch, group.group.target_epoch) == (2, 1)
    assert group.group.state_name == "Assigning"
    assert group.beat("b", 0, names=("t",)).member_epoch == 1

    result = assign(ASSIGNORS["uniform"], assignment_input(group.group, group.topics))
    group.apply(target_records(group.group, result, group.group.epoch))
    assert group.group.target_epoch == 3
    given = [group.beat(member_id, 1).assignment for member_id in "ab"]
    assert [sum(map(len, (assignment or {}).values())) for assignment in given] == [2_500, 2_500]
    assert group.group.state_name == "Stable"


def test_target_has_records_only_for_members_whose_target_differs(group: CoordinatedGroup) -> None:
    group.beat("b", 0, names=("t",))
    spec = assignment_input(group.group, group.topics)
    records = target_records(group.group, assign(ASSIGNORS["uniform"], spec), group.group.epoch)
    assert len(records) == 1


def test_member_whose_subscription_is_gone_is_led_while_the_target_waits() -> None:
    group = CoordinatedGroup(Topics(t=2, big=5_000), SETTINGS)
    group.beat("a", 0, names=("t",))
    assert group.beat("a", 1, names=("big",)).assignment == {}
    current = group.group.members["a"].current
    assert (current.epoch, current.state) == (1, MemberState.UNREVOKED_PARTITIONS)
