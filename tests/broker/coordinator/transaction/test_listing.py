"""DescribeTransactions and ListTransactions: filters, hidden ids and errors."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.listing import (
    Description,
    ListFilter,
    Listing,
    ListResult,
    describe,
    list_transactions,
)
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.registry import TransactionRegistry
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.errors import ErrorCode

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, _, DEAD, _ = TransactionState
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 10_000


def transaction(name: str, state: TransactionState, start_ms: int, producer_id: int) -> Transaction:
    partitions = frozenset({P0, P1}) if state in (ONGOING, PREPARE_COMMIT) else frozenset[TopicPartition]()
    picture = TransactionPicture(state, ProducerIdentity(producer_id, 5), 30_000, partitions, start_ms, 20)
    return Transaction(name, picture)


def world() -> TransactionRegistry:
    registry = TransactionRegistry(lambda: 1)
    registry.ownership.begin_loading(0, 0)
    registry.finish_loading(
        0,
        [
            transaction("empty", EMPTY, -1, 1),
            transaction("ongoing", ONGOING, 9_000, 2),
            transaction("ending", PREPARE_COMMIT, 8_000, 3),
            transaction("done", COMPLETE_COMMIT, 9_990, 4),
            transaction("dead", DEAD, -1, 5),
        ],
    )
    return registry


def names(wanted: ListFilter) -> set[str]:
    result = list_transactions(world(), wanted, NOW)
    assert result.code is ErrorCode.NONE
    return {each.transactional_id for each in result.listings}


def no_markers(_: str) -> frozenset[TopicPartition]:
    raise AssertionError("only an ending transaction waits for markers")


FILTERS = {
    "no_filter_lists_all_but_dead_ids": (ListFilter(), {"empty", "ongoing", "ending", "done"}),
    "states": (ListFilter(frozenset({"Ongoing", "PrepareCommit"})), {"ongoing", "ending"}),
    "an_unknown_state": (ListFilter(frozenset({"ongoing"})), set[str]()),
    "the_hidden_state": (ListFilter(frozenset({"Dead"})), set[str]()),
    "producer_ids": (ListFilter(producer_ids=frozenset({2, 4, 99})), {"ongoing", "done"}),
    "both": (ListFilter(frozenset({"Ongoing"}), frozenset({4})), set[str]()),
    "longer_than_a_duration": (ListFilter(duration_ms=1_500), {"empty", "ending"}),
    "not_as_long_as_the_duration": (ListFilter(duration_ms=1_000), {"empty", "ending"}),
    "just_longer_than_the_duration": (ListFilter(duration_ms=999), {"empty", "ending", "ongoing"}),
    "no_duration": (ListFilter(duration_ms=-1), {"empty", "ongoing", "ending", "done"}),
}


@pytest.mark.parametrize(("wanted", "expected"), FILTERS.values(), ids=FILTERS)
def test_a_list_has_the_ids_that_pass_its_filters(wanted: ListFilter, expected: set[str]) -> None:
    assert names(wanted) == expected


def test_a_duration_of_zero_leaves_out_transactions_that_begin_now() -> None:
    result = list_transactions(world(), ListFilter(duration_ms=0), 9_000)
    assert {each.transactional_id for each in result.listings} == {"empty", "ending"}


def test_a_listing_has_the_producer_id_and_the_state() -> None:
    result = list_transactions(world(), ListFilter(frozenset({"PrepareCommit"})), NOW)
    assert result.listings == [Listing("ending", 3, "PrepareCommit")]


def test_unknown_states_in_the_filter_are_named() -> None:
    result = list_transactions(world(), ListFilter(frozenset({"Ongoing", "b", "a"})), NOW)
    assert result.unknown_states == ["a", "b"]


def test_nothing_is_listed_while_any_partition_is_loaded() -> None:
    registry = world()
    registry.ownership.begin_loading(7, 0)
    assert list_transactions(registry, ListFilter(), NOW) == ListResult(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [], [])


def test_a_stopping_broker_lists_and_describes_nothing() -> None:
    registry = world()
    registry.ownership.is_active = False
    assert list_transactions(registry, ListFilter(), NOW).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert describe(registry, "", no_markers).code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_description_has_the_whole_state() -> None:
    assert describe(world(), "ongoing", no_markers) == Description(
        ErrorCode.NONE, "Ongoing", 30_000, 9_000, 2, 5, frozenset({P0, P1})
    )


def test_an_ending_transaction_is_described_with_the_partitions_without_a_marker() -> None:
    description = describe(world(), "ending", {"ending": frozenset({P1})}.__getitem__)
    assert (description.state, description.partitions) == ("PrepareCommit", frozenset({P1}))


@pytest.mark.parametrize("name", ["dead", "unknown"])
def test_a_dead_or_unknown_id_is_not_found(name: str) -> None:
    assert describe(world(), name, no_markers) == Description(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


def test_an_id_of_another_coordinator_or_without_a_name_is_refused() -> None:
    registry = world()
    assert describe(registry, "", no_markers).code is ErrorCode.INVALID_REQUEST
    registry.ownership.release(0, 1)
    assert describe(registry, "ongoing", no_markers).code is ErrorCode.NOT_COORDINATOR
