"""Asks the coordinators of transactions whether a partition is part of a transaction, or has it added (KIP-890).

One request is in flight to each broker; questions that come meanwhile go together with the next one (Kafka:
AddPartitionsToTxnManager). An addition that meets the end of the previous transaction is repeated for some
milliseconds. Nothing else is retried: without a response the producer is told to retry.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Protocol

from ...base.topic_partition import TopicPartition
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.client import ServedVersions, UnsupportedApiError
from ...protocol.codec.schema import VersionRange
from ...protocol.errors import ErrorCode, known_error_code
from ...protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ...protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ...replication.transaction_checks import TransactionPart
from ...storage.workers.callbacks import call_isolated
from .broker_link import Link

__all__ = ["TransactionVerification"]

logger = logging.getLogger(__name__)

FIRST_VERSION = 4
"""The first version that can verify only, of Kafka 3.5."""
LAST_VERSION = 5
_USABLE = VersionRange(FIRST_VERSION, LAST_VERSION)
_SPEC = API_SPECS[ApiKey.ADD_PARTITIONS_TO_TXN]

_PAUSES_S = (0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
"""Before each repetition of an addition: together less than `waiting_requests.MAX_PRODUCE_WAIT_S`."""

Answered = Callable[[ErrorCode], None]


class VersionedLink(Link, Protocol):
    """A `BrokerLink` that tells whether the next request opens a new connection."""

    @property
    def is_connected(self) -> bool: ...


class TransactionVerification:
    """``coordinator_of``: the broker that coordinates a transactional id, None if unknown; ``link_to``: a link to a
    broker. ``broken`` is called with an unexpected exception."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        coordinator_of: Callable[[str], int | None],
        link_to: Callable[[int], VersionedLink],
        timeout_ms: int,
        broken: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._coordinator_of = coordinator_of
        self._link_to = link_to
        self._timeout_ms = timeout_ms
        self._broken = broken
        self._coordinators: dict[int, _Coordinator] = {}
        self._is_closed = False

    def ask(self, part: TransactionPart, answered: Answered) -> None:
        """See `replication.transaction_checks.AskCoordinator`."""
        broker_id = None if self._is_closed else self._coordinator_of(part.transactional_id)
        if broker_id is None:
            answered(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        coordinator = self._coordinators.get(broker_id)
        if coordinator is None:
            coordinator = _Coordinator(self._loop, broker_id, self._link_to(broker_id), self._timeout_ms, self._broken)
            self._coordinators[broker_id] = coordinator
        coordinator.ask(part, answered)

    def kill(self) -> None:
        self._is_closed = True
        for coordinator in self._coordinators.values():
            coordinator.kill()

    async def close(self) -> None:
        self._is_closed = True
        for coordinator in self._coordinators.values():
            await coordinator.close()


class _Transaction:
    """The questions about one transaction, and their callbacks."""

    def __init__(self, part: TransactionPart) -> None:
        self.transactional_id = part.transactional_id
        self.producer_id = part.producer_id
        self.producer_epoch = part.producer_epoch
        self.adds = part.adds
        self.repetitions = 0
        self.answered: dict[TopicPartition, list[Answered]] = {}

    def settle(self, code: ErrorCode) -> None:
        """Answer all questions with one code."""
        for waiting in self.answered.values():
            for answered in waiting:
                call_isolated(answered, code)

    def questions(self) -> Iterator[tuple[TransactionPart, Answered]]:
        for partition, waiting in self.answered.items():
            part = TransactionPart(self.transactional_id, self.producer_id, self.producer_epoch, partition, self.adds)
            for answered in waiting:
                yield part, answered

    def as_asked(self) -> AddPartitionsToTxnTransaction:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for name, partition in self.answered:
            topics.setdefault(name, AddPartitionsToTxnTopic(name=name)).partitions.append(partition)
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            verify_only=not self.adds,
            topics=list(topics.values()),
        )


_Transactions = dict[str, _Transaction]
_Codes = dict[tuple[str, str, int], ErrorCode]
"""By transactional id, topic and partition."""


