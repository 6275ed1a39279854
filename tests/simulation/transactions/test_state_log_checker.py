"""Tests that the checkers of ``__transaction_state`` and of markers report each wrong step and each wrong marker."""

from collections.abc import Sequence

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.picture import NO_PARTITIONS, ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import encode_key, encode_value
from pybroker.broker.coordinator.transaction.states import TransactionState
from simulation.transactions.log_view import LogBatch, Marker
from simulation.transactions.state_log_checker import Decision, StateLog, check_markers, is_over, read_state_log

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
EMPTY = TransactionPicture(TransactionState.EMPTY, ProducerIdentity(7, 0), 1000, NO_PARTITIONS, -1, 5)
ONGOING = EMPTY._replace(state=TransactionState.ONGOING, partitions=frozenset({ONE}), start_ms=5)
BOTH = ONGOING._replace(partitions=frozenset({ONE, TWO}))
PREPARE_COMMIT = BOTH._replace(state=TransactionState.PREPARE_COMMIT)
PREPARE_ABORT = BOTH._replace(state=TransactionState.PREPARE_ABORT)
COMPLETE_COMMIT = PREPARE_COMMIT._replace(state=TransactionState.COMPLETE_COMMIT, partitions=NO_PARTITIONS)
COMPLETE_ABORT = PREPARE_ABORT._replace(state=TransactionState.COMPLETE_ABORT, partitions=NO_PARTITIONS)


def with_epoch(picture: TransactionPicture, epoch: int) -> TransactionPicture:
    return picture._replace(producer=picture.producer._replace(epoch=epoch))


COMMIT = [EMPTY, ONGOING, BOTH, PREPARE_COMMIT, COMPLETE_COMMIT]
FENCE = [EMPTY, ONGOING, BOTH, with_epoch(PREPARE_ABORT, 1), with_epoch(COMPLETE_ABORT, 1), with_epoch(EMPTY, 2)]


def log_of(pictures: Sequence[TransactionPicture | None]) -> StateLog:
    batches = [
        LogBatch(
            offset,
            -1,
            -1,
            False,
            ((offset, encode_key("id"), None if each is None else encode_value(each, 0)),),
            None,
            3,
        )
        for offset, each in enumerate(pictures)
    ]
    return read_state_log(batches)


@pytest.mark.parametrize(
    "pictures",
    [
        COMMIT,
        FENCE,
        [*COMMIT, ONGOING, PREPARE_ABORT._replace(partitions=frozenset({ONE})), COMPLETE_ABORT],
        [*COMMIT, COMPLETE_COMMIT._replace(last_update_ms=9)],
        [*COMMIT, EMPTY._replace(producer=ProducerIdentity(8, 0))],
        [*COMMIT, None, EMPTY._replace(producer=ProducerIdentity(9, 0))],
    ],
    ids=["commit", "fence", "next transaction", "repeated completion", "next producer id", "expiry"],
)
def test_legal_state_log_has_no_violation(pictures: list[TransactionPicture | None]) -> None:
    log = log_of(pictures)
    assert log.violations == []
    assert is_over(log.pictures["id"])


