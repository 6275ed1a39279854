"""EndTxn of producers that get a new epoch with every transaction (transaction version 2)."""

from typing import NamedTuple

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.ending import completed, end
from pybroker.broker.coordinator.transaction.outcomes import Change, Response, WantsProducerId
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.states import ENDING_STATES, TransactionState
from pybroker.protocol.errors import ErrorCode
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
    P0,
    PID,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    START,
    STATES,
    bumped,
    transaction,
)

WRITTEN = None
"""A record is written."""


class Row(NamedTuple):
    """Results of a commit and of an abort, by the epoch of the request."""

    state: TransactionState
    asked: str
    commit: ErrorCode | None
    abort: ErrorCode | None


EPOCHS = {"equal": 5, "retry": 4, "older": 3, "newer": 6}
VERSION_2 = [
    Row(EMPTY, "equal", INVALID_STATE, WRITTEN),
    Row(EMPTY, "retry", FENCED, FENCED),
    Row(ONGOING, "equal", WRITTEN, WRITTEN),
    Row(ONGOING, "retry", FENCED, FENCED),
    Row(COMPLETE_COMMIT, "equal", INVALID_STATE, WRITTEN),
    Row(COMPLETE_COMMIT, "retry", NONE, INVALID_STATE),
    Row(COMPLETE_ABORT, "equal", INVALID_STATE, WRITTEN),
    Row(COMPLETE_ABORT, "retry", INVALID_STATE, NONE),
    *(Row(state, asked, CONCURRENT, CONCURRENT) for state in ENDING_STATES for asked in EPOCHS),
    *(
        Row(state, asked, FENCED, FENCED)
        for state in STATES
        if state not in ENDING_STATES
        for asked in ("older", "newer")
    ),
]


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("row", VERSION_2, ids=lambda row: f"{row.state.title}-{row.asked}")
def test_an_end_with_a_bump_is_answered_by_the_state_and_epoch(row: Row, is_commit: bool) -> None:
    stored = transaction(row.state, ProducerIdentity(PID, 5, 4), 2)

    outcome = bumped(stored, PID, EPOCHS[row.asked], is_commit)

    expected = row.commit if is_commit else row.abort
    if expected is None:
        assert isinstance(outcome, Change)
        assert outcome.picture == stored.current._replace(
            state=PREPARE_COMMIT if is_commit else PREPARE_ABORT,
            producer=ProducerIdentity(PID, 6, 5),
            start_ms=START if row.state is ONGOING else NOW,
            last_update_ms=NOW,
        )
        assert outcome.response == Response(NONE, PID, 6)
        stored.prepare(outcome.picture)
        stored.complete()
    elif expected is NONE:
        assert outcome == Response(NONE, PID, 5)
    else:
        assert outcome == Response(expected)


AFTER_OVERFLOW = [
    Row(EMPTY, "retry", FENCED, FENCED),
    Row(ONGOING, "retry", FENCED, FENCED),
    Row(COMPLETE_COMMIT, "retry", NONE, INVALID_STATE),
    Row(COMPLETE_ABORT, "retry", INVALID_STATE, NONE),
]


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("row", AFTER_OVERFLOW, ids=lambda row: row.state.title)
def test_a_retry_under_the_exhausted_producer_id_is_recognised(row: Row, is_commit: bool) -> None:
    stored = transaction(row.state, ProducerIdentity(PID, 0, 32_766, OLD_PID), 2)

    outcome = bumped(stored, OLD_PID, 32_766, is_commit)

    expected = row.commit if is_commit else row.abort
    assert expected is not None
    assert outcome == (Response(NONE, PID, 0) if expected is NONE else Response(expected))


