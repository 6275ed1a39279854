"""The transaction coordinator of one broker.

Everything runs on the event loop. The rules of transactions are in other files, without I/O; this file has what happens
when a partition comes or goes, the timers and the shutdown. Handlers use ``requests``, ``describe`` and ``listing``.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from functools import partial
from itertools import chain
from random import Random
from typing import NamedTuple

from ....base.quiet_lines import QUIET
from ....base.timers import Scheduler, TimerHandle
from ....protocol.errors import ErrorCode, KafkaError
from ..append_bridge import AppendBridge
from ..coordinator_partitions import CoordinatorPartitions
from ..internal_log import InternalLog
from .changes import Changes
from .ending import fence
from .listing import Description, ListFilter, ListResult, describe, list_transactions
from .marker_delivery import MarkerPorts
from .outcomes import WantsProducerId
from .producer_requests import ProducerRequests, TakeProducerId
from .registry import TransactionRegistry
from .replay import Replay
from .retry_delays import RetryDelays
from .settings import TransactionSettings
from .states import TransactionState
from .time_outs import expired, timed_out
from .transaction import Transaction
from .transaction_log import TransactionLog

__all__ = ["CoordinatorPorts", "TransactionCoordinator"]

logger = logging.getLogger(__name__)

_FIRST_RETRY_MS = 20
_LONGEST_RETRY_MS = 2_000
_LONG_S = 3_600.0


class CoordinatorPorts(NamedTuple):
    """The parts of the broker that the coordinator uses.

    Attributes:
        now_ms: the wall clock, for stored timestamps.
        offsets_partition: the partition of ``__consumer_offsets`` that stores a group.
        transaction_version: the level of that feature. From 1 on every broker reads records with tagged fields.
    """

    scheduler: Scheduler
    now_ms: Callable[[], int]
    random: Random
    markers: MarkerPorts
    take_producer_id: TakeProducerId
    offsets_partition: Callable[[str], int]
    transaction_version: Callable[[], int]


class TransactionCoordinator:
    """Kafka's TransactionCoordinator with its TransactionStateManager."""

    def __init__(self, settings: TransactionSettings, log: InternalLog, ports: CoordinatorPorts) -> None:
        self._settings = settings
        self._scheduler = ports.scheduler
        self._now_ms = ports.now_ms
        self._take_producer_id = ports.take_producer_id
        self._timers: dict[Callable[[int], None], TimerHandle] = {}
        self._settling = asyncio.Event()
        """Set when what `settled` waits for has changed, or will not."""
        self._internal_log = log
        self._appends = AppendBridge(log)
        self.registry = TransactionRegistry(lambda: log.partition_count, settings.max_bytes)
        self._log = TransactionLog(
            self._appends, self.registry.partition_for, ports.now_ms, lambda: ports.transaction_version() > 0
        )
        delays = RetryDelays(_FIRST_RETRY_MS, _LONGEST_RETRY_MS, ports.random.random)
        self._changes = Changes(self.registry, self._log, ports.markers, delays, ports.scheduler, ports.now_ms)
        owned = self.registry.ownership
        self.partitions = CoordinatorPartitions(log, owned, self, self._appends, ports.now_ms, reloads=True)
        self.requests = ProducerRequests(
            settings,
            self.registry,
            self._changes,
            ports.take_producer_id,
            ports.offsets_partition,
            ports.scheduler,
            ports.now_ms,
        )

    def partition_for(self, transactional_id: str) -> int:
        """The partition of ``__transaction_state`` whose leader coordinates the transactional id."""
        return self.registry.partition_for(transactional_id)

    def describe(self, transactional_id: str) -> Description:
        """DescribeTransactions."""
        return describe(self.registry, transactional_id, self._changes.delivery.partitions_without_marker)

    async def listing(self, wanted: ListFilter) -> ListResult:
        """ListTransactions. Yields to the event loop after each partition, because there may be many ids."""
        now_ms = self._now_ms()
        result = list_transactions(self.registry, wanted, now_ms, ())
        for partition in self.registry.partitions():
            await asyncio.sleep(0)
            found = list_transactions(self.registry, wanted, now_ms, [partition])
            if found.code is not ErrorCode.NONE:
                return found
            result.listings.extend(found.listings)
        return result

    def leaders_changed(self) -> None:
        """The metadata changed: markers that wait for a leader are sent."""
        self._changes.delivery.leaders_changed()

    # -- the transactions of partitions (`KeptEntries`)

    @property
    def kind(self) -> str:
        return "transactional ids"

    def new_replay(self, partition: int) -> Replay:
        return Replay(partition, self.registry.partition_for)

    def loaded(self, partition: int, entries: list[Transaction]) -> None:
        """Go on with the ends that are decided."""
        self.registry.finish_loading(partition, entries)
        for transaction in entries:
            if transaction.is_ending:
                self._changes.end(transaction)

    def unloaded(self, partition: int) -> int:
        transactions = self.registry.remove_partition(partition)
        self._changes.delivery.drop(partition)
        for transaction in transactions:
            self._changes.waiting.wake(transaction)
        return len(transactions)

    # -- time-outs and expiry

    def _abort_timed_out(self, partition: int) -> None:
        for transaction in timed_out(self.registry.transactions_in(partition), self._now_ms()):
            self._abort(transaction, None)

    def _abort(self, transaction: Transaction, fresh_producer_id: int | KafkaError | None) -> None:
        """Abort a transaction that lasts too long. After an error the next scan tries again."""
        is_current = self.registry.has(transaction) and not transaction.is_pending
        if isinstance(fresh_producer_id, KafkaError) or not is_current:
            return
        if transaction.state is not TransactionState.ONGOING:  # it ended while a producer id was fetched
            return
        picture = fence(transaction, self._now_ms(), fresh_producer_id)
        if isinstance(picture, WantsProducerId):
            self._take_producer_id(partial(self._abort, transaction))
            return
        self._changes.apply(transaction, picture, partial(_log_time_out, transaction))

    def _expire(self, partition: int) -> None:
        transactions = self.registry.transactions_in(partition)
        due = expired(transactions, self._now_ms(), self._settings.expiration_ms)
        max_batch_bytes = self._internal_log.max_batch_bytes(partition)
        if max_batch_bytes is not None:
            self._log.write_tombstones(partition, due, max_batch_bytes, self.registry.remove)

    # -- a clock that tests move

    def abort_overdue(self) -> None:
        """Abort the transactions that last too long, without waiting for the next scan."""
        for partition in self.registry.partitions():
            self._abort_timed_out(partition)

    def expire_unused(self) -> None:
        """Expire the ids that were not used for long, without waiting for the next scan."""
        for partition in self.registry.partitions():
            self._expire(partition)

    def busy(self) -> set[Transaction]:
        """The transactions that are ending or being changed."""
        transactions = chain.from_iterable(map(self.registry.transactions_in, self.registry.partitions()))
        return {each for each in transactions if each.is_ending or each.is_pending}

    def retry_markers(self) -> None:
        """Try again the markers that wait for their next attempt."""
        self._changes.delivery.retry_now()

    async def settled(self, stuck: Set[Transaction], until_s: float) -> None:
        """Wait until no record is being written, and no transaction is ending or being changed.

        A transaction in ``stuck`` is waited for only while its markers are being tried, and until the loop's time is
        ``until_s``.
        """
        await self._appends.drain()
        loop, delivery = asyncio.get_running_loop(), self._changes.delivery
        while self.registry.ownership.is_active and (busy := self.busy()):
            tried = {each for each in busy & stuck if delivery.is_trying(each.transactional_id)}
            if loop.time() >= until_s:
                tried.clear()
            awaited = (busy - stuck) | tried
            if not awaited:
                break
            changed = self._settling = asyncio.Event()
            delivery.tried = changed.set
            for transaction in awaited:
                self._changes.waiting.add(transaction, changed.set, changed.set, self._scheduler.time() + _LONG_S)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until_s if tried else None):
                    await changed.wait()
            await self._appends.drain()

    # -- start and stop

    def start(self) -> None:
        """Start to abort and expire periodically."""
        self._repeat(self._abort_timed_out, self._settings.abort_interval_ms)
        self._repeat(self._expire, self._settings.expiry_interval_ms)

    async def close(self) -> None:
        """Stop answering and cancel all timers, without waiting for appends, which have no timeout."""
        self.kill()
        self._appends.abandon_all()

    def kill(self) -> None:
        """Stop answering and cancel all timers."""
        self.registry.ownership.is_active = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._changes.delivery.close()
        self._changes.waiting.close()
        self._settling.set()

    def _repeat(self, scan: Callable[[int], None], interval_ms: int) -> None:
        """Scan all partitions again and again, each in its own iteration of the event loop."""

        def begin() -> None:
            self._repeat(scan, interval_ms)
            go_on(iter(self.registry.partitions()))

        def go_on(partitions: Iterator[int]) -> None:
            partition = next(partitions, None)
            if partition is not None and self.registry.ownership.is_active:
                scan(partition)
                self._scheduler.call_soon(go_on, partitions)

        self._timers[scan] = self._scheduler.call_later(interval_ms / 1000, begin)


def _log_time_out(transaction: Transaction, code: ErrorCode) -> None:
    if code is ErrorCode.NONE:
        logger.info(
            "transactional id %r: aborted, because it lasted longer than the producer's transaction.timeout.ms=%d",
            transaction.transactional_id,
            transaction.current.timeout_ms,
            extra=QUIET,
        )
