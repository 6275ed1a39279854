"""Writes to ``__transaction_state``: the three outcomes of an append, and what clients are told."""

import logging

import pytest
from pybroker.base.quiet_lines import QUIET_S
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.append_result import AppendResult, append_error, append_result
from pybroker.broker.coordinator.internal_log import AppendDone, InternalAppend
from pybroker.broker.coordinator.transaction.ending import completed
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import decode_key, decode_value
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.broker.coordinator.transaction.transaction_log import TransactionLog
from pybroker.protocol.errors import ErrorCode, RecordTooLargeError, error_for
from pybroker.protocol.records.batch import iter_batches
from support.in_process.offsets_topic import OffsetsTopic

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, _ = TransactionState
NOW = 1_700_000_000_000
UNAVAILABLE, MOVED = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR
OUTCOMES = {
    ErrorCode.NOT_ENOUGH_REPLICAS: (UNAVAILABLE, AppendResult.NOT_WRITTEN),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (UNAVAILABLE, AppendResult.NOT_WRITTEN),
    ErrorCode.MESSAGE_TOO_LARGE: (ErrorCode.UNKNOWN_SERVER_ERROR, AppendResult.NOT_WRITTEN),
    ErrorCode.RECORD_LIST_TOO_LARGE: (ErrorCode.UNKNOWN_SERVER_ERROR, AppendResult.NOT_WRITTEN),
    ErrorCode.INVALID_FETCH_SIZE: (ErrorCode.UNKNOWN_SERVER_ERROR, AppendResult.NOT_WRITTEN),
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (UNAVAILABLE, AppendResult.COMMITTED),
    ErrorCode.REQUEST_TIMED_OUT: (UNAVAILABLE, AppendResult.IN_DOUBT),
    ErrorCode.NOT_LEADER_OR_FOLLOWER: (MOVED, AppendResult.IN_DOUBT),
    ErrorCode.KAFKA_STORAGE_ERROR: (MOVED, AppendResult.NOT_WRITTEN),
    ErrorCode.UNKNOWN_SERVER_ERROR: (ErrorCode.UNKNOWN_SERVER_ERROR, AppendResult.IN_DOUBT),
}
"""Error of an append → code for the client, and what is known about the record."""
NOT_COMMITTED = [code for code, (_, result) in OUTCOMES.items() if result is not AppendResult.COMMITTED]


class World:
    """A log with one transaction of the id "id", and the codes that its writes gave."""

    def __init__(self, state: TransactionState, *, version: int = 0, flexible: bool = False) -> None:
        self.topic = OffsetsTopic(4)
        self.log = TransactionLog(self.topic, lambda _: 3, lambda: NOW, lambda: flexible)
        partitions = frozenset({TopicPartition("t", 0)}) if state in (1, 2, 3) else frozenset[TopicPartition]()
        picture = TransactionPicture(state, ProducerIdentity(70, 5), 30_000, partitions, 10, 20, version)
        self.transaction = Transaction("id", picture)
        self.codes: list[ErrorCode] = []

    def prepare(self, state: TransactionState) -> TransactionPicture:
        picture = self.transaction.current._replace(state=state)
        self.transaction.prepare(picture)
        return picture

    def write(self) -> None:
        self.log.write(self.transaction, self.codes.append)


@pytest.mark.parametrize("transactional_id", ["\ud800", "x" * 32_768], ids=["half of a pair", "too long"])
def test_picture_without_an_encoding_is_an_error_of_its_write_alone(transactional_id: str) -> None:
    world = World(EMPTY)
    world.transaction = Transaction(transactional_id, world.transaction.current)
    world.prepare(ONGOING)
    world.write()
    assert world.codes == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert not world.transaction.is_pending


def test_a_committed_record_is_one_uncompressed_batch_and_its_picture_is_adopted() -> None:
    world = World(ONGOING)
    picture = world.prepare(PREPARE_COMMIT)
    world.topic.hold()

    world.write()
    assert (world.codes, world.transaction.pending) == ([], picture)
    world.topic.release()

    assert (world.codes, world.transaction.current, world.transaction.pending) == ([ErrorCode.NONE], picture, None)
    (record,) = world.topic.records()
    assert record.key is not None
    assert record.value is not None
    assert (decode_key(record.key), decode_value(record.value), record.timestamp_ms) == ("id", picture, NOW)
    (batch,) = iter_batches(world.topic.batches[3][0])
    assert (batch.is_compressed, batch.is_transactional, batch.producer_id) == (False, False, -1)


