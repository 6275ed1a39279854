"""Scenarios of transactions that no producer has begun."""

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, a_producer, a_topic, init_producer
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import add_partitions_to_txn as ap
from pybroker.protocol.messages import txn_offset_commit as tc
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest

__all__ = ["SCENARIOS"]

TRANSACTION = 1
NOT_YET = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)


def a_transactional_id(talk: Conversation) -> str:
    """Returns a transactional id with a coordinator."""
    name = talk.name("transaction")
    while talk.unrecorded(FindCoordinatorRequest(key=name, key_type=TRANSACTION), 3).error_code in NOT_YET:
        pass
    described = DescribeTransactionsRequest(transactional_ids=[name])
    while talk.unrecorded(described, 0).transaction_states[0].error_code in NOT_YET:
        pass
    return name


def find_the_coordinator_of_a_transaction(talk: Conversation) -> None:
    name = a_transactional_id(talk)
    for version in range(1, 4):
        talk.ask(FindCoordinatorRequest(key=name, key_type=TRANSACTION), version)
    for version in range(4, 7):
        request = FindCoordinatorRequest(coordinator_keys=[name, ""], key_type=TRANSACTION)
        talk.ask(request, version)


def begin_as_a_transactional_producer(talk: Conversation) -> None:
    name = a_transactional_id(talk)
    a_producer(talk)  # Kafka has a block of producer ids then
    for version in range(6):
        talk.ask(init_producer(name), version)


def transactions_that_nobody_began(talk: Conversation) -> None:
    """Covers the checks that Kafka makes before it looks up the transaction, and the result of the look-up."""
    name, topic, group = a_transactional_id(talk), a_topic(talk), a_group(talk)
    producer = a_producer(talk)
    partitions = [ap.AddPartitionsToTxnTopic(name=topic, partitions=[0])]
    for version in range(4):
        request = ap.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name, v3_and_below_producer_id=producer, v3_and_below_topics=partitions
        )
        talk.ask(request, version)
        talk.ask(AddOffsetsToTxnRequest(transactional_id=name, producer_id=producer, group_id=group), version)
    for version in range(5):
        for committed in (True, False):
            end = EndTxnRequest(transactional_id=name, producer_id=producer, committed=committed)
            talk.ask(end, version, note="commit" if committed else "abort")


def commit_offsets_in_a_transaction_that_nobody_began(talk: Conversation) -> None:
    name, topic, group = a_transactional_id(talk), a_topic(talk), a_group(talk)
    producer = a_producer(talk)
    for version in range(5):
        for asked in (topic, talk.name("unknown")):
            partition = tc.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
            request = tc.TxnOffsetCommitRequest(
                transactional_id=name,
                group_id=group,
                producer_id=producer,
                producer_epoch=0,
                topics=[tc.TxnOffsetCommitRequestTopic(name=asked, partitions=[partition])],
            )
            talk.ask(request, version, note=asked[-8:])


def describe_transactions_of_nobody(talk: Conversation) -> None:
    name = a_transactional_id(talk)
    for names in ([name], [name, talk.name("other"), name], [""], []):
        talk.ask(DescribeTransactionsRequest(transactional_ids=names), 0, note=str(len(names)))


def list_transactions_of_nobody(talk: Conversation) -> None:
    def without_transactions(answer: Json) -> Json:
        return {**answer, "transactionStates": "those of other scenarios"}

    a_transactional_id(talk)
    for version in range(2):
        talk.ask(ListTransactionsRequest(), version, see=without_transactions)
        states = ["Ongoing", "Lost", "Empty", "PrepareEpochFence", "Dead"]
        talk.ask(ListTransactionsRequest(state_filters=states), version, see=without_transactions)
    nobody = ListTransactionsRequest(producer_id_filters=[1 << 40])
    for version in range(2):
        talk.ask(nobody, version, note="of an unknown producer")
    talk.ask(ListTransactionsRequest(state_filters=["Lost"]), 1, note="in an unknown state")
    talk.ask(ListTransactionsRequest(duration_filter=1 << 40), 1, note="of a long time", see=without_transactions)


SCENARIOS = [
    find_the_coordinator_of_a_transaction,
    begin_as_a_transactional_producer,
    transactions_that_nobody_began,
    commit_offsets_in_a_transaction_that_nobody_began,
    describe_transactions_of_nobody,
    list_transactions_of_nobody,
]
