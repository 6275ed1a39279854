"""EndTxn in both protocols, the coordinator's own aborts, and the completion of an end."""

from itertools import product

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.broker.coordinator.transaction.ending import completed, end, end_and_bump, fence
from pybroker.broker.coordinator.transaction.outcomes import Change, Outcome, Response, WantsProducerId
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from support.in_process.ending_transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    CONCURRENT,
    EMPTY,
    FENCED,
    FRESH_PID,
    INVALID_STATE,
    MAPPING,
    NONE,
    NOW,
    OLD_PID,
    ONGOING,
    PID,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    STATES,
    bumped,
    transaction,
)


def ended(stored: Transaction, pid: int, epoch: int, is_commit: bool) -> Outcome:
    return end(stored, RequestingProducer(pid, epoch), NOW, is_commit=is_commit)


# -- transaction versions 0 and 1


WRITTEN = None
"""A record is written."""
VERSION_1 = {
    EMPTY: (INVALID_STATE, INVALID_STATE),
    ONGOING: (WRITTEN, WRITTEN),
    PREPARE_COMMIT: (CONCURRENT, CONCURRENT),
    PREPARE_ABORT: (CONCURRENT, CONCURRENT),
    COMPLETE_COMMIT: (NONE, INVALID_STATE),
    COMPLETE_ABORT: (INVALID_STATE, NONE),
}
"""State → results of a commit and of an abort."""


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("state", STATES)
def test_an_end_without_a_bump_is_answered_by_the_state(state: TransactionState, is_commit: bool) -> None:
    stored = transaction(state, ProducerIdentity(PID, 5, 4), 0)

    outcome = ended(stored, PID, 5, is_commit)

    expected = VERSION_1[state][not is_commit]
    if expected is None:
        target = PREPARE_COMMIT if is_commit else PREPARE_ABORT
        assert outcome == Change(stored.current._replace(state=target, last_update_ms=NOW), Response(NONE))
        stored.prepare(outcome.picture)
        stored.complete()
    else:
        assert outcome == Response(expected)


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("epoch", [-1, 4, 6])
@pytest.mark.parametrize("state", STATES)
def test_an_end_without_a_bump_needs_exactly_the_stored_epoch(
    state: TransactionState, epoch: int, is_commit: bool
) -> None:
    assert ended(transaction(state, ProducerIdentity(PID, 5), 0), PID, epoch, is_commit) == Response(FENCED)


@pytest.mark.parametrize("epoch", [-1, 32_767])
def test_epochs_that_no_producer_has_are_fenced_even_if_they_are_stored(epoch: int) -> None:
    for state in STATES:
        assert ended(transaction(state, ProducerIdentity(PID, epoch), 0), PID, epoch, True) == Response(FENCED)
        expected = CONCURRENT if state in (PREPARE_COMMIT, PREPARE_ABORT) else FENCED
        assert bumped(transaction(state, ProducerIdentity(PID, epoch), 2), PID, epoch, True) == Response(expected)


@pytest.mark.parametrize("state", STATES)
def test_an_end_by_a_foreign_producer_id_is_refused(state: TransactionState) -> None:
    for epoch, is_commit in product((4, 5), (True, False)):
        stored = transaction(state, ProducerIdentity(PID, 5), 0)
        assert ended(stored, OLD_PID, epoch, is_commit) == Response(MAPPING)
        expected = CONCURRENT if state in (PREPARE_COMMIT, PREPARE_ABORT) else MAPPING
        assert bumped(stored, OLD_PID, epoch, is_commit) == Response(expected)


def test_an_end_of_an_unknown_transactional_id_is_refused() -> None:
    producer = RequestingProducer(PID, 5)
    assert end(None, producer, NOW, is_commit=True) == Response(MAPPING)
    assert end_and_bump(None, producer, NOW, None, is_commit=True) == Response(MAPPING)


