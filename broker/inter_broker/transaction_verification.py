"""Questions to the coordinators of transactions: is this partition in the transaction? (KIP-890)

One request is under way to each broker; what is asked meanwhile goes with the next one, all in one (Kafka:
AddPartitionsToTxnManager). Nothing is asked twice: who gets no answer tells its producer to try again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from ...base.topic_partition import TopicPartition
from ...protocol.apis import ApiKey
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode
from ...protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ...protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ...replication.transaction_checks import TransactionPart
from ...storage.workers.callbacks import call_isolated

__all__ = ["TransactionQuestions"]

logger = logging.getLogger(__name__)

FIRST_VERSION = 4
"""The first that only asks, of Kafka 3.5."""
LAST_VERSION = 5

Answered = Callable[[ErrorCode], None]


class Link(Protocol):
    """A `BrokerLink`."""

    @property
    def is_connected(self) -> bool: ...
    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any: ...
    def kill(self) -> None: ...
    async def close(self) -> None: ...


class TransactionQuestions:
    """``coordinator_of``: the broker that coordinates a transactional id, None when nobody is known to; ``link_to`` a
    broker. ``broken`` hears of a bug."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        coordinator_of: Callable[[str], int | None],
        link_to: Callable[[int], Link],
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
    """What is asked about one transaction, with who wants to know."""

    def __init__(self, part: TransactionPart) -> None:
        self.transactional_id = part.transactional_id
        self.producer_id = part.producer_id
        self.producer_epoch = part.producer_epoch
        self.answered: dict[TopicPartition, list[Answered]] = {}

    def settle(self, code: ErrorCode) -> None:
        """All of it at once."""
        for waiting in self.answered.values():
            for answered in waiting:
                call_isolated(answered, code)

    def as_asked(self) -> AddPartitionsToTxnTransaction:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for name, partition in self.answered:
            topics.setdefault(name, AddPartitionsToTxnTopic(name=name)).partitions.append(partition)
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            verify_only=True,
            topics=list(topics.values()),
        )


_Transactions = dict[str, _Transaction]


class _Coordinator:
    """A broker that is asked."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        broker_id: int,
        link: Link,
        timeout_ms: int,
        broken: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._broker_id = broker_id
        self._link = link
        self._timeout_ms = timeout_ms
        self._broken = broken
        self._waiting: _Transactions = {}
        self._version = FIRST_VERSION
        self._task: asyncio.Task[None] | None = None

    def ask(self, part: TransactionPart, answered: Answered) -> None:
        known = self._waiting.get(part.transactional_id)
        if known is not None and known.producer_epoch > part.producer_epoch:
            answered(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        if known is None or (known.producer_id, known.producer_epoch) != (part.producer_id, part.producer_epoch):
            self._waiting[part.transactional_id] = _Transaction(part)
        self._waiting[part.transactional_id].answered.setdefault(part.topic_partition, []).append(answered)
        if self._task is None:
            self._task = self._loop.create_task(self._run(), name=f"transactions-of-broker-{self._broker_id}")
        if known is not None and known is not self._waiting[part.transactional_id]:
            known.settle(ErrorCode.INVALID_PRODUCER_EPOCH)  # fenced

    def kill(self) -> None:
        self._waiting.clear()
        self._link.kill()
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Who waits is told to try again: without its link, that is what is left."""
        self._link.kill()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._link.close()

    async def _run(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                await self._send(asked)
        except Exception as error:  # a bug: producers would wait for ever
            logger.exception("coordinators of transactions cannot be asked any more")
            self._broken(error)
        finally:
            self._task = None

    async def _send(self, asked: _Transactions) -> None:
        try:
            if not self._link.is_connected:
                self._version = await self._newest_version()
            if self._version < FIRST_VERSION:
                _settle_all(asked, ErrorCode.NONE)
                return
            request = AddPartitionsToTxnRequest(transactions=[each.as_asked() for each in asked.values()])
            response: AddPartitionsToTxnResponse = await self._link.ask(request, self._version, self._timeout_ms)
        except (ConnectionError, TimeoutError) as error:
            logger.info("broker %d is not reached about %d transactions: %s", self._broker_id, len(asked), error)
            _settle_all(asked, ErrorCode.NETWORK_EXCEPTION)
            return
        if response.error_code:
            code = _code(response.error_code)
            logger.warning("broker %d says nothing about %d transactions: %s", self._broker_id, len(asked), code.name)
            # That this broker may not ask is no affair of the producer's.
            is_strange = code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            _settle_all(asked, ErrorCode.INVALID_TXN_STATE if is_strange else code)
            return
        _settle_each(asked, response)

    async def _newest_version(self) -> int:
        """That both know. It is asked anew on each connection: behind it may be another release by then."""
        answer: ApiVersionsResponse = await self._link.ask(ApiVersionsRequest(), 0, self._timeout_ms)
        served = [each.max_version for each in answer.api_keys if each.api_key == ApiKey.ADD_PARTITIONS_TO_TXN]
        version = min(max(served, default=0), LAST_VERSION)
        if version < FIRST_VERSION:
            logger.warning("broker %d cannot say what is in a transaction: what comes is taken", self._broker_id)
        return version


def _settle_all(asked: _Transactions, code: ErrorCode) -> None:
    for transaction in asked.values():
        transaction.settle(code)


def _settle_each(asked: _Transactions, response: AddPartitionsToTxnResponse) -> None:
    codes = {
        (result.transactional_id, topic.name, partition.partition_index): _code(partition.partition_error_code)
        for result in response.results_by_transaction
        for topic in result.topic_results
        for partition in topic.results_by_partition
    }
    for transaction in asked.values():
        for (name, partition), waiting in transaction.answered.items():
            code = codes.get((transaction.transactional_id, name, partition), ErrorCode.UNKNOWN_SERVER_ERROR)
            for answered in waiting:
                # At the newer code a producer would stop, and not begin its transaction anew.
                call_isolated(answered, ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code)


def _code(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:  # of a later version than ours
        return ErrorCode.UNKNOWN_SERVER_ERROR
