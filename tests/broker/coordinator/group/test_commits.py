"""OffsetCommit, TxnOffsetCommit and OffsetFetch: who may commit, what is stored, what is returned."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata, value_bytes
from pybroker.broker.coordinator.group.record_keys import OffsetKey
from pybroker.broker.coordinator.group.records import decode_offset
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.errors import (
    CoordinatorNotAvailableError,
    ErrorCode,
    KafkaError,
    KafkaStorageError,
    NetworkError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordTooLargeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from pybroker.protocol.records.batch import iter_batches
from support.clients.group_clients import SESSION_MS, GroupWorld
from support.logs.offset_keys import decode_key

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_member_fetches_the_offsets_that_it_committed() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")

    assert world.commit({T0: 5, T1: 7}, member_id, 1).codes == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}

    assert world.committed() == {T0: 5, T1: 7}
    record = world.topic.records()[-1]
    assert decode_key(record.key or b"") == OffsetKey("g", T1)
    assert decode_offset(record.value or b"").offset == 7


def test_a_consumer_without_a_group_commits_with_generation_minus_one() -> None:
    world = GroupWorld()
    assert world.commit({T0: 5}).error is ErrorCode.NONE
    assert world.group().state is GroupState.EMPTY
    assert world.commit({T0: 6}).error is ErrorCode.NONE
    assert world.committed() == {T0: 6}


def test_the_empty_group_id_can_have_offsets() -> None:
    world = GroupWorld()
    assert world.commit({T0: 5}, group_id="").error is ErrorCode.NONE
    assert world.committed("") == {T0: 5}


def test_commits_of_another_generation_or_an_unknown_member_are_refused() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")

    assert world.commit({T0: 1}, member_id, 0).error is ErrorCode.ILLEGAL_GENERATION
    assert world.commit({T0: 1}, member_id, 2).error is ErrorCode.ILLEGAL_GENERATION
    assert world.commit({T0: 1}, "stranger", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit({T0: 1}).error is ErrorCode.UNKNOWN_MEMBER_ID  # while a group has members, only these commit
    assert world.committed() == {}


def test_a_commit_with_a_generation_of_a_missing_group_gets_illegal_generation() -> None:
    assert GroupWorld().commit({T0: 1}, "m", 3).error is ErrorCode.ILLEGAL_GENERATION


def test_a_former_member_cannot_commit_to_an_empty_group() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.leave(LeavingMember(member_id))
    assert world.commit({T0: 1}, member_id, 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit({T0: 1}).error is ErrorCode.NONE


def test_members_can_commit_while_a_rebalance_waits_for_joins() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.join(version=3)
    assert world.group().state is GroupState.PREPARING_REBALANCE
    assert world.commit({T0: 1}, member_id, 1).error is ErrorCode.NONE


def test_members_cannot_commit_between_join_and_sync() -> None:
    world = GroupWorld()
    member_id = world.join(version=3).result.member_id
    assert world.commit({T0: 1}, member_id, 1).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_extends_the_session_of_the_member() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.time.advance(SESSION_MS - 1)
    world.commit({T0: 1}, member_id, 1)
    world.time.advance(SESSION_MS - 1)
    assert world.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_commit_is_answered_and_visible_when_it_is_written() -> None:
    world = GroupWorld()
    world.topic.hold()
    call = world.commit({T0: 5})
    assert not call.is_answered
    assert world.committed() == {}
    world.topic.release()
    assert call.error is ErrorCode.NONE
    assert world.committed() == {T0: 5}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (UnknownTopicOrPartitionError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotEnoughReplicasError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotLeaderOrFollowerError(), ErrorCode.NOT_COORDINATOR),
        (KafkaStorageError(), ErrorCode.NOT_COORDINATOR),
        (RecordTooLargeError(), ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (RequestTimedOutError(), ErrorCode.REQUEST_TIMED_OUT),
        (NetworkError(), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (CoordinatorNotAvailableError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_commit_that_cannot_be_written_has_no_effect(failure: KafkaError, told: ErrorCode) -> None:
    world = GroupWorld()
    world.commit({T0: 1})
    world.topic.refuse(failure)

    assert world.commit({T0: 2}).error is told

    assert world.committed(require_stable=True) == {T0: 1}


def test_offset_metadata_that_is_too_long_is_refused_for_its_partition_alone() -> None:
    world = GroupWorld(GroupSettings(metadata_max_bytes=10))
    assert world.commit({T0: 1}, metadata="x" * 10).error is ErrorCode.NONE
    assert world.commit({T0: 2}, metadata="x" * 11).error is ErrorCode.OFFSET_METADATA_TOO_LARGE
    # Java counts UTF-16 units; each of these characters has two.
    assert world.commit({T0: 3}, metadata="😀" * 5).error is ErrorCode.NONE
    assert world.commit({T0: 4}, metadata="😀" * 6).error is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert world.committed() == {T0: 3}


def test_the_later_of_two_commits_being_written_wins() -> None:
    world = GroupWorld()
    world.topic.hold()
    first, second = world.commit({T0: 9}), world.commit({T0: 4})
    world.topic.release()
    assert first.error is second.error is ErrorCode.NONE
    assert world.committed() == {T0: 4}


def test_a_partition_without_a_commit_is_fetched_as_offset_minus_one() -> None:
    world = GroupWorld()
    for _ in range(2):  # before and after the group exists
        error, results = world.parts.commits.fetch("g", [T0], require_stable=False)
        assert error is ErrorCode.NONE
        assert (results[T0].offset, results[T0].metadata, results[T0].error) == (-1, "", ErrorCode.NONE)
        world.commit({T1: 1})


def test_commits_and_fetches_are_refused_by_another_coordinator_and_while_loading() -> None:
    world = GroupWorld(owned=())
    assert world.commit({T0: 1}).error is ErrorCode.NOT_COORDINATOR
    assert world.parts.commits.fetch("g", None, require_stable=False) == (ErrorCode.NOT_COORDINATOR, {})
    world.parts.registry.ownership.begin_loading(world.parts.registry.partition_for("g"), 1)
    assert world.commit({T0: 1}).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# -- transactions


def test_transactional_offsets_are_visible_after_the_transaction_commits() -> None:
    world = GroupWorld()
    world.commit({T0: 1})
    assert world.commit({T0: 8}, producer_id=3).error is ErrorCode.NONE
    assert world.committed() == {T0: 1}

    world.end_transaction(3, is_commit=True)

    assert world.committed() == {T0: 8}


def test_offsets_of_an_aborted_transaction_are_never_visible() -> None:
    world = GroupWorld()
    world.commit({T0: 8}, producer_id=3)
    world.end_transaction(3, is_commit=False)
    assert world.committed() == {}
    assert world.committed(require_stable=True) == {}


def test_a_plain_commit_written_after_a_transactional_one_wins_though_the_transaction_ends_later() -> None:
    world = GroupWorld()
    world.commit({T0: 8}, producer_id=3)
    world.commit({T0: 2})
    world.end_transaction(3, is_commit=True)
    assert world.committed() == {T0: 2}


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_that_ends_while_its_offsets_are_being_written_takes_effect_afterwards(is_commit: bool) -> None:
    world = GroupWorld()
    world.commit({T0: 8}, producer_id=3)
    world.topic.hold()
    calls = world.commit({T1: 9}, producer_id=3), world.commit({T1: 1}, producer_id=4)
    for producer_id in (3, 4):
        world.end_transaction(producer_id, is_commit=is_commit)
    assert world.committed() == ({T0: 8} if is_commit else {})
    world.topic.release()
    assert [call.error for call in calls] == [ErrorCode.NONE, ErrorCode.NONE]
    assert world.committed(require_stable=True) == ({T0: 8, T1: 1} if is_commit else {})


def test_offsets_that_were_not_written_have_no_effect_after_their_transaction_ended() -> None:
    world = GroupWorld()
    world.topic.hold()
    call = world.commit({T0: 8}, producer_id=3)
    world.end_transaction(3, is_commit=True)
    world.topic.refuse(NotLeaderOrFollowerError())
    world.topic.release()
    assert call.error is ErrorCode.NOT_COORDINATOR
    assert world.committed(require_stable=True) == {}


def test_a_transaction_ends_only_in_the_partitions_of_its_marker() -> None:
    world = GroupWorld()
    world.commit({T0: 8}, producer_id=3)
    own = world.parts.registry.partition_for("g")
    for partition in range(world.topic.partition_count):
        if partition != own:
            world.parts.commits.complete_transaction(partition, TransactionEnd(3, is_commit=True, marker_offset=100))
    assert world.committed() == {}
    world.end_transaction(3, is_commit=True)
    assert world.committed() == {T0: 8}


def test_a_fetch_of_stable_offsets_gets_unstable_offset_commit_during_a_transaction() -> None:
    world = GroupWorld()
    world.commit({T0: 1, T1: 1})
    world.commit({T0: 8}, producer_id=3)

    _, results = world.parts.commits.fetch("g", [T0, T1], require_stable=True)

    assert results[T0].error is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert (results[T1].offset, results[T1].error) == (1, ErrorCode.NONE)
    _, relaxed = world.parts.commits.fetch("g", [T0], require_stable=False)
    assert relaxed[T0].offset == 1


def test_a_batch_of_transactional_offsets_has_the_id_and_epoch_of_its_producer() -> None:
    world = GroupWorld()
    world.commit({T0: 8}, producer_id=3)
    (buffer,) = world.topic.batches[world.parts.registry.partition_for("g")]
    (batch,) = iter_batches(buffer)
    assert (batch.is_transactional, batch.producer_id, batch.producer_epoch, batch.base_sequence) == (True, 3, 0, 0)


def test_a_transactional_commit_that_cannot_be_written_leaves_nothing_pending() -> None:
    world = GroupWorld()
    world.topic.refuse(NotLeaderOrFollowerError())
    assert world.commit({T0: 8}, producer_id=3).error is ErrorCode.NOT_COORDINATOR
    assert world.group().offsets.is_empty()


def test_transactional_commits_with_a_member_id_are_fenced_by_generation() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    assert world.commit({T0: 1}, producer_id=3).error is ErrorCode.NONE  # old clients send no member id
    assert world.commit({T0: 1}, member_id, 0, producer_id=3).error is ErrorCode.ILLEGAL_GENERATION
    assert world.commit({T0: 1}, "stranger", 1, producer_id=3).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit({T0: 1}, member_id, 1, producer_id=3).error is ErrorCode.NONE


def test_commits_past_the_memory_limit_of_offsets_are_refused() -> None:
    partitions = [TopicPartition("t", number) for number in range(4)]
    bytes_of_three = 3 * (value_bytes(OffsetAndMetadata(1, -1, "", 0)))
    world = GroupWorld(GroupSettings(offsets_max_bytes=bytes_of_three))
    assert world.commit(dict.fromkeys(partitions[:2], 1)).error is ErrorCode.NONE
    assert world.commit({partitions[0]: 2}, group_id="h").error is ErrorCode.NONE
    refused = world.commit({partitions[3]: 9, partitions[0]: 2, partitions[2]: 9})
    # Existing offsets can still be replaced.
    assert refused.codes == {
        partitions[0]: ErrorCode.NONE,
        partitions[2]: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        partitions[3]: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }
    assert world.committed() == {partitions[0]: 2, partitions[1]: 1}

    world.parts.administration.delete_offsets("g", [partitions[1]])
    world.time.advance(1_000)
    assert world.commit({partitions[3]: 9}).error is ErrorCode.NONE
    assert world.commit({partitions[2]: 9}).error is ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_the_memory_of_offsets_counts_commits_and_removals() -> None:
    world = GroupWorld()
    size = value_bytes(OffsetAndMetadata(1, -1, "", 0))
    world.commit({T0: 1, T1: 1})
    world.commit({T0: 2})
    assert world.group().offsets.size_bytes == 2 * size
    world.parts.administration.delete_offsets("g", [T0])
    assert world.group().offsets.size_bytes == size == world.parts.registry.count_offset_bytes()


def test_every_producers_copy_of_an_offset_counts_towards_the_memory_limit() -> None:
    world = GroupWorld(GroupSettings(offsets_max_bytes=3 * value_bytes(OffsetAndMetadata(1, -1, "", 0))))
    assert world.commit({T0: 1}).error is ErrorCode.NONE
    for producer_id in (1, 2, 1):  # the third commit replaces the first one
        assert world.commit({T0: 2}, producer_id=producer_id).error is ErrorCode.NONE
    assert world.commit({T0: 2}, producer_id=3).error is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    world.end_transaction(1, is_commit=False)
    world.time.advance(1_000)
    assert world.commit({T0: 2}, producer_id=3).error is ErrorCode.NONE


def test_commits_that_are_being_written_in_a_transaction_count_towards_the_memory_limit() -> None:
    world = GroupWorld(GroupSettings(offsets_max_bytes=3 * value_bytes(OffsetAndMetadata(1, -1, "", 0))))
    assert world.commit({T0: 1}, producer_id=1).error is ErrorCode.NONE
    world.topic.hold()
    commits = [world.commit({T0: 2}, producer_id=1) for _ in range(4)]  # the first one replaces the written one
    assert [commit.is_answered for commit in commits] == [False, False, False, True]
    assert commits[3].error is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
