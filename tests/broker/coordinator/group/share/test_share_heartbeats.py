"""Decisions on heartbeats of share groups: epochs, assignments, states of partitions, refusals."""

import pytest
from pybroker.broker.coordinator.group.modern.assignment import EMPTY
from pybroker.broker.coordinator.group.modern.records import GroupEpoch
from pybroker.broker.coordinator.group.modern.subscribed_topics import SubscribedTopics, TopicChanges
from pybroker.broker.coordinator.group.modern.topics import TopicLookup, metadata_hash
from pybroker.broker.coordinator.group.share.heartbeat import check
from pybroker.broker.coordinator.group.share.records import NamedPartitions
from pybroker.protocol.errors import ErrorCode, InvalidRequestError
from support.in_process.consumer_groups import Topics
from support.share_groups.decisions import SharedGroup, share_heartbeat


def test_new_member_gets_its_partitions_when_their_states_exist() -> None:
    shared = SharedGroup(Topics(t=3))
    first = shared.beat("a", 0, "t")
    assert (first.member_epoch, first.assignment) == (1, EMPTY)
    assert shared.group.states.initializing == {shared.topics.topic_id("t"): NamedPartitions("t", frozenset(range(3)))}
    shared.initialize()
    second = shared.beat("a", 1)
    assert (second.member_epoch, second.assignment) == (2, shared.topics.assignment(t=range(3)))


def test_hash_of_the_topics_of_a_large_group_is_computed_once_when_its_first_member_joins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"topic-{number}" for number in range(1_001)]
    shared = SharedGroup(Topics(**dict.fromkeys(names, 1)))
    hashes: list[TopicChanges] = []
    hash_after = SubscribedTopics.hash_after

    def counted(self: SubscribedTopics, changes: TopicChanges, lookup: TopicLookup) -> int:
        hashes.append(changes)
        return hash_after(self, changes, lookup)

    monkeypatch.setattr(SubscribedTopics, "hash_after", counted)
    records, _ = shared.decide(share_heartbeat("a", 0, *names))
    assert [len(changes.came) for changes in hashes] == [1_001]
    assert shared.group.metadata_hash == metadata_hash(names, shared.topics)
    assert [each.epoch for each in records if isinstance(each, GroupEpoch)] == [1, 2]


def test_stable_heartbeat_makes_no_record_and_tells_no_assignment() -> None:
    shared = SharedGroup(Topics(t=3))
    shared.beat("a", 0, "t")
    shared.initialize()
    shared.beat("a", 1)
    records, answer = shared.decide(share_heartbeat("a", 2))
    assert (records, answer.assignment, answer.member_epoch) == ((), None, 2)


def test_member_has_its_new_partitions_at_once_although_another_member_has_them_still() -> None:
    shared = SharedGroup(Topics(t=2))
    shared.beat("a", 0, "t")
    shared.initialize()
    shared.beat("a", 1)
    joined = shared.beat("b", 0, "t")
    assert joined.assignment is not None
    assert sum(map(len, joined.assignment.values())) == 1
    assert shared.group.members["a"].current.assigned == shared.topics.assignment(t=range(2))
    told = shared.beat("a", 2)
    assert told.member_epoch == 3
    assert told.assignment is not None
    assert joined.assignment != told.assignment


def test_members_share_a_partition_when_there_are_more_members() -> None:
    shared = SharedGroup(Topics(t=1))
    shared.beat("a", 0, "t")
    shared.initialize()
    for member in "bc":
        assert shared.beat(member, 0, "t").assignment == shared.topics.assignment(t=[0])


@pytest.mark.parametrize(("epoch", "is_told"), [(2, True), (1, False)])
def test_member_in_its_previous_epoch_is_told_its_assignment_again(epoch: int, is_told: bool) -> None:
    shared = SharedGroup(Topics(t=1))
    shared.beat("a", 0, "t")
    shared.initialize()
    shared.beat("a", 1)
    shared.beat("b", 0, "t")
    shared.beat("a", 2)  # this response is lost
    if is_told:
        answer = shared.beat("a", epoch)
        assert (answer.member_epoch, answer.assignment) == (3, shared.topics.assignment(t=[0]))
    else:
        assert shared.error_of("a", epoch) is ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [
        ("a", 7, ErrorCode.FENCED_MEMBER_EPOCH),
        ("b", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("b", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeat_of_no_member_or_in_a_wrong_epoch_is_refused(member: str, epoch: int, error: ErrorCode) -> None:
    shared = SharedGroup(Topics(t=1))
    shared.beat("a", 0, "t")
    assert shared.error_of(member, epoch) is error


def test_known_member_may_join_again() -> None:
    shared = SharedGroup(Topics(t=1))
    shared.beat("a", 0, "t")
    shared.initialize()
    shared.beat("a", 1)
    answer = shared.beat("a", 0, "t")
    assert (answer.member_epoch, answer.assignment) == (2, shared.topics.assignment(t=[0]))


def test_full_group_takes_no_new_member_but_keeps_its_own() -> None:
    shared = SharedGroup(Topics(t=1))
    for number in range(10):
        shared.beat(f"m{number}", 0, "t")
    assert shared.error_of("new", 0, "t") is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert shared.error_of("m0", 0, "t") is ErrorCode.NONE


def test_partitions_of_a_member_that_leaves_go_to_the_others() -> None:
    shared = SharedGroup(Topics(t=4))
    shared.beat("a", 0, "t")
    shared.initialize()
    for member, epoch in (("a", 1), ("b", 0), ("a", 2)):
        shared.beat(member, epoch, "t")
    answer = shared.beat("b", -1)
    assert (answer.member_epoch, set(shared.group.members)) == (-1, {"a"})
    assert shared.beat("a", 3).assignment == shared.topics.assignment(t=range(4))


def test_group_is_empty_after_its_last_member_and_keeps_its_states() -> None:
    shared = SharedGroup(Topics(t=1))
    shared.beat("a", 0, "t")
    shared.initialize()
    shared.beat("a", -1)
    assert (shared.group.state_name, shared.group.is_finished) == ("Empty", False)
    assert shared.group.states.initialized
    answer = shared.beat("b", 0, "t")
    assert answer.assignment == shared.topics.assignment(t=[0])


def test_new_partitions_of_a_topic_are_assigned_after_their_states_exist() -> None:
    shared = SharedGroup(Topics(t=1))
    shared.beat("a", 0, "t")
    shared.initialize()
    shared.beat("a", 1)
    shared.topics.create("t", 3)
    shared.group.note_topics_changed()
    assert shared.beat("a", 2).assignment is None
    (waiting,) = shared.group.states.initializing.values()
    assert waiting.partitions == {1, 2}
    shared.initialize()
    assert shared.beat("a", shared.group.epoch).assignment == shared.topics.assignment(t=range(3))


def test_member_that_unsubscribes_loses_the_topic_at_once() -> None:
    shared = SharedGroup(Topics(t=1, u=1))
    shared.beat("a", 0, "t", "u")
    shared.initialize()
    shared.beat("a", 1)
    assert shared.beat("a", 2, "u").assignment == shared.topics.assignment(u=[0])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": ""}, "MemberId"),
        ({"group_id": " "}, "GroupId"),
        ({"rack_id": ""}, "RackId"),
        ({"names": None}, "SubscribedTopicNames"),
        ({"names": ()}, "SubscribedTopicNames"),
        ({"member_epoch": -2}, "MemberEpoch"),
    ],
)
def test_request_that_breaks_a_rule_is_invalid(fields: dict[str, object], message: str) -> None:
    request = share_heartbeat("a", 0, "t")._replace(**fields)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match=message):
        check(request)