@pytest.mark.parametrize(
    ("pictures", "told"),
    [
        ([ONGOING], "the first record is Ongoing"),
        ([EMPTY, PREPARE_ABORT], "PrepareAbort follows Empty"),
        ([EMPTY, BOTH, COMPLETE_COMMIT], "CompleteCommit follows Ongoing"),
        ([EMPTY, BOTH, PREPARE_COMMIT, PREPARE_ABORT], "PrepareAbort follows PrepareCommit"),
        ([EMPTY, BOTH, PREPARE_COMMIT, COMPLETE_ABORT], "CompleteAbort follows PrepareCommit"),
        ([EMPTY, BOTH, PREPARE_COMMIT, BOTH], "Ongoing follows PrepareCommit"),
        ([EMPTY, BOTH, EMPTY], "Empty follows Ongoing"),
        ([EMPTY, BOTH, ONGOING], "has partitions"),
        ([EMPTY, BOTH, PREPARE_COMMIT._replace(partitions=frozenset({ONE}))], "PrepareCommit has partitions"),
        ([EMPTY, BOTH, PREPARE_COMMIT, PREPARE_COMMIT._replace(state=TransactionState.COMPLETE_COMMIT)], "partitions"),
        ([EMPTY, with_epoch(ONGOING, 1)], "Ongoing has"),
        ([EMPTY, BOTH, with_epoch(PREPARE_COMMIT, 1)], "PrepareCommit has"),
        ([EMPTY, BOTH, with_epoch(PREPARE_ABORT, 2)], "PrepareAbort has"),
        ([*COMMIT, with_epoch(EMPTY, 2)], "Empty has"),
        ([EMPTY, ONGOING._replace(timeout_ms=7)], "the timeout changes"),
        ([EMPTY, BOTH, None], "a tombstone after Ongoing"),
        ([None], "a tombstone after None"),
    ],
)
def test_illegal_state_log_is_reported(pictures: list[TransactionPicture | None], told: str) -> None:
    assert any(told in violation for violation in log_of(pictures).violations), log_of(pictures).violations


def test_decisions_are_read_with_the_epoch_of_their_leader() -> None:
    places = frozenset({("t", 0), ("t", 1)})
    assert log_of(COMMIT).decisions == [Decision("id", 7, 0, True, places, 3, 3)]
    assert log_of(FENCE).decisions == [Decision("id", 7, 1, False, places, 3, 3)]


# -- markers


def marker(*, is_commit: bool = True, epoch: int = 0, coordinator_epoch: int = 3, has_ended: bool = True) -> Marker:
    return Marker(7, epoch, is_commit, coordinator_epoch, 0, has_ended)


def decision(*, is_commit: bool = True, epoch: int = 0) -> Decision:
    return Decision("id", 7, epoch, is_commit, frozenset({("t", 0)}), 0, 3)


REPEATED = marker(has_ended=False)
ABORT = marker(is_commit=False)


@pytest.mark.parametrize(
    ("markers", "decisions"),
    [
        ([], []),
        ([marker()], [decision()]),
        ([marker(), REPEATED], [decision()]),
        ([REPEATED], [decision()]),
        ([marker(), marker(), ABORT], [decision(), decision(), decision(is_commit=False)]),
        ([marker(coordinator_epoch=3), REPEATED._replace(coordinator_epoch=4)], [decision()]),
    ],
    ids=["none", "one", "repeated", "partition without records", "several", "another coordinator"],
)
def test_markers_of_the_decisions_have_no_violation(markers: list[Marker], decisions: list[Decision]) -> None:
    assert list(check_markers(("t", 0), markers, decisions)) == []


@pytest.mark.parametrize(
    ("markers", "decisions", "told"),
    [
        ([], [decision()], "markers are none, decisions commit@0"),
        ([marker()], [], "decisions none"),
        ([ABORT], [decision()], "markers are abort@0, decisions commit@0"),
        ([marker(epoch=1)], [decision()], "markers are commit@1"),
        ([marker()], [decision(), decision()], "1 of 2 markers"),
        ([marker(), marker()], [decision()], "2 transactions end"),
        ([marker(), ABORT, REPEATED], [decision(), decision(is_commit=False)], "commit@0 abort@0 commit@0"),
        ([marker(coordinator_epoch=5), REPEATED], [decision()], "comes after"),
        ([marker(coordinator_epoch=2)], [decision()], "is of an earlier coordinator"),
    ],
)
def test_wrong_markers_are_reported(markers: list[Marker], decisions: list[Decision], told: str) -> None:
    violations = list(check_markers(("t", 0), markers, decisions))
    assert any(told in violation for violation in violations), violations


def test_decisions_without_the_partition_need_no_marker() -> None:
    assert list(check_markers(("t", 5), [], [decision()])) == []
