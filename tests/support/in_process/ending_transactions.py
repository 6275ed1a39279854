"""Transactions in each state, and EndTxn requests for them, for tests of the rules of ends."""

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.ending import end_and_bump
from pybroker.broker.coordinator.transaction.outcomes import Outcome
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.errors import ErrorCode

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, *_ = TransactionState
STATES = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
PID, OLD_PID, FRESH_PID, NOW, START = 70, 60, 80, 50_000, 10
NONE, FENCED, CONCURRENT = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS
INVALID_STATE, MAPPING = ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING
P0 = TopicPartition("t", 0)


def transaction(state: TransactionState, producer: ProducerIdentity, version: int) -> Transaction:
    partitions = frozenset({P0}) if state in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT) else frozenset[TopicPartition]()
    start_ms = -1 if state is EMPTY else START
    return Transaction("id", TransactionPicture(state, producer, 30_000, partitions, start_ms, 20, version))


def bumped(stored: Transaction, pid: int, epoch: int, is_commit: bool, fresh: int | None = None) -> Outcome:
    return end_and_bump(stored, RequestingProducer(pid, epoch), NOW, fresh, is_commit=is_commit)
