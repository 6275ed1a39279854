"""Requests that wait until the previous transaction of their transactional id has ended.

**Why.** The response CONCURRENT_TRANSACTIONS makes a client wait much longer than most ends take: Kafka's Java producer
20 ms, other clients 100 ms.
"""

from collections.abc import Callable
from functools import partial

from ....base.timers import Scheduler, TimerHandle
from .transaction import Transaction

__all__ = ["MAX_PRODUCE_WAIT_S", "MAX_WAIT_S", "WaitingRequests"]

MAX_WAIT_S = 0.02
"""A request that waits holds back the requests behind it on its connection."""

MAX_PRODUCE_WAIT_S = 0.1
"""The limit for a Produce request that begins a transaction: Kafka's producer repeats it only after 100 ms."""

Retry = Callable[[], None]


class WaitingRequests:
    """Calls each request again when its transaction has changed, or when the request has waited long enough."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiting: dict[Transaction, dict[Retry, TimerHandle]] = {}

    def add(self, transaction: Transaction, retry: Retry, give_up: Retry, deadline_s: float) -> None:
        """``give_up`` is called instead of ``retry`` at ``deadline_s``, in the scheduler's time."""
        timer = self._scheduler.call_at(deadline_s, partial(self._time_out, transaction, retry, give_up))
        self._waiting.setdefault(transaction, {})[retry] = timer

    def wake(self, transaction: Transaction) -> None:
        """The transaction is neither ending nor being changed, or this broker does not coordinate it any more."""
        for retry, timer in self._waiting.pop(transaction, {}).items():
            timer.cancel()
            retry()

    def close(self) -> None:
        """Forget all requests."""
        for waiting in self._waiting.values():
            for timer in waiting.values():
                timer.cancel()
        self._waiting.clear()

    def _time_out(self, transaction: Transaction, retry: Retry, give_up: Retry) -> None:
        waiting = self._waiting[transaction]
        del waiting[retry]
        if not waiting:
            del self._waiting[transaction]
        give_up()
