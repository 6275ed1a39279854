"""Members join a consumer group and leave it, and the group refuses others (KIP-848)."""

import pytest
from pybroker.broker.coordinator.group.consumer.records import CurrentMember, RecordKind, Removed
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.protocol.errors import ErrorCode
from support.in_process.consumer_groups import SETTINGS, CoordinatedGroup, Topics, heartbeat


def test_first_member_gets_all_partitions_in_epoch_one() -> None:
    group = CoordinatedGroup(Topics(t=3))
    answer = group.beat("a", 0, names=("t",))
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", 1, 5_000)
    assert answer.assignment == group.topics.assignment(t=range(3))
    assert group.group.state_name == "Stable"


def test_member_without_an_id_gets_one() -> None:
    group = CoordinatedGroup(Topics(t=3))
    assert group.beat("", 0, version=0).member_id == "made-1"
    assert set(group.group.members) == {"made-1"}


@pytest.mark.parametrize("subscription", [{"names": ()}, {"pattern": ""}, {"names": ("missing",)}, {"pattern": "x.*"}])
def test_member_that_can_read_nothing_yet_gets_an_epoch_all_the_same(subscription: dict[str, object]) -> None:
    group = CoordinatedGroup(Topics(t=3))
    answer = group.beat("a", 0, **subscription)
    assert (answer.member_epoch, answer.assignment) == (1, {})
    assert group.group.state_name == "Stable"


def test_new_member_without_a_subscription_leaves_the_epoch_of_the_group() -> None:
    group = CoordinatedGroup(Topics(t=3))
    group.beat("a", 0, names=("t",))
    assert group.beat("b", 0, names=()).member_epoch == 1
    assert group.group.state_name == "Stable"


def test_stable_heartbeat_writes_nothing_and_tells_no_assignment() -> None:
    group = CoordinatedGroup(Topics(t=3))
    group.beat("a", 0, names=("t",))
    decision = group.decide(heartbeat("a", 1))
    assert decision.records == ()
    assert (decision.answer.member_epoch, decision.answer.assignment) == (1, None)


def test_full_request_is_answered_with_the_assignment_and_writes_nothing() -> None:
    group = CoordinatedGroup(Topics(t=3))
    owned = group.beat("a", 0, names=("t",)).assignment
    decision = group.decide(heartbeat("a", 1, names=("t",), rebalance_timeout_ms=60_000, owned=owned))
    assert decision.records == ()
    assert decision.answer.assignment == owned


@pytest.mark.parametrize("changed", [{"client_id": "other"}, {"client_host": "/10.0.0.1"}, {"rack_id": "r2"}])
def test_change_that_does_not_matter_to_the_assignment_is_written_without_a_new_epoch(changed: dict[str, str]) -> None:
    group = CoordinatedGroup(Topics(t=3))
    group.beat("a", 0, names=("t",))
    (record,) = group.decide(heartbeat("a", 1, **changed)).records
    assert record == group.group.members["a"].metadata
    assert group.group.epoch == 1


# -- refusals


