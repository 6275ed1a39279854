"""Offsets of a consumer group: who may commit them, and which stay (KIP-848, section on offsets)."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.offsets import CommitRecord, OffsetAndMetadata
from pybroker.protocol.errors import ErrorCode
from support.in_process.consumer_groups import CoordinatedGroup, Topics

NONE, UNKNOWN, STALE = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH


@pytest.fixture
def group() -> CoordinatedGroup:
    """A group of the member "a" in epoch 1, which reads the topic "t"."""
    group = CoordinatedGroup(Topics(t=1))
    group.beat("a", 0, names=("t",), instance_id="i")
    return group


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [("a", 1, NONE), ("a", 2, STALE), ("a", 0, STALE), ("a", -1, STALE), ("b", 1, UNKNOWN), ("", -1, UNKNOWN)],
)
def test_only_a_member_in_its_epoch_may_commit(
    group: CoordinatedGroup, member_id: str, epoch: int, code: ErrorCode
) -> None:
    request = CommitRequest("g", {}, member_id, None, epoch)
    assert group.group.refuses_commit(request, is_transactional=False) is code


def test_member_may_not_commit_by_a_version_without_member_epochs(group: CoordinatedGroup) -> None:
    request = CommitRequest("g", {}, "a", None, 1, knows_epochs=False)
    assert group.group.refuses_commit(request, is_transactional=False) is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [("", -1, NONE), ("a", 1, NONE), ("a", 2, ErrorCode.ILLEGAL_GENERATION), ("b", 1, UNKNOWN)],
)
def test_transactional_commit_is_checked_when_it_names_a_member(
    group: CoordinatedGroup, member_id: str, epoch: int, code: ErrorCode
) -> None:
    request = CommitRequest("g", {}, member_id, None, epoch)
    assert group.group.refuses_commit(request, is_transactional=True) is code


def test_static_member_that_has_left_may_not_commit(group: CoordinatedGroup) -> None:
    group.beat("a", -2, instance_id="i")
    for epoch in (1, -2):
        request = CommitRequest("g", {}, "a", "i", epoch)
        assert group.group.refuses_commit(request, is_transactional=False) is STALE


def test_client_without_an_epoch_may_commit_while_the_group_is_empty(group: CoordinatedGroup) -> None:
    group.fence("a")
    assert group.group.refuses_commit(CommitRequest("g", {}), is_transactional=False) is NONE
    assert group.group.refuses_commit(CommitRequest("g", {}, "a", None, 1), is_transactional=False) is UNKNOWN


def test_offsets_of_subscribed_topics_do_not_expire(group: CoordinatedGroup) -> None:
    read, other = TopicPartition("t", 0), TopicPartition("u", 0)
    for number, partition in enumerate((read, other)):
        group.group.offsets.load(partition, CommitRecord(number, OffsetAndMetadata(5, 0, "", 1_000)))
    assert group.group.expired_offsets(1_999, 1_000) == []
    assert group.group.expired_offsets(2_000, 1_000) == [other]
    group.fence("a")
    assert group.group.expired_offsets(2_000, 1_000) == [read, other]


def test_offsets_of_topics_that_nobody_reads_may_be_deleted(group: CoordinatedGroup) -> None:
    assert group.group.refuses_deletion_of_offsets() is NONE
    assert group.group.is_subscribed_to("t")
    assert not group.group.is_subscribed_to("u")


def test_group_that_was_deleted_is_dead() -> None:
    group = ConsumerGroup("g")
    group.bury(0)
    assert group.listing().state == "Dead"


def test_group_is_listed_with_its_type_and_state(group: CoordinatedGroup) -> None:
    assert group.group.listing() == ("g", "consumer", "Stable", "consumer")


def test_describe_of_classic_groups_shows_a_dead_group(group: CoordinatedGroup) -> None:
    assert group.group.summary().state == "Dead"
