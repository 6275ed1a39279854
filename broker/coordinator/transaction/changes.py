"""Writes the pictures that rules decide, and does what follows from them.

How: after the decision of an end is committed, its markers are delivered. When every partition has its marker, the
completion is written, and requests that waited for it go on.
"""

from collections.abc import Callable
from functools import partial

from ....base.timers import Scheduler
from ....protocol.errors import ErrorCode
from ....protocol.records.batch import NO_PRODUCER_EPOCH
from .end_markers import EndMarker, end_marker
from .ending import completed
from .marker_delivery import MarkerDelivery, MarkerPorts
from .picture import TransactionPicture
from .registry import TransactionRegistry
from .retry_delays import RetryDelays
from .transaction import Transaction
from .transaction_log import TransactionLog
from .waiting_requests import WaitingRequests

__all__ = ["Changes"]


class Changes:
    """``now_ms``: the wall clock, for stored timestamps."""

    def __init__(
        self,
        registry: TransactionRegistry,
        log: TransactionLog,
        ports: MarkerPorts,
        delays: RetryDelays,
        scheduler: Scheduler,
        now_ms: Callable[[], int],
    ) -> None:
        self._registry = registry
        self._log = log
        self._now_ms = now_ms
        self._completing: set[Transaction] = set()
        """Their completion is being written."""
        self.waiting = WaitingRequests(scheduler)
        self.delivery = MarkerDelivery(ports, self._is_coordinator, delays, scheduler, self._complete)

    def apply(self, transaction: Transaction, picture: TransactionPicture, done: Callable[[ErrorCode], None]) -> None:
        """Write the picture. ``done`` is called with the code for the client when it is committed or not written."""
        transaction.prepare(picture)
        self._log.write(transaction, partial(self._settled, transaction, done))

    def end(self, transaction: Transaction) -> None:
        """The end of the transaction is decided and committed: deliver its markers."""
        partition = self._registry.partition_for(transaction.transactional_id)
        marker = end_marker(transaction, partition, self._registry.ownership.epoch_of(partition))
        self.delivery.want(marker, transaction.current.partitions)

    def _settled(self, transaction: Transaction, done: Callable[[ErrorCode], None], code: ErrorCode) -> None:
        done(code)
        if not self._registry.has(transaction) or transaction.is_pending:
            return
        if transaction.current.producer.epoch == NO_PRODUCER_EPOCH:  # a new id whose first record was refused
            self._registry.remove(transaction)
        if transaction.is_ending:
            self.end(transaction)
        else:
            self.waiting.wake(transaction)

    def _complete(self, marker: EndMarker) -> None:
        """Every partition has its marker: write the completion, again if it was not written before."""
        transaction = self._registry.get(marker.transactional_id)
        if transaction is None or not transaction.is_ending or transaction in self._completing:
            return
        if not transaction.is_pending:
            transaction.prepare(completed(transaction.current, self._now_ms()))
        self._completing.add(transaction)
        self._log.write(transaction, partial(self._completed, transaction, marker))

    def _completed(self, transaction: Transaction, marker: EndMarker, _code: ErrorCode) -> None:
        self._completing.discard(transaction)
        if not self._registry.has(transaction):
            return
        if transaction.is_pending:
            self.delivery.completion_failed(marker)
        else:
            self.delivery.completed(marker)
            self.waiting.wake(transaction)

    def _is_coordinator(self, partition: int, _epoch: int) -> bool:
        """Markers of an earlier leadership are dropped when it ends, so the epoch needs no look."""
        return self._registry.ownership.owns(partition)