def test_an_end_without_a_bump_is_checked_for_its_producer_before_the_pending_record() -> None:
    stored = transaction(ONGOING, ProducerIdentity(PID, 5), 0)
    stored.prepare(stored.current._replace(state=PREPARE_COMMIT))

    assert ended(stored, OLD_PID, 5, True) == Response(MAPPING)
    assert ended(stored, PID, 4, True) == Response(FENCED)
    assert ended(stored, PID, 5, True) == ended(stored, PID, 5, False) == Response(CONCURRENT)


def test_a_producer_is_fenced_as_soon_as_its_fence_is_being_written() -> None:
    stored = transaction(ONGOING, ProducerIdentity(PID, 5), 0)
    picture = fence(stored, NOW, None)
    assert isinstance(picture, TransactionPicture)
    stored.prepare(picture)

    assert ended(stored, PID, 5, True) == Response(FENCED)


# -- the coordinator's own aborts


@pytest.mark.parametrize("version", [0, 1])
def test_a_fence_without_bumps_aborts_with_the_next_epoch_and_forgets_the_last_one(version: int) -> None:
    stored = transaction(ONGOING, ProducerIdentity(PID, 5, 4, OLD_PID), version)

    picture = fence(stored, NOW, None)

    assert picture == stored.current._replace(
        state=PREPARE_ABORT, producer=ProducerIdentity(PID, 6, -1, OLD_PID), last_update_ms=NOW
    )


def test_a_fence_of_a_producer_that_bumps_raises_the_epoch_once() -> None:
    stored = transaction(ONGOING, ProducerIdentity(PID, 5, 4), 2)

    picture = fence(stored, NOW, None)

    assert isinstance(picture, TransactionPicture)
    assert picture.producer == ProducerIdentity(PID, 6, 5)
    stored.prepare(picture)
    assert stored.current.producer.epoch == 5
    stored.complete()
    assert stored.current.producer.epoch == 6


@pytest.mark.parametrize(("version", "epoch"), [(0, 32_766), (0, 32_767), (2, 32_766), (2, 32_767)])
def test_a_fence_is_possible_at_the_last_epochs(version: int, epoch: int) -> None:
    stored = transaction(ONGOING, ProducerIdentity(PID, epoch), version)

    picture = fence(stored, NOW, FRESH_PID)

    assert isinstance(picture, TransactionPicture)
    assert (picture.producer.producer_id, picture.producer.epoch) == (PID, 32_767)
    assert picture.producer.next_producer_id == (FRESH_PID if version == 2 else -1)
    stored.prepare(picture)
    stored.complete()
    stored.prepare(completed(stored.current, NOW))
    stored.complete()
    assert stored.current.producer.producer_id == (FRESH_PID if version == 2 else PID)


def test_a_fence_takes_a_fresh_producer_id_only_if_it_needs_one() -> None:
    picture = fence(transaction(ONGOING, ProducerIdentity(PID, 5), 2), NOW, FRESH_PID)
    assert isinstance(picture, TransactionPicture)
    assert picture.producer.next_producer_id == -1
    assert isinstance(fence(transaction(ONGOING, ProducerIdentity(PID, 32_766), 2), NOW, None), WantsProducerId)


@pytest.mark.parametrize("state", [state for state in STATES if state is not ONGOING])
def test_only_an_ongoing_transaction_can_be_fenced(state: TransactionState) -> None:
    with pytest.raises(InvariantError, match="no transaction to fence"):
        fence(transaction(state, ProducerIdentity(PID, 5), 0), NOW, None)


# -- completion


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("state", "expected"), [(PREPARE_COMMIT, COMPLETE_COMMIT), (PREPARE_ABORT, COMPLETE_ABORT)])
def test_a_completion_empties_the_partitions_and_keeps_start_and_producer(
    state: TransactionState, expected: TransactionState, version: int
) -> None:
    current = transaction(state, ProducerIdentity(PID, 5, 4, OLD_PID), version).current

    assert completed(current, NOW) == current._replace(state=expected, partitions=frozenset(), last_update_ms=NOW)


def test_a_completion_of_version_2_makes_the_producer_id_the_previous_one() -> None:
    current = transaction(PREPARE_COMMIT, ProducerIdentity(PID, 6, 5, OLD_PID), 2).current
    assert completed(current, NOW).producer == ProducerIdentity(PID, 6, 5, PID)
