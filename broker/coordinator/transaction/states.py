"""The states of a transaction and the legal moves between them (Kafka's TransactionState)."""

from collections.abc import Mapping
from enum import IntEnum

from ....base.invariant import InvariantError

__all__ = [
    "ENDED_STATES",
    "ENDING_STATES",
    "EPOCH_BUMP_VERSION",
    "IDLE_STATES",
    "LEGAL_PREVIOUS_STATES",
    "STATES_BY_TITLE",
    "TransactionState",
    "may_move",
    "moved",
]

EPOCH_BUMP_VERSION = 2
"""The first ``transaction.version`` whose producers get a new epoch with every transaction (KIP-890)."""


class TransactionState(IntEnum):
    """The state of a transactional id. The number is stored in ``__transaction_state``."""

    EMPTY = 0
    """The producer id and epoch are known; no transaction was begun under them."""

    ONGOING = 1
    """The transaction has partitions. More are added until it ends or times out."""

    PREPARE_COMMIT = 2
    """The transaction will be committed: its commit markers are being written."""

    PREPARE_ABORT = 3
    """The transaction will be aborted: its abort markers are being written."""

    COMPLETE_COMMIT = 4
    """Every partition has its commit marker."""

    COMPLETE_ABORT = 5
    """Every partition has its abort marker."""

    DEAD = 6
    """The id has expired. Stored as a tombstone, never with this number."""

    PREPARE_EPOCH_FENCE = 7
    """Kafka's coordinator is about to abort a transaction with a higher epoch. Never stored, and not used here: a fence
    and its PREPARE_ABORT are one step."""

    @property
    def title(self) -> str:
        """The name in DescribeTransactions and ListTransactions, such as "PrepareCommit"."""
        return self.name.title().replace("_", "")


STATES_BY_TITLE: Mapping[str, TransactionState] = {state.title: state for state in TransactionState}

ENDING_STATES = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""Markers are being written."""

ENDED_STATES = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})

IDLE_STATES = ENDED_STATES | {TransactionState.EMPTY}
"""No transaction is open. Only in these states may the id expire."""

LEGAL_PREVIOUS_STATES: Mapping[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: IDLE_STATES,
    TransactionState.ONGOING: IDLE_STATES | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE}),
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: IDLE_STATES,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}
"""State → states from which a transaction may enter it, in every transaction version."""


def may_move(previous: TransactionState, target: TransactionState, transaction_version: int) -> bool:
    """Whether a transaction may move from ``previous`` to ``target``.

    In version 2 a producer may abort a transaction that has no partitions.
    """
    if previous in LEGAL_PREVIOUS_STATES[target]:
        return True
    is_empty_abort = target is TransactionState.PREPARE_ABORT and previous in IDLE_STATES
    return is_empty_abort and transaction_version >= EPOCH_BUMP_VERSION


def moved(previous: TransactionState, target: TransactionState, transaction_version: int) -> TransactionState:
    """Every change of a transaction's state: returns ``target``. Raises InvariantError when the move is illegal."""
    if not may_move(previous, target, transaction_version):
        raise InvariantError(f"a transaction cannot move from {previous.title} to {target.title}")
    return target
