"""Adds the partitions that leaders on this broker ask for, in transaction version 2.

**Why.** A leader asks for each partition of a Produce request by itself, and a change of a transaction is one record.
**How.** The partitions of one producer are gathered until the event loop's next iteration, and while an addition is
under way: a request with many partitions is one change. `TransactionVerification` does the same between brokers.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ....base.timers import Scheduler
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....storage.workers.callbacks import call_isolated
from .outcomes import Response
from .producer_requests import ProducerRequests
from .requesting_producer import RequestingProducer
from .states import EPOCH_BUMP_VERSION
from .waiting_requests import MAX_PRODUCE_WAIT_S

__all__ = ["GatheredAdditions"]

Answered = Callable[[ErrorCode], None]
_Additions = dict[TopicPartition, list[Answered]]


class _Key(NamedTuple):
    transactional_id: str
    producer: RequestingProducer


class GatheredAdditions:
    """``scheduler``: the event loop."""

    def __init__(self, requests: ProducerRequests, scheduler: Scheduler) -> None:
        self._requests = requests
        self._scheduler = scheduler
        self._next: dict[_Key, _Additions] = {}
        """The next addition of each producer that has one scheduled or under way."""

    def add(
        self, transactional_id: str, producer: RequestingProducer, partition: TopicPartition, answered: Answered
    ) -> None:
        """``answered`` is called once with the result."""
        key = _Key(transactional_id, producer)
        if key not in self._next:
            self._next[key] = {}
            self._scheduler.call_soon(self._begin, key)
        self._next[key].setdefault(partition, []).append(answered)

    def _begin(self, key: _Key) -> None:
        additions = self._next[key]
        if not additions:
            del self._next[key]
            return
        self._next[key] = {}
        self._requests.add_partitions(
            key.transactional_id,
            key.producer,
            list(additions),
            partial(self._added, key, additions),
            transaction_version=EPOCH_BUMP_VERSION,
            wait_s=MAX_PRODUCE_WAIT_S,
        )

    def _added(self, key: _Key, additions: _Additions, response: Response) -> None:
        _settle(additions, response.code)
        if response.code is ErrorCode.CONCURRENT_TRANSACTIONS:  # no request waits for this transaction twice
            additions, self._next[key] = self._next[key], {}
            _settle(additions, response.code)
        self._begin(key)


def _settle(additions: _Additions, code: ErrorCode) -> None:
    for waiting in additions.values():
        for answered in waiting:
            call_isolated(answered, code)