@pytest.mark.parametrize("state", [COMPLETE_COMMIT, COMPLETE_ABORT])
@pytest.mark.parametrize("version", [0, 1])
def test_an_earlier_producer_is_fenced_after_a_later_one_ended_without_a_new_epoch(
    state: TransactionState, version: int
) -> None:
    is_commit = state is COMPLETE_COMMIT
    earlier, later = ProducerIdentity(PID, 4, 3), transaction(state, ProducerIdentity(PID, 5, 4), version)
    assert bumped(later, PID, earlier.epoch, is_commit) == Response(FENCED)
    after_overflow = transaction(state, ProducerIdentity(PID, 0, 32_766, OLD_PID), version)
    assert bumped(after_overflow, OLD_PID, 32_766, is_commit) == Response(FENCED)


@pytest.mark.parametrize(("pid", "epoch"), [(OLD_PID, 32_765), (OLD_PID, 0), (FRESH_PID, 32_766)])
def test_only_the_last_epoch_of_the_previous_producer_id_is_such_a_retry(pid: int, epoch: int) -> None:
    stored = transaction(COMPLETE_COMMIT, ProducerIdentity(PID, 0, 32_766, OLD_PID), 2)
    assert bumped(stored, pid, epoch, True) == Response(MAPPING)


def test_a_previous_producer_id_counts_only_right_after_the_change() -> None:
    stored = transaction(COMPLETE_COMMIT, ProducerIdentity(PID, 1, 0, OLD_PID), 2)
    assert bumped(stored, OLD_PID, 32_766, True) == Response(MAPPING)


@pytest.mark.parametrize("state", [EMPTY, ONGOING, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_an_end_with_the_last_epoch_changes_the_producer_id(state: TransactionState) -> None:
    stored = transaction(state, ProducerIdentity(PID, 32_766, 32_765), 2)
    assert isinstance(bumped(stored, PID, 32_766, False), WantsProducerId)

    outcome = bumped(stored, PID, 32_766, False, FRESH_PID)

    assert isinstance(outcome, Change)
    assert outcome.response == Response(NONE, FRESH_PID, 0)
    assert outcome.picture.producer == ProducerIdentity(PID, 32_767, 32_766, -1, FRESH_PID)
    stored.prepare(outcome.picture)
    stored.complete()
    assert bumped(stored, PID, 32_766, False) == Response(CONCURRENT)
    stored.prepare(completed(stored.current, NOW))
    stored.complete()
    assert stored.current.producer == ProducerIdentity(FRESH_PID, 0, 32_766, PID)
    assert bumped(stored, PID, 32_766, False) == Response(NONE, FRESH_PID, 0)


@pytest.mark.parametrize(("pid", "epoch"), [(PID, 5), (PID, 3), (OLD_PID, 5)])
def test_an_end_with_a_bump_must_be_repeated_while_a_record_is_written(pid: int, epoch: int) -> None:
    stored = transaction(ONGOING, ProducerIdentity(PID, 5, 4), 2)
    stored.prepare(stored.current._replace(partitions=frozenset({P0, TopicPartition("t", 1)})))

    assert bumped(stored, pid, epoch, True) == bumped(stored, pid, epoch, False) == Response(CONCURRENT)


def test_a_delayed_end_cannot_end_the_next_transaction_of_a_producer_that_bumps() -> None:
    """KAFKA-17754, which the protocol of versions 0 and 1 allows."""
    stored = transaction(ONGOING, ProducerIdentity(PID, 5, 4), 2)
    first = bumped(stored, PID, 5, True)
    assert isinstance(first, Change)
    next_one = transaction(ONGOING, first.picture.producer, 2)
    assert bumped(next_one, PID, 5, True) == bumped(next_one, PID, 5, False) == Response(FENCED)

    kept = transaction(ONGOING, ProducerIdentity(PID, 5, 4), 0)
    assert isinstance(end(kept, RequestingProducer(PID, 5), NOW, is_commit=True), Change)


def test_only_an_epoch_that_a_producer_had_can_be_retried() -> None:
    first = transaction(COMPLETE_COMMIT, ProducerIdentity(PID, 0), 2)
    second = transaction(COMPLETE_COMMIT, ProducerIdentity(PID, 1, 0), 2)
    assert bumped(first, PID, -1, True) == Response(FENCED)
    assert bumped(second, PID, 0, True) == Response(NONE, PID, 1)
