"""Which transactions have timed out, and which transactional ids have expired."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.time_outs import expired, timed_out
from pybroker.broker.coordinator.transaction.transaction import Transaction

ONGOING = TransactionState.ONGOING
START, TIMEOUT, UPDATED, EXPIRATION = 1_000, 300, 1_100, 10_000
STORED = [state for state in TransactionState if state.title not in ("Dead", "PrepareEpochFence")]


def transaction(state: TransactionState) -> Transaction:
    partitions = frozenset({TopicPartition("t", 0)}) if state is ONGOING else frozenset[TopicPartition]()
    return Transaction("id", TransactionPicture(state, ProducerIdentity(70, 5), TIMEOUT, partitions, START, UPDATED))


@pytest.mark.parametrize("state", STORED)
def test_only_ongoing_transactions_time_out(state: TransactionState) -> None:
    one = transaction(state)
    assert timed_out([one], START + TIMEOUT + 1) == ([one] if state is ONGOING else [])


def test_a_transaction_times_out_after_its_whole_timeout() -> None:
    assert timed_out([transaction(ONGOING)], START + TIMEOUT) == []


def test_a_transaction_does_not_time_out_while_its_record_is_written() -> None:
    one = transaction(ONGOING)
    one.prepare(one.current)
    assert timed_out([one], START + 10 * TIMEOUT) == []


@pytest.mark.parametrize("state", STORED)
def test_only_ids_without_an_open_transaction_expire(state: TransactionState) -> None:
    one = transaction(state)
    is_idle = state.title in ("Empty", "CompleteCommit", "CompleteAbort")
    assert expired([one], UPDATED + EXPIRATION, EXPIRATION) == ([one] if is_idle else [])


def test_an_id_does_not_expire_before_its_time() -> None:
    assert expired([transaction(TransactionState.EMPTY)], UPDATED + EXPIRATION - 1, EXPIRATION) == []


def test_an_id_does_not_expire_while_its_record_is_written() -> None:
    one = transaction(TransactionState.COMPLETE_COMMIT)
    one.prepare(one.current._replace(state=ONGOING))
    assert expired([one], UPDATED + EXPIRATION, EXPIRATION) == []
