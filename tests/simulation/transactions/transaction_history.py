"""The transactions that clients sent, and what coordinators told the clients about them."""

import math
from dataclasses import dataclass, field
from enum import Enum

from simulation.checkers.history import Place

__all__ = ["ProducerSession", "SentTransaction", "TransactionHistory", "TransactionOutcome"]


class TransactionOutcome(Enum):
    """The client's knowledge about the end of a transaction."""

    OPEN = "open"
    """The client never asked to commit it."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    """The client was told that it is aborted, or that it cannot be committed."""
    IN_DOUBT = "in doubt"
    """The client asked to commit it and knows no outcome."""


@dataclass(slots=True, eq=False)
class ProducerSession:
    """A producer id and epoch that InitProducerId gave to one client, at `answered_s`."""

    transactional_id: str
    client: str
    producer_id: int
    producer_epoch: int
    answered_s: float
    has_late_requests: bool = False
    """The client gave up a connection on which an EndTxn or a TxnOffsetCommit may still arrive.

    Up to transaction version 1 such a request counts for the next transaction of this producer id and epoch
    (KAFKA-17754): the protocol has this gap, so nothing is known about these transactions.
    """


@dataclass(slots=True, eq=False)
class SentTransaction:
    """One transaction. `values`: the unique values in the order in which they were sent, by partition; an offset commit
    counts as a value of ``__consumer_offsets``.
    """

    session: ProducerSession
    begun_s: float
    values: dict[Place, list[bytes]] = field(default_factory=dict)
    outcome: TransactionOutcome = TransactionOutcome.OPEN
    ended_s: float = math.inf
    """When the outcome became known."""
    last_sent_s: float = -1.0
    """When the last value, or the request to commit, was first sent."""
    is_excused: bool = False
    """A late request of an earlier transaction may have ended or changed this one."""

    @property
    def name(self) -> str:
        session = self.session
        return (
            f"transaction of {session.client} ({session.transactional_id}, producer {session.producer_id}, epoch "
            f"{session.producer_epoch}) begun at {self.begun_s:.4f}"
        )


@dataclass
class TransactionHistory:
    """All transactions of a run in the order in which they began."""

    sessions: list[ProducerSession] = field(default_factory=list)
    transactions: list[SentTransaction] = field(default_factory=list)

    def begin(self, session: ProducerSession, begun_s: float) -> SentTransaction:
        transaction = SentTransaction(session, begun_s, is_excused=session.has_late_requests)
        self.transactions.append(transaction)
        return transaction

    def of_id(self, transactional_id: str) -> list[SentTransaction]:
        return [each for each in self.transactions if each.session.transactional_id == transactional_id]

    def next_session_s(self, session: ProducerSession) -> float:
        """When a later session of the same transactional id was first answered; infinite if there is none."""
        later = [
            each.answered_s
            for each in self.sessions
            if each.transactional_id == session.transactional_id and each.answered_s > session.answered_s
        ]
        return min(later, default=math.inf)
