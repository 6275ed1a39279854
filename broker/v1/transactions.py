"""The transactional ids that this broker coordinates."""

from ...views.query import Query
from ...views.transactions import TransactionRow, Transactions
from ..coordinator.transaction.picture import NOT_STARTED
from ..coordinator.transaction.states import TransactionState
from ..coordinator.transaction.transaction import Transaction
from .known_state import KnownState
from .listing import page_of
from .own_source import source_of

__all__ = ["list_transactions"]


async def list_transactions(state: KnownState, query: Query) -> Transactions:
    """Return the page of transactional ids that the query asks for."""
    registry = state.parts.coordinators.transactions.registry
    found = {
        each.transactional_id: each
        for partition in registry.partitions()
        for each in registry.transactions_in(partition)
        if each.state is not TransactionState.DEAD
    }
    page = await page_of(found, query, lambda name: _row(found[name]), "transactional_id")
    return Transactions(
        source=source_of(state),
        is_loading=registry.ownership.is_loading_any,
        total=len(found),
        matched=page.matched,
        items=page.rows,
    )


def _row(transaction: Transaction) -> TransactionRow:
    current = transaction.current
    return TransactionRow(
        transactional_id=transaction.transactional_id,
        state=current.state.title,
        producer_id=current.producer.producer_id,
        producer_epoch=current.producer.epoch,
        timeout_ms=current.timeout_ms,
        started_ms=None if current.start_ms == NOT_STARTED else current.start_ms,
        partitions=len(current.partitions),
    )
