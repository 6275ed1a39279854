"""Transactional ids by partition: ownership, loading and unloading, and the limit of their memory."""

import pytest
from pybroker.base.coordinator_partition import partition_for_key
from pybroker.base.quiet_lines import QUIET_S
from pybroker.broker.coordinator.transaction.init_rules import new_transaction
from pybroker.broker.coordinator.transaction.memory import new_transaction_bytes
from pybroker.broker.coordinator.transaction.registry import TransactionRegistry
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.errors import ErrorCode

COUNT = 4
IDS = [f"id-{number}" for number in range(20)]


def load(registry: TransactionRegistry, partition: int, epoch: int = 0) -> list[Transaction]:
    """Returns the loaded transactions: the names of `IDS` that belong to the partition."""
    transactions = [new_transaction(name, 1, 1, 1) for name in IDS if partition_for_key(name, COUNT) == partition]
    assert registry.ownership.begin_loading(partition, epoch)
    registry.finish_loading(partition, transactions)
    return transactions


def id_in(partition: int) -> str:
    return next(name for name in IDS if partition_for_key(name, COUNT) == partition)


def test_an_id_is_coordinated_by_the_owner_of_its_partition() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    assert registry.check(id_in(1)) is ErrorCode.NOT_COORDINATOR

    assert registry.ownership.begin_loading(1, 0)
    assert registry.check(id_in(1)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    registry.finish_loading(1, [])

    assert registry.check(id_in(1)) is ErrorCode.NONE
    assert registry.check(id_in(2)) is ErrorCode.NOT_COORDINATOR


def test_an_id_without_a_name_is_refused_before_anything_else() -> None:
    assert TransactionRegistry(lambda: COUNT).check("") is ErrorCode.INVALID_REQUEST


def test_no_id_is_coordinated_when_the_broker_stops() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    load(registry, 1)
    registry.ownership.is_active = False
    assert registry.check(id_in(1)) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_loaded_and_added_transactions_are_found_by_their_id() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    loaded = load(registry, 1)
    assert len(loaded) > 1
    assert [registry.get(each.transactional_id) for each in loaded] == loaded
    assert registry.get(id_in(2)) is None

    load(registry, 2)
    name = next(str(number) for number in range(99) if partition_for_key(str(number), COUNT) == 2)
    added = new_transaction(name, 1, 1, 1)
    registry.add(added)

    assert registry.get(name) is added
    assert added in registry.transactions_in(2)
    assert added not in registry.transactions_in(1)
    assert registry.partitions() == [1, 2]


def test_an_unloaded_partition_is_forgotten_with_its_transactions() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    loaded, others = load(registry, 1), load(registry, 2)

    assert registry.remove_partition(1) == loaded

    assert [registry.get(each.transactional_id) for each in loaded] == [None] * len(loaded)
    assert [registry.get(each.transactional_id) for each in others] == others
    assert registry.remove_partition(1) == registry.remove_partition(3) == []


def test_a_transaction_can_be_removed_after_its_partition_was() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    old = load(registry, 1)[0]
    registry.remove_partition(1)
    registry.ownership.release(1, 1)
    new = load(registry, 1, 2)[0]

    registry.remove(old)
    assert registry.get(new.transactional_id) is new
    registry.remove(new)
    assert registry.get(new.transactional_id) is None


def test_memory_is_that_of_the_kept_transactions() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    loaded, others = load(registry, 1), load(registry, 2)
    assert registry.memory.used_bytes == sum(each.size_bytes for each in (*loaded, *others))

    registry.remove(loaded[0])
    registry.remove(loaded[0])
    assert registry.memory.used_bytes == sum(each.size_bytes for each in (*loaded[1:], *others))

    registry.remove_partition(1)
    registry.remove_partition(2)
    assert registry.memory.used_bytes == 0


def test_a_transaction_that_changes_after_it_was_forgotten_is_not_counted() -> None:
    registry = TransactionRegistry(lambda: COUNT)
    (transaction, *_) = load(registry, 1)
    registry.remove_partition(1)
    transaction.prepare(transaction.current._replace(producer=transaction.current.producer._replace(epoch=0)))
    assert registry.memory.used_bytes == 0


def test_a_new_id_is_refused_when_memory_is_full(caplog: pytest.LogCaptureFixture) -> None:
    name, other = [name for name in IDS if partition_for_key(name, COUNT) == 1][:2]
    registry = TransactionRegistry(lambda: COUNT, 2 * new_transaction_bytes(name))
    registry.ownership.begin_loading(1, 0)
    registry.finish_loading(1, [])
    registry.add(new_transaction(name, 1, 1, 1))
    assert registry.check_space(other) is ErrorCode.NONE
    assert registry.check_space(other + "x") is ErrorCode.COORDINATOR_NOT_AVAILABLE
    (line,) = caplog.records
    assert "raise pybroker.transactions.max.bytes" in line.getMessage()
    assert hasattr(line, QUIET_S), "clients can cause it"

    registry.add(new_transaction(other, 1, 1, 1))
    assert registry.check_space("") is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_loading_is_not_refused_when_memory_is_full() -> None:
    registry = TransactionRegistry(lambda: COUNT, 10)
    loaded = load(registry, 1)
    assert registry.get(loaded[0].transactional_id) is loaded[0]
    assert registry.check_space("id") is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_growth_of_the_topic_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    registry = TransactionRegistry(lambda: COUNT)
    load(registry, 1)
    registry.check_partition_count(COUNT)
    assert caplog.text == ""
    for _ in range(2):
        registry.check_partition_count(10 * COUNT)
    (line,) = caplog.messages
    assert "__transaction_state has 40 partitions now, but 4 when its first partition was loaded" in line
    assert registry.partition_for(IDS[0]) == partition_for_key(IDS[0], COUNT)
