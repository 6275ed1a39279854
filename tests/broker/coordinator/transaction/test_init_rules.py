"""InitProducerId with a transactional id: each state, pending change and producer that a request can meet."""

from typing import NamedTuple

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.init_rules import (
    InitRequest,
    check_request,
    initialize,
    new_transaction,
)
from pybroker.broker.coordinator.transaction.outcomes import Change, Response, WantsProducerId, code_in_version
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.requesting_producer import NO_PRODUCER, RequestingProducer
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, *_ = TransactionState
IDLE, ENDING = (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT), (PREPARE_COMMIT, PREPARE_ABORT)
PID, OLD_PID, FRESH_PID, FOREIGN_PID = 70, 60, 80, 999
NOW, STORED_TIMEOUT, TIMEOUT = 50_000, 30_000, 45_000
NONE, FENCED, CONCURRENT = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS
P0 = TopicPartition("t", 0)


def transaction(
    state: TransactionState, epoch: int, *, last: int = -1, old_pid: int = -1, version: int = 0
) -> Transaction:
    partitions = frozenset({P0}) if state in (ONGOING, *ENDING) else frozenset[TopicPartition]()
    start_ms = -1 if state is EMPTY else 10
    producer = ProducerIdentity(PID, epoch, last, old_pid)
    return Transaction("id", TransactionPicture(state, producer, STORED_TIMEOUT, partitions, start_ms, 20, version))


def initialized(stored: Transaction, pid: int = -1, epoch: int = -1, fresh: int | None = None) -> object:
    return initialize(stored, InitRequest(TIMEOUT, RequestingProducer(pid, epoch)), NOW, fresh)


class Row(NamedTuple):
    """Stored epochs and producer ids, the producer of the request, and the next epochs; or the code."""

    epoch: int
    last: int
    pid: int
    asked: int
    expected: tuple[int, int] | ErrorCode


STARTED = {
    "a_producer_that_starts_gets_the_next_epoch": Row(5, 4, -1, -1, (6, -1)),
    "a_producer_that_starts_for_the_first_time_gets_epoch_0": Row(-1, -1, -1, -1, (0, -1)),
    "a_producer_with_the_stored_epoch_gets_the_next_one": Row(5, -1, PID, 5, (6, 5)),
    "a_producer_of_an_expired_id_goes_on_with_epoch_0": Row(-1, -1, FOREIGN_PID, 9, (0, -1)),
    "a_retry_with_the_last_epoch_gets_the_current_epoch_again": Row(6, 5, PID, 5, (6, 5)),
    "a_retry_gets_the_last_epoch_before_exhaustion_again": Row(32_766, 32_765, PID, 32_765, (32_766, 32_765)),
    "an_epoch_below_the_last_one_is_fenced": Row(6, 5, PID, 4, FENCED),
    "an_epoch_above_the_stored_one_is_fenced": Row(6, 5, PID, 7, FENCED),
    "an_epoch_without_a_last_one_to_compare_is_fenced": Row(6, -1, PID, 5, FENCED),
    "an_older_epoch_is_fenced_also_when_the_epochs_are_exhausted": Row(32_767, -1, PID, 32_766, FENCED),
    "a_foreign_producer_id_is_fenced": Row(6, 5, FOREIGN_PID, 6, FENCED),
}


@pytest.mark.parametrize("state", IDLE)
@pytest.mark.parametrize("row", STARTED.values(), ids=STARTED)
def test_a_producer_is_initialized_when_no_transaction_is_open(row: Row, state: TransactionState) -> None:
    stored = transaction(state, row.epoch, last=row.last)

    outcome = initialized(stored, row.pid, row.asked)

    if isinstance(row.expected, ErrorCode):
        assert outcome == Response(row.expected)
        return
    epoch, last = row.expected
    picture = TransactionPicture(EMPTY, ProducerIdentity(PID, epoch, last, PID), TIMEOUT, frozenset(), -1, NOW)
    assert outcome == Change(picture, Response(NONE, PID, epoch))
    stored.prepare(picture)
    stored.complete()


@pytest.mark.parametrize("state", IDLE)
@pytest.mark.parametrize("epoch", [32_766, 32_767])
@pytest.mark.parametrize("is_given", [False, True])
def test_an_exhausted_producer_id_is_replaced(epoch: int, is_given: bool, state: TransactionState) -> None:
    stored = transaction(state, epoch)
    asked = (PID, epoch) if is_given else (-1, -1)

    assert isinstance(initialized(stored, *asked), WantsProducerId)
    outcome = initialized(stored, *asked, fresh=FRESH_PID)

    assert isinstance(outcome, Change)
    assert outcome.picture.producer == ProducerIdentity(FRESH_PID, 0, epoch if is_given else -1, PID)
    assert outcome.response == Response(NONE, FRESH_PID, 0)
    stored.prepare(outcome.picture)
    stored.complete()


def test_a_retry_after_the_change_of_producer_id_gets_the_new_one_again() -> None:
    stored = transaction(EMPTY, 0, last=32_766, old_pid=OLD_PID)

    outcome = initialized(stored, OLD_PID, 32_766)

    assert isinstance(outcome, Change)
    assert outcome.response == Response(NONE, PID, 0)


@pytest.mark.parametrize("epoch", [32_765, 0])
def test_the_previous_producer_id_is_fenced_unless_its_epochs_were_exhausted(epoch: int) -> None:
    assert initialized(transaction(EMPTY, 0, last=32_766, old_pid=OLD_PID), OLD_PID, epoch) == Response(FENCED)