class _Coordinator:
    """One broker and the questions for it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        broker_id: int,
        link: VersionedLink,
        timeout_ms: int,
        broken: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._broker_id = broker_id
        self._link = link
        self._timeout_ms = timeout_ms
        self._broken = broken
        self._waiting: _Transactions = {}
        self._paused: dict[_Transaction, asyncio.TimerHandle] = {}
        """Additions that will be repeated."""
        self._is_closed = False
        self._version = FIRST_VERSION
        self._task: asyncio.Task[None] | None = None

    def ask(self, part: TransactionPart, answered: Answered, repetitions: int = 0) -> None:
        known = self._waiting.get(part.transactional_id)
        if known is not None and known.producer_epoch > part.producer_epoch:
            answered(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        if known is not None and known.adds != part.adds:  # the response has room for one transaction of an id
            answered(ErrorCode.NETWORK_EXCEPTION)
            return
        if known is None or (known.producer_id, known.producer_epoch) != (part.producer_id, part.producer_epoch):
            self._waiting[part.transactional_id] = _Transaction(part)
        transaction = self._waiting[part.transactional_id]
        transaction.repetitions = max(transaction.repetitions, repetitions)
        transaction.answered.setdefault(part.topic_partition, []).append(answered)
        if self._task is None:
            self._task = self._loop.create_task(self._run(), name=f"transactions-of-broker-{self._broker_id}")
        if known is not None and known is not transaction:
            known.settle(ErrorCode.INVALID_PRODUCER_EPOCH)  # fenced

    def kill(self) -> None:
        self._waiting.clear()
        self._take_paused()
        self._link.kill()
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Close the link. Open questions fail, so that their producers retry."""
        self._link.kill()
        self._is_closed = True
        for transaction in self._take_paused():
            transaction.settle(ErrorCode.CONCURRENT_TRANSACTIONS)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._link.close()

    async def _run(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                await self._send(asked)
        except Exception as error:  # a bug; without `broken` producers would wait forever
            logger.exception("a bug: no more transactions can be verified with broker %d", self._broker_id)
            self._broken(error)
        finally:
            self._task = None

    async def _send(self, asked: _Transactions) -> None:
        try:
            if not self._link.is_connected:
                self._version = await self._newest_version()
            if self._version < FIRST_VERSION:
                _settle_unverified(asked)
                return
            request = AddPartitionsToTxnRequest(transactions=[each.as_asked() for each in asked.values()])
            response: AddPartitionsToTxnResponse = await self._link.ask(request, self._version, self._timeout_ms)
        except (ConnectionError, TimeoutError) as error:
            logger.info("broker %d cannot be reached to verify %d transactions: %s", self._broker_id, len(asked), error)
            _settle_all(asked, ErrorCode.NETWORK_EXCEPTION)
            return
        if response.error_code:
            code = known_error_code(response.error_code)
            logger.warning("broker %d refused to verify %d transactions: %s", self._broker_id, len(asked), code.name)
            # This broker may not ask; that must not look like an error of the producer's own rights.
            is_forbidden = code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            _settle_all(asked, ErrorCode.INVALID_TXN_STATE if is_forbidden else code)
            return
        codes = _codes_in(response)
        for transaction in asked.values():
            self._settle(transaction, codes)

    def _settle(self, transaction: _Transaction, codes: _Codes) -> None:
        """Answer the questions, or ask them again after a pause. The coordinator adds all partitions or none."""
        name = transaction.transactional_id
        found = {each: codes.get((name, *each), ErrorCode.UNKNOWN_SERVER_ERROR) for each in transaction.answered}
        is_ending = transaction.adds and ErrorCode.CONCURRENT_TRANSACTIONS in found.values()
        if is_ending and transaction.repetitions < len(_PAUSES_S) and not self._is_closed:
            pause_s = _PAUSES_S[transaction.repetitions]
            self._paused[transaction] = self._loop.call_later(pause_s, self._repeat, transaction)
            return
        for partition, waiting in transaction.answered.items():
            for answered in waiting:
                call_isolated(answered, _for_leader(found[partition]))

    def _repeat(self, transaction: _Transaction) -> None:
        del self._paused[transaction]
        for part, answered in transaction.questions():
            self.ask(part, answered, transaction.repetitions + 1)

    def _take_paused(self) -> list[_Transaction]:
        paused, self._paused = self._paused, {}
        for timer in paused.values():
            timer.cancel()
        return list(paused)

    async def _newest_version(self) -> int:
        """The newest common version, negotiated for each connection; 0 when the broker cannot verify."""
        response: ApiVersionsResponse = await self._link.ask(ApiVersionsRequest(), 0, self._timeout_ms)
        try:
            return ServedVersions.from_response(response).newest_common(_SPEC, _USABLE)
        except UnsupportedApiError as error:
            logger.warning("transactional records are accepted unverified: broker %d %s", self._broker_id, error)
            return 0


def _settle_all(asked: _Transactions, code: ErrorCode) -> None:
    for transaction in asked.values():
        transaction.settle(code)


def _settle_unverified(asked: _Transactions) -> None:
    for transaction in asked.values():
        transaction.settle(ErrorCode.COORDINATOR_NOT_AVAILABLE if transaction.adds else ErrorCode.NONE)


def _codes_in(response: AddPartitionsToTxnResponse) -> _Codes:
    return {
        (result.transactional_id, topic.name, each.partition_index): known_error_code(each.partition_error_code)
        for result in response.results_by_transaction
        for topic in result.topic_results
        for each in topic.results_by_partition
    }


def _for_leader(code: ErrorCode) -> ErrorCode:
    """On PRODUCER_FENCED a producer would stop instead of starting a new transaction."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code
