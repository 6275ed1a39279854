"""Guards of transactions that are being verified (KIP-890; Kafka: VerificationGuard, VerificationStateEntry). Pure.

Why: before the first batch of a transaction is appended, the leader asks the coordinator whether the partition belongs
to the transaction. A response that arrives after a marker of that transaction must not count.
How: the guard exists from before the request until a batch or a marker of the transaction is in the log. Guards are
added on the event loop and removed on the log's strand; each step is one dict operation.
"""

from __future__ import annotations

__all__ = ["OPEN_TRANSACTION", "VerificationGuard", "VerificationGuards"]


class VerificationGuard:
    """One producer's pending verification. ``lowest_sequence`` is the sequence of the earliest waiting batch.

    A batch with a higher sequence must not be appended first, in case the earliest one has to be sent again.
    ``bumps_epochs``: the producer gets a new epoch with every transaction (transaction version 2).
    """

    __slots__ = ("begun_ms", "bumps_epochs", "lowest_sequence", "producer_epoch")

    def __init__(self, producer_epoch: int, sequence: int, now_ms: int, *, bumps_epochs: bool = False) -> None:
        self.producer_epoch = producer_epoch
        self.lowest_sequence = sequence
        self.begun_ms = now_ms
        self.bumps_epochs = bumps_epochs

    def note(self, producer_epoch: int, sequence: int) -> None:
        """Add another waiting batch. Batches of an older producer epoch no longer count."""
        if producer_epoch > self.producer_epoch:
            self.producer_epoch, self.lowest_sequence = producer_epoch, sequence
        elif producer_epoch == self.producer_epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


OPEN_TRANSACTION = VerificationGuard(-1, -1, 0)
"""Guard of a batch that arrived while its producer's transaction was open. No log has this guard, so the batch is
refused if the transaction is no longer open."""


class VerificationGuards(dict[int, VerificationGuard]):
    """The guards of one log by producer id. Most logs have none."""

    __slots__ = ()

    def begin(
        self,
        producer_id: int,
        producer_epoch: int,
        sequence: int,
        now_ms: int,
        most: int,
        *,
        bumps_epochs: bool = False,
    ) -> VerificationGuard:
        """Return the guard for a batch that starts a transaction: the existing one or a new one.

        When there are ``most``, the oldest are removed, and the batches that wait under them are refused.
        """
        if producer_id not in self and len(self) >= most:
            for oldest in list(self)[: len(self) - most + max(most // 10, 1)]:
                self.end(oldest)
        new = VerificationGuard(producer_epoch, sequence, now_ms, bumps_epochs=bumps_epochs)
        guard = self.setdefault(producer_id, new)
        guard.bumps_epochs = bumps_epochs
        guard.note(producer_epoch, sequence)
        return guard

    def end(self, producer_id: int) -> None:
        """Remove the guard, because a batch or a marker of its transaction is in the log."""
        self.pop(producer_id, None)

    def end_by_marker(self, producer_id: int, producer_epoch: int) -> None:
        """Remove the guard, unless it belongs to the transaction after that of the marker: when the producer gets a new
        epoch with every transaction, that one has the marker's epoch."""
        guard = self.get(producer_id)
        if guard is not None and not (guard.bumps_epochs and guard.producer_epoch >= producer_epoch):
            self.end(producer_id)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        for producer_id, guard in list(self.items()):
            if now_ms - guard.begun_ms >= expiration_ms:
                self.end(producer_id)