@pytest.mark.parametrize("pid", [-1, PID, FOREIGN_PID])
@pytest.mark.parametrize("state", [*IDLE, ONGOING])
def test_while_a_record_is_written_every_request_must_be_repeated(state: TransactionState, pid: int) -> None:
    stored = transaction(state, 5)
    pending = stored.current._replace(state=ONGOING, partitions=frozenset({P0}), start_ms=10)
    stored.prepare(pending)

    assert initialized(stored, pid, -1 if pid < 0 else 5) == Response(CONCURRENT)


@pytest.mark.parametrize("state", ENDING)
def test_while_markers_are_written_a_request_must_be_repeated(state: TransactionState) -> None:
    assert initialized(transaction(state, 5)) == Response(CONCURRENT)
    assert initialized(transaction(state, 5), PID, 5) == Response(CONCURRENT)
    assert initialized(transaction(state, 5), FOREIGN_PID, 5) == Response(CONCURRENT)


def test_a_foreign_producer_does_not_abort_an_open_transaction() -> None:
    assert initialized(transaction(ONGOING, 5), FOREIGN_PID, 5) == Response(FENCED)


@pytest.mark.parametrize("asked", [(-1, -1), (PID, 5), (PID, 3)])
def test_an_open_transaction_is_aborted_with_a_higher_epoch_and_the_request_repeated(asked: tuple[int, int]) -> None:
    stored = transaction(ONGOING, 5, last=4)

    outcome = initialized(stored, *asked)

    assert isinstance(outcome, Change)
    assert outcome.response == Response(CONCURRENT)
    assert outcome.picture == stored.current._replace(
        state=PREPARE_ABORT, producer=ProducerIdentity(PID, 6, -1), last_update_ms=NOW
    )
    assert outcome.picture.timeout_ms == STORED_TIMEOUT


def test_an_open_transaction_of_version_2_with_the_last_epoch_is_fenced_by_a_new_producer_id() -> None:
    stored = transaction(ONGOING, 32_766, version=2)

    assert isinstance(initialized(stored), WantsProducerId)
    outcome = initialized(stored, fresh=FRESH_PID)

    assert isinstance(outcome, Change)
    assert outcome.picture.producer == ProducerIdentity(PID, 32_767, 32_766, -1, FRESH_PID)


def test_a_fence_that_was_not_written_is_not_repeated_with_a_still_higher_epoch() -> None:
    stored = transaction(ONGOING, 5)
    for _ in range(3):
        outcome = initialized(stored)
        assert isinstance(outcome, Change)
        assert outcome.picture.producer.epoch == 6
        stored.prepare(outcome.picture)
        stored.reset()
    assert stored.current.producer.epoch == 6


def test_a_transaction_at_the_highest_number_of_an_epoch_can_still_be_aborted() -> None:
    outcome = initialized(transaction(ONGOING, 32_767))

    assert isinstance(outcome, Change)
    assert outcome.picture.producer.epoch == 32_767


def test_a_new_transactional_id_starts_with_epoch_0_and_the_timeout_of_its_request() -> None:
    stored = new_transaction("new", FRESH_PID, TIMEOUT, NOW)
    assert (stored.state, stored.current.producer) == (EMPTY, ProducerIdentity(FRESH_PID, -1))

    outcome = initialized(stored)

    assert isinstance(outcome, Change)
    assert outcome.response == Response(NONE, FRESH_PID, 0)
    assert outcome.picture.timeout_ms == TIMEOUT


REQUESTS = {
    "a_request_is_accepted": ("id", InitRequest(1), NONE),
    "the_longest_timeout_is_accepted": ("id", InitRequest(900_000), NONE),
    "a_producer_that_goes_on_is_accepted": ("id", InitRequest(1, RequestingProducer(PID, 0)), NONE),
    "an_empty_id_is_refused": ("", InitRequest(1), ErrorCode.INVALID_REQUEST),
    "an_epoch_without_a_producer_id_is_refused": (
        "id",
        InitRequest(1, RequestingProducer(-1, 3)),
        ErrorCode.INVALID_REQUEST,
    ),
    "a_producer_id_without_an_epoch_is_refused": (
        "id",
        InitRequest(0, RequestingProducer(PID, -1)),
        ErrorCode.INVALID_REQUEST,
    ),
    "no_timeout_is_refused": ("id", InitRequest(0), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    "a_negative_timeout_is_refused": ("id", InitRequest(-1), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    "a_timeout_above_the_maximum_is_refused": ("id", InitRequest(900_001), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
}


@pytest.mark.parametrize(("transactional_id", "request_", "code"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_checked_without_any_state(transactional_id: str, request_: InitRequest, code: ErrorCode) -> None:
    assert check_request(transactional_id, request_, 900_000) is code


def test_a_request_without_a_producer_does_not_name_one() -> None:
    assert not NO_PRODUCER.is_given
    assert RequestingProducer(PID, 0).is_given


FIRST_VERSIONS = [
    (ApiKey.INIT_PRODUCER_ID, 4),
    (ApiKey.ADD_PARTITIONS_TO_TXN, 2),
    (ApiKey.ADD_OFFSETS_TO_TXN, 2),
    (ApiKey.END_TXN, 2),
]


@pytest.mark.parametrize(("api", "first"), FIRST_VERSIONS)
def test_only_new_request_versions_are_told_producer_fenced(api: ApiKey, first: int) -> None:
    assert code_in_version(api, first - 1, FENCED) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_in_version(api, first, FENCED) is FENCED
    assert code_in_version(api, 0, CONCURRENT) is CONCURRENT
