"""What a log's leader knows of transactions that are about to begin in it (KIP-890; Kafka: VerificationStateEntry).

Before the first batch of a transaction is appended, its coordinator is asked whether the partition is in it. The guard
is there from before the question until a batch of the transaction or a marker is in the log: an answer that was
overtaken by a marker is worth nothing, and then its guard is not there any more.

Guards come on the loop and go on the log's strand; each step is one operation on a dict. Pure.
"""

from __future__ import annotations

__all__ = ["OPEN_TRANSACTION", "TransactionGuard", "TransactionGuards"]


class TransactionGuard:
    """One producer's question. ``lowest_sequence`` is that of the earliest batch which waited under it: a later one may
    not be appended first when that one has to be sent again."""

    __slots__ = ("begun_ms", "lowest_sequence", "producer_epoch")

    def __init__(self, producer_epoch: int, sequence: int, now_ms: int) -> None:
        self.producer_epoch = producer_epoch
        self.lowest_sequence = sequence
        self.begun_ms = now_ms

    def note(self, producer_epoch: int, sequence: int) -> None:
        """A further batch waits under it; those of an older epoch do not count any more."""
        if producer_epoch > self.producer_epoch:
            self.producer_epoch, self.lowest_sequence = producer_epoch, sequence
        elif producer_epoch == self.producer_epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


OPEN_TRANSACTION = TransactionGuard(-1, -1, 0)
"""Of a batch that came while its producer's transaction was open, and is refused if it is not any more: no log ever has
this guard."""


class TransactionGuards(dict[int, TransactionGuard]):
    """Those of one log, by producer id. Most logs have none, which is seen at a glance."""

    __slots__ = ()

    def begin(self, producer_id: int, producer_epoch: int, sequence: int, now_ms: int, most: int) -> TransactionGuard:
        """The guard for a batch that begins a transaction: that which is there, or a new one. When there are ``most``,
        the oldest are let go: what waits under one of them is refused then."""
        if producer_id not in self and len(self) >= most:
            for oldest in list(self)[: len(self) - most + max(most // 10, 1)]:
                self.end(oldest)
        guard = self.setdefault(producer_id, TransactionGuard(producer_epoch, sequence, now_ms))
        guard.note(producer_epoch, sequence)
        return guard

    def end(self, producer_id: int) -> None:
        """A batch or a marker of its transaction is in the log."""
        self.pop(producer_id, None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        for producer_id, guard in list(self.items()):
            if now_ms - guard.begun_ms >= expiration_ms:
                self.end(producer_id)
