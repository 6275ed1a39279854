"""AddPartitionsToTxn: the form of clients, and the form of brokers with several transactions."""

from typing import Any

import pytest
from pybroker.broker.apis.transactions.add_partitions_to_txn import AddPartitionsToTxn
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from support.in_process.group_handlers import call
from support.in_process.transaction_world import TransactionWorld

OF_CLIENTS, OF_BROKERS = range(4), range(4, 6)
NONE, ABORTABLE = ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE


class World:
    """The handler of a broker that coordinates the id "a". The cluster has the partitions 0 and 1 of "orders"."""

    def __init__(self, world: TransactionWorld) -> None:
        self.world = world
        self.handler = AddPartitionsToTxn(
            world.coordinator.requests, lambda topic, index: topic == "orders" and index < 2
        )

    @classmethod
    async def started(cls) -> "World":
        return cls(await TransactionWorld().load())

    async def add(self, version: int, producer: tuple[int, int], *indexes: int) -> dict[int, int]:
        """The form of clients: codes by partition."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="a",
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="orders", partitions=list(indexes))],
        )
        (topic,) = (await call(self.handler, version, request)).results_by_topic_v3_and_below
        return {each.partition_index: each.partition_error_code for each in topic.results_by_partition}

    async def batch(self, version: int, *transactions: AddPartitionsToTxnTransaction) -> dict[tuple[str, int], int]:
        """The form of brokers: codes by transactional id and partition."""
        response: Any = await call(self.handler, version, AddPartitionsToTxnRequest(transactions=list(transactions)))
        assert response.error_code == NONE
        return {
            (result.transactional_id, each.partition_index): each.partition_error_code
            for result in response.results_by_transaction
            for topic in result.topic_results
            for each in topic.results_by_partition
        }


def part(
    name: str, producer: tuple[int, int], *indexes: int, verify_only: bool = False
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=name,
        producer_id=producer[0],
        producer_epoch=producer[1],
        verify_only=verify_only,
        topics=[AddPartitionsToTxnTopic(name="orders", partitions=list(indexes))],
    )


@pytest.mark.parametrize("version", OF_CLIENTS)
async def test_partitions_of_a_client_are_added(version: int) -> None:
    world = await World.started()
    producer = await world.world.producer("a")
    assert await world.add(version, producer, 0, 1) == {0: NONE, 1: NONE}
    assert {each.partition for each in world.world.coordinator.describe("a").partitions} == {0, 1}


async def test_client_gets_a_result_for_each_partition_as_often_as_it_asked_as_in_kafka() -> None:
    world = await World.started()
    producer_id, epoch = await world.world.producer("a")
    asked = [("orders", [0, 0]), ("no-partitions", []), ("orders", [1])]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="a",
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in asked],
    )
    results = (await call(world.handler, 3, request)).results_by_topic_v3_and_below
    assert [(each.name, [one.partition_index for one in each.results_by_partition]) for each in results] == asked


@pytest.mark.parametrize("version", OF_CLIENTS)
async def test_nothing_is_added_when_a_partition_is_unknown(version: int) -> None:
    world = await World.started()
    producer = await world.world.producer("a")
    unknown, skipped = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    assert await world.add(version, producer, 0, 2) == {0: skipped, 2: unknown}
    assert world.world.state("a") == "Empty"


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)])
async def test_a_fenced_producer_gets_the_code_that_its_version_knows(version: int, code: ErrorCode) -> None:
    world = await World.started()
    producer = await world.world.producer("a")
    await world.world.producer("a")
    assert await world.add(version, producer, 0) == {0: code}


@pytest.mark.parametrize("version", OF_BROKERS)
async def test_each_transaction_of_a_batch_is_added_or_verified_by_itself(version: int) -> None:
    world = await World.started()
    first, second = await world.world.producer("a"), await world.world.producer("b")
    assert await world.batch(version, part("a", first, 0), part("b", second, 1, 2)) == {
        ("a", 0): NONE,
        ("b", 1): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("b", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    verified = await world.batch(
        version, part("a", first, 0, 1, verify_only=True), part("b", (7, 0), 1, verify_only=True)
    )
    assert verified == {("a", 0): NONE, ("a", 1): ABORTABLE, ("b", 1): ErrorCode.INVALID_PRODUCER_ID_MAPPING}


@pytest.mark.parametrize("version", OF_BROKERS)
async def test_a_transaction_that_is_ending_does_not_hold_back_the_other_transactions_of_a_batch(version: int) -> None:
    world = await World.started()
    ending, other = await world.world.producer("a"), await world.world.producer("b")
    await world.batch(version, part("a", ending, 0))
    world.world.holds_markers = True
    await world.world.end("a", ending)
    assert await world.batch(version, part("a", ending, 1), part("b", other, 0)) == {
        ("a", 1): ErrorCode.CONCURRENT_TRANSACTIONS,
        ("b", 0): NONE,
    }


@pytest.mark.parametrize("version", OF_BROKERS)
async def test_a_batch_without_transactions_is_answered_at_once(version: int) -> None:
    assert await (await World.started()).batch(version) == {}


@pytest.mark.parametrize("is_verification", [True, False])
async def test_requests_of_brokers_get_not_coordinator_from_another_broker(is_verification: bool) -> None:
    world = World(TransactionWorld())
    code = ErrorCode.NOT_COORDINATOR
    assert await world.batch(5, part("a", (1, 0), 0, verify_only=is_verification)) == {("a", 0): code}


@pytest.mark.parametrize("version", OF_BROKERS)
async def test_a_transaction_that_a_broker_adds_to_is_of_version_2(version: int) -> None:
    world = await World.started()
    producer = await world.world.producer("a")
    assert await world.batch(version, part("a", producer, 0)) == {("a", 0): NONE}
    transaction = world.world.coordinator.registry.get("a")
    assert transaction is not None
    assert transaction.current.transaction_version == 2