@pytest.mark.parametrize("code", OUTCOMES, ids=lambda code: code.name)
def test_the_code_for_the_client_and_the_pending_picture_follow_the_error(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world = World(ONGOING)
    before = world.transaction.current
    picture = world.prepare(PREPARE_COMMIT)
    world.topic.refuse(error_for(code))

    world.write()

    told, result = OUTCOMES[code]
    assert world.codes == [told]
    assert append_error(code) is told
    assert append_result(error_for(code)) is result
    assert world.transaction.current == (picture if result is AppendResult.COMMITTED else before)
    assert world.transaction.pending == (picture if result is AppendResult.IN_DOUBT else None)
    (line,) = caplog.records
    assert line.getMessage() == f"transactional id id: PrepareCommit not stored: {code.name}"
    assert hasattr(line, QUIET_S), "clients can cause it"
    assert line.levelno == (logging.INFO if told is MOVED else logging.WARNING)


@pytest.mark.parametrize("code", NOT_COMMITTED, ids=lambda code: code.name)
def test_a_completion_that_is_not_committed_stays_pending_and_can_be_written_again(code: ErrorCode) -> None:
    world = World(PREPARE_ABORT)
    picture = completed(world.transaction.current, NOW)
    world.transaction.prepare(picture)
    world.topic.refuse(error_for(code))
    world.write()
    assert world.transaction.pending == picture

    world.topic.refuse(None)
    world.write()

    assert (world.transaction.current, world.codes) == (picture, [OUTCOMES[code][0], ErrorCode.NONE])


@pytest.mark.parametrize(
    ("version", "flexible", "expected"), [(0, False, 0), (0, True, 1), (2, False, 1), (2, True, 1)]
)
def test_values_are_flexible_when_the_cluster_reads_them_or_the_producer_needs_them(
    version: int, flexible: bool, expected: int
) -> None:
    world = World(ONGOING, version=version, flexible=flexible)
    world.transaction.prepare(world.transaction.current)
    world.write()
    (record,) = world.topic.records()
    assert record.value is not None
    assert int.from_bytes(record.value[:2], "big") == expected


# -- tombstones


def expiring(count: int) -> list[Transaction]:
    picture = TransactionPicture(EMPTY, ProducerIdentity(70, 5), 30_000, frozenset(), -1, 20)
    return [Transaction(f"id-{number:03}", picture) for number in range(count)]


def test_tombstones_delete_ids_in_batches_of_bounded_size() -> None:
    world, transactions, forgotten = World(EMPTY), expiring(100), list[Transaction]()

    world.log.write_tombstones(2, transactions, 500, forgotten.append)

    assert forgotten == transactions
    assert {each.state for each in transactions} == {DEAD}
    assert [len(data) <= 500 for data in world.topic.batches[2]] == [True] * len(world.topic.batches[2])
    assert 5 < len(world.topic.batches[2]) < 15
    records = world.topic.records()
    assert [decode_key(record.key or b"") for record in records] == [each.transactional_id for each in transactions]
    assert {record.value for record in records} == {None}


def test_a_tombstone_that_is_larger_than_a_batch_may_be_is_tried_alone() -> None:
    world, transactions = World(EMPTY), expiring(2)
    world.log.write_tombstones(2, transactions, 10, lambda _: None)
    assert len(world.topic.batches[2]) == 2


def test_batch_of_tombstones_that_is_too_large_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of the topic may be lowered after the batch was built."""
    world, transactions, forgotten = World(EMPTY), expiring(5), list[Transaction]()
    append = world.topic.append

    def append_small(request: InternalAppend, done: AppendDone) -> None:
        if len(request.records) > 100:
            done(RecordTooLargeError())
        else:
            append(request, done)

    monkeypatch.setattr(world.topic, "append", append_small)
    world.log.write_tombstones(2, transactions, 10_000, forgotten.append)
    assert forgotten == transactions
    assert {each.state for each in transactions} == {DEAD}


def test_an_expiring_id_is_pending_until_its_tombstone_is_committed() -> None:
    world, (transaction,), forgotten = World(EMPTY), expiring(1), list[Transaction]()
    world.topic.hold()
    world.log.write_tombstones(2, [transaction], 500, forgotten.append)
    assert (transaction.state, transaction.is_pending, forgotten) == (EMPTY, True, [])
    world.topic.release()
    assert forgotten == [transaction]


@pytest.mark.parametrize("code", NOT_COMMITTED, ids=lambda code: code.name)
def test_an_id_whose_tombstone_was_not_written_is_kept(code: ErrorCode, caplog: pytest.LogCaptureFixture) -> None:
    world, (transaction,), forgotten = World(EMPTY), expiring(1), list[Transaction]()
    world.topic.refuse(error_for(code))

    world.log.write_tombstones(2, [transaction], 500, forgotten.append)

    assert (transaction.state, forgotten) == (EMPTY, [])
    assert transaction.is_pending == (OUTCOMES[code][1] is AppendResult.IN_DOUBT)
    assert f"__transaction_state-2: tombstones of 1 expired transactional ids not written: {code.name}" in caplog.text


def test_no_batch_is_written_without_expired_ids() -> None:
    world = World(EMPTY)
    world.log.write_tombstones(2, [], 500, lambda _: None)
    assert world.topic.records() == []