def test_request_of_an_unknown_member_is_refused() -> None:
    group = CoordinatedGroup(Topics(t=3))
    group.beat("a", 0, names=("t",))
    assert group.error_of(heartbeat("b", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.error_of(heartbeat("b", -1)) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.fixture
def two_epochs() -> CoordinatedGroup:
    """A group whose member is in epoch 2, after epoch 1."""
    group = CoordinatedGroup(Topics(t=3, u=1))
    group.beat("a", 0, names=("t",))
    group.beat("a", 1, names=("t", "u"))
    assert group.group.members["a"].epoch == 2
    return group


def test_greater_epoch_than_the_coordinators_is_fenced(two_epochs: CoordinatedGroup) -> None:
    assert two_epochs.error_of(heartbeat("a", 3)) is ErrorCode.FENCED_MEMBER_EPOCH


def test_previous_epoch_is_accepted_and_answered_with_the_assignment(two_epochs: CoordinatedGroup) -> None:
    owned = two_epochs.topics.assignment(t=range(3))
    for _ in range(2):  # the response may be lost more than once
        answer = two_epochs.beat("a", 1, owned=owned)
        assert answer.member_epoch == 2
        assert answer.assignment == two_epochs.topics.assignment(t=range(3), u=[0])


def test_previous_epoch_is_fenced_when_the_client_does_not_say_what_it_has(two_epochs: CoordinatedGroup) -> None:
    assert two_epochs.error_of(heartbeat("a", 1)) is ErrorCode.FENCED_MEMBER_EPOCH


def test_previous_epoch_is_fenced_when_the_client_has_more_than_is_assigned(two_epochs: CoordinatedGroup) -> None:
    owned = two_epochs.topics.assignment(t=range(4))
    assert two_epochs.error_of(heartbeat("a", 1, owned=owned)) is ErrorCode.FENCED_MEMBER_EPOCH


def test_epoch_before_the_previous_one_is_fenced(two_epochs: CoordinatedGroup) -> None:
    two_epochs.beat("a", 2, names=("t",), owned=two_epochs.topics.assignment(t=range(3)))
    assert two_epochs.error_of(heartbeat("a", 1, owned={})) is ErrorCode.FENCED_MEMBER_EPOCH


def test_member_that_waits_for_partitions_keeps_its_previous_epoch() -> None:
    group = CoordinatedGroup(Topics(t=3, u=1))
    group.beat("a", 0, names=("t",))
    owned = group.beat("b", 0, names=("u",)).assignment
    group.beat("b", 2, names=("t", "u"), owned=owned)
    member = group.group.members["b"].current
    assert (member.epoch, member.state) == (3, MemberState.UNRELEASED_PARTITIONS)
    for _ in range(2):
        assert group.beat("b", 2, owned=owned).member_epoch == 3


def test_member_that_is_behind_may_still_have_what_it_must_give_back(two_epochs: CoordinatedGroup) -> None:
    owned = two_epochs.topics.assignment(t=range(3))
    two_epochs.beat("b", 0, names=("t",))
    two_epochs.beat("a", 1, owned=owned)
    assert two_epochs.group.members["a"].current.revoking
    assert two_epochs.beat("a", 1, owned=owned).member_epoch == 2


def test_known_member_rejoins_at_epoch_zero_and_gets_its_assignment(two_epochs: CoordinatedGroup) -> None:
    answer = two_epochs.beat("a", 0, names=("t", "u"))
    assert answer.member_epoch == 2
    assert answer.assignment == two_epochs.topics.assignment(t=range(3), u=[0])


def test_full_group_refuses_a_new_member_but_not_one_that_it_has() -> None:
    group = CoordinatedGroup(Topics(t=3), SETTINGS._replace(max_size=1))
    group.beat("a", 0, names=("t",))
    assert group.error_of(heartbeat("b", 0, names=("t",))) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.error_of(heartbeat("a", 0, names=("t",))) is ErrorCode.NONE


def test_refused_request_changes_nothing() -> None:
    group = CoordinatedGroup(Topics(t=3))
    group.beat("a", 0, names=("t",))
    assert group.error_of(heartbeat("a", 5, names=("u",))) is ErrorCode.FENCED_MEMBER_EPOCH
    assert group.error_of(heartbeat("a", 1, pattern="(")) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(group.batches) == 1


# -- leaving


def test_last_member_that_leaves_leaves_an_empty_group() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",))
    answer = group.beat("a", -1)
    assert (answer.member_id, answer.member_epoch, answer.assignment) == ("a", -1, None)
    assert group.group.state_name == "Empty"
    assert group.group.owners == {}
    assert group.group.target_epoch == group.group.epoch == 2
    assert group.group.metadata_hash == 0


def test_partitions_of_a_member_that_leaves_go_to_the_others_at_their_next_heartbeat() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",))
    group.beat("b", 0, names=("t",))
    group.beat("a", -1)
    assert group.group.state_name == "Assigning"
    assert group.beat("b", 2).assignment == group.topics.assignment(t=range(2))
    assert group.group.state_name == "Stable"


def test_member_is_removed_in_an_order_of_which_each_prefix_can_be_loaded() -> None:
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",))
    group.fence("a")
    assert group.batches[-1][:3] == (
        Removed(RecordKind.CURRENT_MEMBER, "a"),
        Removed(RecordKind.TARGET_MEMBER, "a"),
        Removed(RecordKind.MEMBER, "a"),
    )


# -- static members


@pytest.fixture
def static() -> CoordinatedGroup:
    """A group of two members; "a" is the static member "i"."""
    group = CoordinatedGroup(Topics(t=2))
    group.beat("a", 0, names=("t",), instance_id="i")
    group.beat("b", 0, names=("t",))
    group.beat("a", 1, owned=group.topics.assignment(t=range(2)))
    group.beat("a", 1, owned=group.group.members["a"].current.assigned)
    group.beat("b", 2)
    assert group.group.state_name == "Stable"
    return group


def test_static_member_that_returns_under_another_id_gets_its_assignment_back(static: CoordinatedGroup) -> None:
    assignment, epoch = static.group.members["a"].current.assigned, static.group.epoch
    assert static.beat("a", -2, instance_id="i").member_epoch == -2
    assert static.group.members["a"].epoch == -2
    answer = static.beat("a2", 0, names=("t",), instance_id="i")
    assert (answer.member_epoch, answer.assignment) == (epoch, assignment)
    assert set(static.group.members) == {"a2", "b"}
    assert static.group.static_members == {"i": "a2"}
    assert set(static.group.targets) == {"a2", "b"}
    assert static.group.epoch == epoch
    assert static.group.state_name == "Stable"


@pytest.mark.parametrize("has_left", [False, True])
def test_static_member_may_rejoin_under_its_own_id(static: CoordinatedGroup, *, has_left: bool) -> None:
    assignment, epoch = static.group.members["a"].current.assigned, static.group.epoch
    if has_left:
        static.beat("a", -2, instance_id="i")
    answer = static.beat("a", 0, names=("t",), instance_id="i")
    assert (answer.member_epoch, answer.assignment) == (epoch, assignment)
    assert static.group.epoch == epoch


def test_instance_id_that_is_in_use_is_unreleased_for_others(static: CoordinatedGroup) -> None:
    joins = heartbeat("c", 0, names=("t",), instance_id="i")
    assert static.error_of(joins) is ErrorCode.UNRELEASED_INSTANCE_ID


def test_requests_under_the_id_that_was_replaced_are_fenced(static: CoordinatedGroup) -> None:
    static.beat("a", -2, instance_id="i")
    static.beat("a2", 0, names=("t",), instance_id="i")
    for epoch in (2, -1, -2):
        assert static.error_of(heartbeat("a", epoch, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert static.error_of(heartbeat("a", 2)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_unknown_instance_id_is_an_unknown_member(static: CoordinatedGroup) -> None:
    for epoch in (2, -1, -2):
        assert static.error_of(heartbeat("a", epoch, instance_id="j")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_member_that_has_left_is_fenced_unless_it_joins(static: CoordinatedGroup) -> None:
    static.beat("a", -2, instance_id="i")
    assert static.error_of(heartbeat("a", 2, instance_id="i")) is ErrorCode.FENCED_MEMBER_EPOCH


def test_second_leave_for_a_while_writes_nothing(static: CoordinatedGroup) -> None:
    static.beat("a", -2, instance_id="i")
    assert static.decide(heartbeat("a", -2, instance_id="i")).records == ()


def test_static_member_that_leaves_for_a_while_gives_back_what_it_had_to(static: CoordinatedGroup) -> None:
    static.topics.create("u", 1)
    static.beat("a", 2, names=("u",))
    assert static.group.members["a"].current.revoking
    static.beat("a", -2, instance_id="i")
    assert static.group.members["a"].current.revoking == {}
    assert "a" not in static.group.owners.values()


def test_static_member_gets_into_a_full_group_again(static: CoordinatedGroup) -> None:
    static.settings = SETTINGS._replace(max_size=2)
    static.beat("a", -2, instance_id="i")
    assert static.error_of(heartbeat("a2", 0, names=("t",), instance_id="i")) is ErrorCode.NONE


def test_static_member_may_return_under_the_id_of_another_member(static: CoordinatedGroup) -> None:
    static.beat("a", -2, instance_id="i")
    assignment = static.group.members["a"].current.assigned
    answer = static.beat("b", 0, names=("t",), instance_id="i")
    assert answer.assignment == assignment
    assert set(static.group.members) == {"b"}
    assert len(static.group.owners) == 1


def test_static_member_that_returns_with_another_subscription_raises_the_epoch(static: CoordinatedGroup) -> None:
    epoch = static.group.epoch
    static.topics.create("u", 1)
    static.beat("a", -2, instance_id="i")
    answer = static.beat("a2", 0, names=("u",), instance_id="i")
    assert (answer.member_epoch, answer.assignment) == (epoch + 1, static.topics.assignment(u=[0]))


def test_member_in_an_unknown_state_is_fenced_until_it_has_nothing() -> None:
    group = CoordinatedGroup(Topics(t=2))
    owned = group.beat("a", 0, names=("t",)).assignment
    assert owned is not None
    group.apply((CurrentMember("a", 1, 1, MemberState.UNKNOWN, owned, {}),))
    assert group.error_of(heartbeat("a", 1)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert group.error_of(heartbeat("a", 1, owned=owned)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert group.beat("a", 0, names=("t",)).assignment == owned
    assert group.group.members["a"].current.state is MemberState.STABLE
