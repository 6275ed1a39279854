"""AddPartitionsToTxn is refused: for brokers with NOT_COORDINATOR, for producers with a fatal error."""

import pytest
from pybroker.broker.apis.transactions.add_partitions_to_txn import AddPartitionsToTxn
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from support.in_process.group_handlers import call

HANDLER = AddPartitionsToTxn(is_in_cluster=True)
TOPICS = [AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])]


@pytest.mark.parametrize("version", [4, 5])
async def test_requests_of_brokers_get_not_coordinator(version: int) -> None:
    """On NOT_COORDINATOR producers retry, and continue when a broker of Kafka coordinates them again."""
    transactions = [
        AddPartitionsToTxnTransaction(transactional_id=name, verify_only=True, topics=TOPICS) for name in ("a", "b")
    ]
    response = await call(HANDLER, version, AddPartitionsToTxnRequest(transactions=transactions))
    codes = {
        (result.transactional_id, topic.name, each.partition_index): each.partition_error_code
        for result in response.results_by_transaction
        for topic in result.topic_results
        for each in topic.results_by_partition
    }
    places = [(name, "orders", index) for name in ("a", "b") for index in (0, 1)]
    assert (response.error_code, codes) == (ErrorCode.NONE, dict.fromkeys(places, ErrorCode.NOT_COORDINATOR))


@pytest.mark.parametrize("version", range(4))
async def test_requests_of_producers_get_a_fatal_error(version: int) -> None:
    request = AddPartitionsToTxnRequest(v3_and_below_transactional_id="a", v3_and_below_topics=TOPICS)
    (topic,) = (await call(HANDLER, version, request)).results_by_topic_v3_and_below
    codes = [each.partition_error_code for each in topic.results_by_partition]
    assert codes == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
