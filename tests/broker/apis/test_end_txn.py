"""EndTxn and AddOffsetsToTxn, DescribeTransactions and ListTransactions, as clients send them."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.transactions.add_offsets_to_txn import AddOffsetsToTxn
from pybroker.broker.apis.transactions.describe_transactions import DescribeTransactions
from pybroker.broker.apis.transactions.end_txn import EndTxn
from pybroker.broker.apis.transactions.list_transactions import ListTransactions
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest
from support.in_process.group_handlers import call, versions
from support.in_process.transaction_world import TransactionWorld

FENCED, OLD_FENCED = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH


def end_request(producer: tuple[int, int], *, committed: bool = True) -> EndTxnRequest:
    return EndTxnRequest(transactional_id="a", producer_id=producer[0], producer_epoch=producer[1], committed=committed)


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", versions(ApiKey.END_TXN))
async def test_a_client_ends_its_transaction(version: int, committed: bool) -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    await world.add("a", producer, TopicPartition("t", 0))
    response = await call(EndTxn(world.coordinator.requests), version, end_request(producer, committed=committed))
    assert response.error_code == ErrorCode.NONE
    await world.turn()
    ((marker, _),) = world.markers
    assert marker.is_commit == committed


@pytest.mark.parametrize(("version", "code"), [(1, OLD_FENCED), (2, FENCED)])
async def test_a_fenced_producer_gets_the_code_that_its_version_of_end_txn_knows(version: int, code: ErrorCode) -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    await world.producer("a")
    assert (await call(EndTxn(world.coordinator.requests), version, end_request(producer))).error_code == code


@pytest.mark.parametrize("version", versions(ApiKey.ADD_OFFSETS_TO_TXN))
async def test_the_offsets_partition_of_the_group_is_added(version: int) -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    request = AddOffsetsToTxnRequest(
        transactional_id="a", producer_id=producer.producer_id, producer_epoch=producer.epoch, group_id="four"
    )
    response = await call(AddOffsetsToTxn(world.coordinator.requests), version, request)
    assert response.error_code == ErrorCode.NONE
    assert world.coordinator.describe("a").partitions == {TopicPartition("__consumer_offsets", 4)}


@pytest.mark.parametrize(("version", "code"), [(1, OLD_FENCED), (2, FENCED)])
async def test_a_fenced_producer_gets_the_code_that_its_version_of_add_offsets_to_txn_knows(
    version: int, code: ErrorCode
) -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    await world.producer("a")
    request = AddOffsetsToTxnRequest(
        transactional_id="a", producer_id=producer.producer_id, producer_epoch=producer.epoch, group_id="g"
    )
    assert (await call(AddOffsetsToTxn(world.coordinator.requests), version, request)).error_code == code


async def test_describe_transactions_tells_state_producer_and_partitions_by_topic() -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    await world.add("a", producer, TopicPartition("u", 0), TopicPartition("t", 2), TopicPartition("t", 1))
    request = DescribeTransactionsRequest(transactional_ids=["a", "b", ""])
    first, *others = (await call(DescribeTransactions(world.coordinator), 0, request)).transaction_states
    assert (first.error_code, first.transaction_state, first.transaction_timeout_ms) == (0, "Ongoing", 60_000)
    assert (first.producer_id, first.producer_epoch) == producer
    assert first.transaction_start_time_ms == world.time.now_ms()
    assert [(topic.topic, topic.partitions) for topic in first.topics] == [("t", [1, 2]), ("u", [0])]
    assert [(state.transactional_id, state.error_code) for state in others] == [
        ("b", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_REQUEST),
    ]


@pytest.mark.parametrize("version", versions(ApiKey.LIST_TRANSACTIONS))
async def test_list_transactions_filters_by_state_and_returns_the_unknown_states(version: int) -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    await world.producer("b")
    await world.add("a", producer, TopicPartition("t", 0))
    request = ListTransactionsRequest(state_filters=["Ongoing", "Lost", "Lost"])
    response = await call(ListTransactions(world.coordinator), version, request)
    assert (response.error_code, response.unknown_state_filters) == (ErrorCode.NONE, ["Lost"])
    (listed,) = response.transaction_states
    assert (listed.transactional_id, listed.producer_id, listed.transaction_state) == (
        "a",
        producer.producer_id,
        "Ongoing",
    )
