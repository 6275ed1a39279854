"""A transaction and its pending picture: announced, adopted or dropped, never two, never an illegal one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.invariant import InvariantError
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.entry_memory import EntryMemory
from pybroker.broker.coordinator.transaction.ending import completed, dead, fence
from pybroker.broker.coordinator.transaction.memory import new_transaction_bytes, partition_bytes
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.states import TransactionState, may_move
from pybroker.broker.coordinator.transaction.transaction import Transaction

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, *_ = TransactionState
STORED = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
NONE_AT_ALL = frozenset[TopicPartition]()
PRODUCER = ProducerIdentity(70, 5, 4)


def picture(state: TransactionState, **changes: Any) -> TransactionPicture:
    partitions = frozenset({P0}) if state in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT) else NONE_AT_ALL
    start_ms = -1 if state is EMPTY else 10
    return TransactionPicture(state, PRODUCER, 30_000, partitions, start_ms, 20)._replace(**changes)


ONGOING_NEXT = picture(ONGOING, partitions=frozenset({P0, P1}))


def test_a_prepared_picture_counts_only_after_its_completion() -> None:
    transaction = Transaction("id", picture(ONGOING))

    transaction.prepare(ONGOING_NEXT)
    assert (transaction.current, transaction.pending, transaction.is_pending) == (picture(ONGOING), ONGOING_NEXT, True)

    transaction.complete()
    assert (transaction.current, transaction.pending, transaction.is_pending) == (ONGOING_NEXT, None, False)


def test_a_dropped_picture_leaves_the_transaction_as_it_was() -> None:
    transaction = Transaction("id", picture(ONGOING))
    transaction.prepare(ONGOING_NEXT)

    transaction.reset()

    assert (transaction.current, transaction.pending) == (picture(ONGOING), None)
    transaction.prepare(picture(PREPARE_COMMIT))


def test_at_most_one_picture_is_pending() -> None:
    transaction = Transaction("id", picture(ONGOING))
    transaction.prepare(ONGOING_NEXT)

    with pytest.raises(InvariantError, match="id: two changes at the same time"):
        transaction.prepare(picture(PREPARE_COMMIT))
    assert transaction.pending == ONGOING_NEXT


def test_nothing_can_be_completed_or_dropped_when_nothing_is_pending() -> None:
    transaction = Transaction("id", picture(ONGOING))
    with pytest.raises(InvariantError, match="no change to complete"):
        transaction.complete()
    with pytest.raises(InvariantError, match="no change to drop"):
        transaction.reset()


BUMPED = PRODUCER._replace(epoch=6, last_epoch=5)
BROKEN = {
    "empty_with_partitions": (picture(EMPTY), picture(EMPTY, partitions=frozenset({P0}))),
    "empty_with_a_start": (picture(EMPTY), picture(EMPTY, start_ms=10)),
    "empty_two_epochs_later": (picture(EMPTY), picture(EMPTY, producer=PRODUCER._replace(epoch=7))),
    "empty_with_an_older_epoch": (picture(EMPTY), picture(EMPTY, producer=PRODUCER._replace(epoch=4))),
    "a_new_producer_id_with_an_old_epoch": (picture(EMPTY), picture(EMPTY, producer=ProducerIdentity(71, 5))),
    "ongoing_with_another_epoch": (picture(ONGOING), picture(ONGOING, producer=BUMPED)),
    "ongoing_with_fewer_partitions": (ONGOING_NEXT, picture(ONGOING)),
    "ongoing_with_another_timeout": (picture(ONGOING), picture(ONGOING, timeout_ms=1)),
    "an_end_with_more_partitions": (picture(ONGOING), picture(PREPARE_COMMIT, partitions=ONGOING_NEXT.partitions)),
    "an_end_with_fewer_partitions": (ONGOING_NEXT, picture(PREPARE_COMMIT)),
    "an_end_with_another_start": (picture(ONGOING), picture(PREPARE_COMMIT, start_ms=11)),
    "an_end_with_another_timeout": (picture(ONGOING), picture(PREPARE_COMMIT, timeout_ms=1)),
    "an_end_two_epochs_later": (picture(ONGOING), picture(PREPARE_COMMIT, producer=PRODUCER._replace(epoch=7))),
    "an_end_with_another_producer_id": (picture(ONGOING), picture(PREPARE_COMMIT, producer=ProducerIdentity(71, 5))),
    "a_completion_with_partitions": (
        picture(PREPARE_COMMIT),
        picture(COMPLETE_COMMIT, partitions=frozenset({P0})),
    ),
    "a_completion_without_a_start": (picture(PREPARE_COMMIT), picture(COMPLETE_COMMIT, start_ms=-1)),
    "a_completion_with_another_epoch": (picture(PREPARE_COMMIT), picture(COMPLETE_COMMIT, producer=BUMPED)),
    "a_completion_with_another_producer_id": (
        picture(PREPARE_COMMIT),
        picture(COMPLETE_COMMIT, producer=ProducerIdentity(71, 0)),
    ),
    "a_commit_completed_as_an_abort": (picture(PREPARE_COMMIT), picture(COMPLETE_ABORT)),
    "a_dead_id_with_partitions": (picture(EMPTY), picture(TransactionState.DEAD, partitions=frozenset({P0}))),
}


@pytest.mark.parametrize(("before", "after"), BROKEN.values(), ids=BROKEN)
def test_a_picture_that_cannot_follow_is_refused(before: TransactionPicture, after: TransactionPicture) -> None:
    transaction = Transaction("id", before)
    with pytest.raises(InvariantError):
        transaction.prepare(after)
    assert (transaction.current, transaction.pending) == (before, None)


def test_the_pending_picture_is_checked_again_when_its_record_is_committed() -> None:
    transaction = Transaction("id", picture(ONGOING))
    transaction.prepare(ONGOING_NEXT)
    transaction.current = picture(PREPARE_COMMIT)
    with pytest.raises(InvariantError, match="cannot move from PrepareCommit to Ongoing"):
        transaction.complete()


FOLLOWING = [
    (picture(EMPTY), picture(EMPTY)),
    (picture(COMPLETE_ABORT), picture(EMPTY, producer=BUMPED, timeout_ms=1)),
    (picture(EMPTY), picture(EMPTY, producer=ProducerIdentity(71, 0, 5, 70))),
    (picture(COMPLETE_COMMIT), picture(ONGOING)),
    (picture(ONGOING), picture(PREPARE_ABORT, producer=BUMPED)),
    (picture(EMPTY), picture(PREPARE_ABORT, partitions=NONE_AT_ALL, producer=BUMPED, transaction_version=2)),
    (
        picture(PREPARE_COMMIT, producer=PRODUCER._replace(next_producer_id=71)),
        picture(COMPLETE_COMMIT, producer=ProducerIdentity(71, 0)),
    ),
    (picture(COMPLETE_COMMIT), dead(picture(COMPLETE_COMMIT))),
]


@pytest.mark.parametrize(("before", "after"), FOLLOWING)
def test_pictures_that_follow_each_other_are_accepted(before: TransactionPicture, after: TransactionPicture) -> None:
    transaction = Transaction("id", before)
    transaction.prepare(after)
    transaction.complete()
    assert transaction.current == after


@given(
    before=st.sampled_from(STORED),
    after=st.sampled_from(TransactionState),
    version=st.integers(0, 2),
    is_committed=st.booleans(),
)
def test_a_transaction_moves_only_along_the_table(
    before: TransactionState, after: TransactionState, version: int, is_committed: bool
) -> None:
    old = picture(before)
    new = picture(
        after,
        partitions=old.partitions if after in (PREPARE_COMMIT, PREPARE_ABORT) else picture(after).partitions,
        transaction_version=version,
    )
    transaction = Transaction("id", old)
    if not may_move(before, after, version) or after is TransactionState.PREPARE_EPOCH_FENCE:
        with pytest.raises(InvariantError):
            transaction.prepare(new)
        assert transaction.state is before
        return
    if before is EMPTY and after is PREPARE_ABORT:
        new = new._replace(start_ms=10)
    transaction.prepare(new)
    if is_committed:
        transaction.complete()
    else:
        transaction.reset()
    assert transaction.state is (after if is_committed else before)


# -- fences


def fenced(transaction: Transaction) -> TransactionPicture:
    picture_ = fence(transaction, 99, None)
    assert isinstance(picture_, TransactionPicture)
    transaction.prepare(picture_)
    return picture_


def test_a_fence_raises_the_epoch_in_memory_before_its_record_is_committed() -> None:
    transaction = Transaction("id", picture(ONGOING))

    after = fenced(transaction)

    assert transaction.state is ONGOING
    assert transaction.current.producer == PRODUCER._replace(epoch=6, last_epoch=-1)
    assert transaction.has_unwritten_epoch
    transaction.complete()
    assert (transaction.current, transaction.has_unwritten_epoch) == (after, False)


def test_the_epoch_of_a_fence_that_was_not_written_is_used_by_the_next_fence() -> None:
    transaction = Transaction("id", picture(ONGOING))
    fenced(transaction)
    transaction.reset()
    assert (transaction.state, transaction.current.producer.epoch) == (ONGOING, 6)

    fenced(transaction)
    transaction.complete()

    assert (transaction.state, transaction.current.producer.epoch) == (PREPARE_ABORT, 6)
    transaction.prepare(completed(transaction.current, 99))
    transaction.complete()
    transaction.prepare(picture(ONGOING, producer=transaction.current.producer))
    transaction.complete()
    assert fenced(transaction).producer.epoch == 7


def test_a_fence_that_is_not_legal_changes_nothing() -> None:
    transaction = Transaction("id", picture(ONGOING))
    with pytest.raises(InvariantError):
        transaction.prepare(picture(PREPARE_ABORT, producer=PRODUCER._replace(epoch=6), timeout_ms=1))
    assert (transaction.current, transaction.has_unwritten_epoch) == (picture(ONGOING), False)


# -- memory


def test_the_memory_of_partitions_counts_while_they_are_in_a_picture() -> None:
    transaction = Transaction("id", picture(COMPLETE_COMMIT))
    memory = transaction.memory = EntryMemory(10**9)
    memory.used_bytes = empty_bytes = transaction.size_bytes
    many = frozenset(TopicPartition("topic", number) for number in range(1_000))

    transaction.prepare(picture(ONGOING, partitions=many))
    assert memory.used_bytes == transaction.size_bytes > empty_bytes + 100_000
    transaction.reset()
    assert memory.used_bytes == transaction.size_bytes == empty_bytes
    transaction.prepare(picture(ONGOING, partitions=many))
    transaction.complete()
    full_bytes = memory.used_bytes
    transaction.prepare(transaction.current._replace(state=PREPARE_COMMIT))
    assert memory.used_bytes == full_bytes, "both pictures share their partitions"
    transaction.complete()
    transaction.prepare(completed(transaction.current, 99))
    transaction.complete()
    assert memory.used_bytes == transaction.size_bytes == empty_bytes


def test_long_names_count_at_their_size() -> None:
    assert partition_bytes([TopicPartition("x" * 200, 0)]) == partition_bytes([TopicPartition("x", 0)]) + 199
    assert new_transaction_bytes("x" * 10_000) >= new_transaction_bytes("id") + 9_998
