"""Which transactions have timed out, and which transactional ids have expired.

Each function goes over the transactions once, when the coordinator's timer fires; there is no timer for each id.
"""

from collections.abc import Iterable

from .states import IDLE_STATES, TransactionState
from .transaction import Transaction

__all__ = ["expired", "timed_out"]


def timed_out(transactions: Iterable[Transaction], now_ms: int) -> list[Transaction]:
    """Ongoing transactions that last longer than their producer allowed. The coordinator aborts them."""
    return [
        each
        for each in transactions
        if each.state is TransactionState.ONGOING
        and not each.is_pending
        and each.current.start_ms + each.current.timeout_ms < now_ms
    ]


def expired(transactions: Iterable[Transaction], now_ms: int, expiration_ms: int) -> list[Transaction]:
    """Ids without a transaction that were not used for ``expiration_ms`` (transactional.id.expiration.ms)."""
    return [
        each
        for each in transactions
        if each.state in IDLE_STATES and not each.is_pending and each.current.last_update_ms <= now_ms - expiration_ms
    ]
