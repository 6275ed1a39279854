"""AddPartitionsToTxn, AddOffsetsToTxn, and the question of a leader whether a partition is in a transaction."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.adding import add_offsets, add_partitions, verify_partitions
from pybroker.broker.coordinator.transaction.outcomes import Change, Response
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.errors import ErrorCode

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, *_ = TransactionState
STATES = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
IDLE, ENDING = (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT), (PREPARE_COMMIT, PREPARE_ABORT)
PID, FOREIGN_PID, NOW, START = 70, 999, 50_000, 10
NONE, FENCED, CONCURRENT = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS
MAPPING, ABORTABLE = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.TRANSACTION_ABORTABLE
P0, P1, OFFSETS = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("__consumer_offsets", 3)
OWN = RequestingProducer(PID, 5)
REFUSED = {
    "an_unknown_producer_id": (RequestingProducer(FOREIGN_PID, 5), MAPPING),
    "an_unknown_producer_id_with_another_epoch": (RequestingProducer(FOREIGN_PID, 4), MAPPING),
    "an_older_epoch": (RequestingProducer(PID, 4), FENCED),
    "a_newer_epoch": (RequestingProducer(PID, 6), FENCED),
}
VERSIONS = [0, 1, 2]


def transaction(state: TransactionState, epoch: int = 5, version: int = 0) -> Transaction:
    partitions = frozenset({P0}) if state in (ONGOING, *ENDING) else frozenset[TopicPartition]()
    start_ms = -1 if state is EMPTY else START
    producer = ProducerIdentity(PID, epoch, 4)
    return Transaction("id", TransactionPicture(state, producer, 30, partitions, start_ms, 20, version))


def pending(state: TransactionState, version: int = 0) -> Transaction:
    stored = transaction(state, version=version)
    stored.prepare(
        stored.current._replace(state=EMPTY, start_ms=-1)
        if state in IDLE
        else stored.current._replace(state=PREPARE_COMMIT)
    )
    return stored


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("producer", "code"), REFUSED.values(), ids=REFUSED)
def test_partitions_are_added_only_for_the_current_producer(
    producer: RequestingProducer, code: ErrorCode, state: TransactionState, version: int
) -> None:
    is_identity_changing = version == 2 and state in ENDING
    expected = CONCURRENT if is_identity_changing else code
    assert add_partitions(transaction(state, version=version), producer, [P1], NOW, version) == Response(expected)
    assert verify_partitions(transaction(state), producer, [P0, P1]) == {P0: code, P1: code}


@pytest.mark.parametrize("epoch", [-1, 32_767])
def test_an_epoch_that_no_producer_has_is_fenced_even_if_it_is_stored(epoch: int) -> None:
    stored = transaction(EMPTY, epoch)
    assert add_partitions(stored, RequestingProducer(PID, epoch), [P0], NOW, 0) == Response(FENCED)


@pytest.mark.parametrize("epoch", [0, 32_766])
def test_the_first_and_the_last_epoch_of_a_producer_id_are_accepted(epoch: int) -> None:
    stored, producer = transaction(ONGOING, epoch), RequestingProducer(PID, epoch)
    assert add_partitions(stored, producer, [P0], NOW, 0) == Response(NONE)
    assert verify_partitions(stored, producer, [P0]) == {P0: NONE}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_transactional_id_belongs_to_no_producer(version: int) -> None:
    assert add_partitions(None, OWN, [P0], NOW, version) == Response(MAPPING)
    assert add_offsets(None, OWN, OFFSETS, NOW) == Response(MAPPING)
    assert verify_partitions(None, OWN, [P0]) == {P0: MAPPING}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("state", IDLE)
def test_a_transaction_begins_with_its_first_partitions(state: TransactionState, version: int) -> None:
    stored = transaction(state)

    outcome = add_partitions(stored, OWN, [P0, P1], NOW, version)

    producer = stored.current.producer
    picture = TransactionPicture(ONGOING, producer, 30, frozenset({P0, P1}), NOW, NOW, version)
    assert outcome == Change(picture, Response(NONE))
    stored.prepare(picture)
    stored.complete()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_ongoing_transaction_gets_more_partitions_and_keeps_its_start(version: int) -> None:
    stored = transaction(ONGOING)

    outcome = add_partitions(stored, OWN, [P0, P1], NOW, version)

    producer = stored.current.producer
    picture = TransactionPicture(ONGOING, producer, 30, frozenset({P0, P1}), START, NOW, version)
    assert outcome == Change(picture, Response(NONE))


def test_partitions_that_are_in_the_transaction_are_added_without_a_record() -> None:
    assert add_partitions(transaction(ONGOING), OWN, [P0], NOW, 0) == Response(NONE)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("state", ENDING)
def test_nothing_is_added_while_markers_are_written(state: TransactionState, version: int) -> None:
    assert add_partitions(transaction(state), OWN, [P0], NOW, version) == Response(CONCURRENT)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("state", [*IDLE, ONGOING])
def test_nothing_is_added_while_a_record_is_written(state: TransactionState, version: int) -> None:
    assert add_partitions(pending(state), OWN, [P0], NOW, version) == Response(CONCURRENT)


@pytest.mark.parametrize(("producer", "code"), REFUSED.values(), ids=REFUSED)
def test_a_pending_record_hides_the_producer_only_in_version_2(producer: RequestingProducer, code: ErrorCode) -> None:
    """Because the pending change of version 2 may be the one to the producer id of the request."""
    assert add_partitions(pending(ONGOING, version=2), producer, [P1], NOW, 2) == Response(CONCURRENT)
    for stored_version, version in ((0, 0), (0, 2), (2, 0)):
        assert add_partitions(pending(ONGOING, stored_version), producer, [P1], NOW, version) == Response(code)


def test_offsets_are_added_as_their_partition() -> None:
    outcome = add_offsets(transaction(ONGOING), OWN, OFFSETS, NOW)

    assert isinstance(outcome, Change)
    assert outcome.picture.partitions == {P0, OFFSETS}
    assert outcome.picture.transaction_version == 0


def test_verification_tells_each_partition_apart() -> None:
    assert verify_partitions(transaction(ONGOING), OWN, [P0, P1]) == {P0: NONE, P1: ABORTABLE}


@pytest.mark.parametrize("state", IDLE)
def test_verification_finds_no_partition_without_a_transaction(state: TransactionState) -> None:
    assert verify_partitions(transaction(state), OWN, [P0]) == {P0: ABORTABLE}


@pytest.mark.parametrize("state", ENDING)
def test_verification_must_be_repeated_while_markers_are_written(state: TransactionState) -> None:
    assert verify_partitions(transaction(state), OWN, [P0, P1]) == {P0: CONCURRENT, P1: CONCURRENT}


def test_verification_counts_only_partitions_whose_record_is_committed() -> None:
    stored = transaction(ONGOING)
    outcome = add_partitions(stored, OWN, [P1], NOW, 0)
    assert isinstance(outcome, Change)
    stored.prepare(outcome.picture)

    assert verify_partitions(stored, OWN, [P0, P1]) == {P0: NONE, P1: ABORTABLE}
    stored.complete()
    assert verify_partitions(stored, OWN, [P0, P1]) == {P0: NONE, P1: NONE}
