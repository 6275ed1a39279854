"""The transactions that clients sent, what coordinators told the clients about them, and what consumers read."""

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

__all__ = [
    "Observed",
    "Place",
    "ProducerSession",
    "ReadRange",
    "SentTransaction",
    "TransactionHistory",
    "TransactionOutcome",
]

Place = tuple[str, int]
"""A topic and the number of a partition."""


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
    reads: list[tuple[Place, bytes]] = field(default_factory=list)
    """Values that the client read in this transaction, by a read_committed consumer."""

    @property
    def name(self) -> str:
        session = self.session
        return (
            f"transaction of {session.client} ({session.transactional_id}, producer {session.producer_id}, epoch "
            f"{session.producer_epoch}) begun at {self.begun_s:.4f}"
        )


class Observed(NamedTuple):
    """A record that a consumer got. `seen_s`: when, on the clock of the transactions; infinite if it is not known."""

    offset: int
    value: bytes
    seen_s: float = math.inf


class ReadRange(NamedTuple):
    """The records that a read_committed consumer got from a partition between two offsets, `end` excluded, in the order
    in which they came.
    """

    reader: str
    place: Place
    start: int
    end: int
    records: list[Observed]


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
