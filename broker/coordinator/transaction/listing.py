"""DescribeTransactions and ListTransactions (KIP-664)."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .picture import NO_PARTITIONS, NOT_STARTED
from .registry import TransactionRegistry
from .states import STATES_BY_TITLE, TransactionState
from .transaction import Transaction

__all__ = ["Description", "ListFilter", "ListResult", "Listing", "describe", "list_transactions"]

_ANY_DURATION = -1


class Description(NamedTuple):
    """The state of one transactional id. ``partitions``: those without a marker."""

    code: ErrorCode
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = NOT_STARTED
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    partitions: frozenset[TopicPartition] = NO_PARTITIONS


class ListFilter(NamedTuple):
    """Which transactions to list; an empty filter accepts all.

    ``duration_ms``: only transactions that began longer ago; negative: all (KIP-994).
    """

    states: frozenset[str] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    duration_ms: int = _ANY_DURATION


class Listing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


class ListResult(NamedTuple):
    """``unknown_states``: names in the filter that are no states."""

    code: ErrorCode
    unknown_states: list[str]
    listings: list[Listing]


def describe(
    registry: TransactionRegistry,
    transactional_id: str,
    partitions_without_marker: Callable[[str], frozenset[TopicPartition]],
) -> Description:
    """``partitions_without_marker``: of an id whose transaction is ending (`MarkerQueue`)."""
    if not registry.ownership.is_active:
        return Description(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    code = registry.check(transactional_id)
    if code is not ErrorCode.NONE:
        return Description(code)
    transaction = registry.get(transactional_id)
    if transaction is None or transaction.state is TransactionState.DEAD:
        return Description(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    current = transaction.current
    return Description(
        ErrorCode.NONE,
        current.state.title,
        current.timeout_ms,
        current.start_ms,
        current.producer.producer_id,
        current.producer.epoch,
        partitions_without_marker(transactional_id) if transaction.is_ending else current.partitions,
    )


def list_transactions(
    registry: TransactionRegistry, wanted: ListFilter, now_ms: int, partitions: Iterable[int] | None = None
) -> ListResult:
    """The transactional ids of this broker, or of some of its partitions. While a partition is loaded the list would be
    incomplete: an error."""
    if not registry.ownership.is_active:
        return ListResult(ErrorCode.COORDINATOR_NOT_AVAILABLE, [], [])
    if registry.ownership.is_loading_any:
        return ListResult(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [], [])
    unknown = sorted(wanted.states - STATES_BY_TITLE.keys())
    listings = [
        Listing(each.transactional_id, each.current.producer.producer_id, each.state.title)
        for partition in (registry.partitions() if partitions is None else partitions)
        for each in registry.transactions_in(partition)
        if _is_wanted(each, wanted, now_ms)
    ]
    return ListResult(ErrorCode.NONE, unknown, listings)


def _is_wanted(transaction: Transaction, wanted: ListFilter, now_ms: int) -> bool:
    """As in Kafka, an id that never began a transaction passes every filter for durations."""
    current = transaction.current
    return (
        current.state is not TransactionState.DEAD
        and (not wanted.producer_ids or current.producer.producer_id in wanted.producer_ids)
        and (not wanted.states or current.state.title in wanted.states)
        and (wanted.duration_ms < 0 or now_ms - current.start_ms > wanted.duration_ms)
    )
