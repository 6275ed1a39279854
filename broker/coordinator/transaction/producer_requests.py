"""The requests of transactional producers: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn.

How: a rule decides on the transaction as it is now. Its outcome is a response, or a picture to write first. A request
that meets a transaction that is ending waits a moment before it is refused (`WaitingRequests`).
"""

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ....base.timers import Scheduler, TimerHandle
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from .adding import add_offsets, add_partitions, verify_partitions
from .changes import Changes
from .ending import end, end_and_bump
from .init_rules import InitRequest, check_request, initialize, new_transaction
from .outcomes import Change, Outcome, Response, WantsProducerId
from .picture import TransactionPicture
from .registry import TransactionRegistry
from .requesting_producer import RequestingProducer
from .settings import TransactionSettings
from .transaction import Transaction
from .waiting_requests import MAX_WAIT_S

__all__ = ["ProducerRequests", "TakeProducerId"]

logger = logging.getLogger(__name__)

TakeProducerId = Callable[[Callable[[int | KafkaError], None]], None]
"""Calls its argument with a producer id that no producer has, or with the error why there is none."""

Reply = Callable[[Response], None]


class _Question(NamedTuple):
    """A request that is being decided.

    Attributes:
        rule: decides; gets the transaction and a fresh producer id, which is None until the rule wants it.
        deadline_s: how long the request may wait for the end of a transaction, in the scheduler's time.
    """

    transactional_id: str
    rule: Callable[[Transaction | None, int | None], Outcome]
    reply: Reply
    deadline_s: float


class ProducerRequests:
    """Each method calls ``reply`` once, maybe before it returns. ``now_ms``: the wall clock.

    ``offsets_partition``: the partition of ``__consumer_offsets`` that stores a group.
    """

    def __init__(
        self,
        settings: TransactionSettings,
        registry: TransactionRegistry,
        changes: Changes,
        take_producer_id: TakeProducerId,
        offsets_partition: Callable[[str], int],
        scheduler: Scheduler,
        now_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._changes = changes
        self._take_producer_id = take_producer_id
        self._offsets_partition = offsets_partition
        self._scheduler = scheduler
        self._now_ms = now_ms

    def init_producer_id(self, transactional_id: str, request: InitRequest, reply: Reply) -> None:
        """InitProducerId with a transactional id."""
        code = check_request(transactional_id, request, self._settings.max_timeout_ms)
        if code is not ErrorCode.NONE:
            reply(Response(code))
            return

        def rule(transaction: Transaction | None, fresh_producer_id: int | None) -> Outcome:
            if transaction is not None:
                return initialize(transaction, request, self._now_ms(), fresh_producer_id)
            return self._initialize_new(transactional_id, request, fresh_producer_id)

        self._ask(transactional_id, rule, reply)

    def add_partitions(
        self,
        transactional_id: str,
        producer: RequestingProducer,
        partitions: Collection[TopicPartition],
        reply: Reply,
        *,
        transaction_version: int,
        wait_s: float = MAX_WAIT_S,
    ) -> None:
        """AddPartitionsToTxn. The partitions exist. ``transaction_version``: of the producer.

        ``wait_s``: how long to wait for the end of the previous transaction before the reply CONCURRENT_TRANSACTIONS.
        """

        def rule(transaction: Transaction | None, _: int | None) -> Outcome:
            outcome = add_partitions(transaction, producer, partitions, self._now_ms(), transaction_version)
            return self._if_it_fits(transaction, outcome)

        self._ask(transactional_id, rule, reply, wait_s)

    def add_offsets(self, transactional_id: str, producer: RequestingProducer, group_id: str, reply: Reply) -> None:
        """AddOffsetsToTxn."""

        def rule(transaction: Transaction | None, _: int | None) -> Outcome:
            partition = TopicPartition(CONSUMER_OFFSETS_TOPIC, self._offsets_partition(group_id))
            return add_offsets(transaction, producer, partition, self._now_ms())

        self._ask(transactional_id, rule, reply)

    def end(self, transactional_id: str, producer: RequestingProducer, reply: Reply, *, is_commit: bool) -> None:
        """EndTxn up to version 4. The reply comes when the decision is committed; the markers follow."""

        def rule(transaction: Transaction | None, _: int | None) -> Outcome:
            return end(transaction, producer, self._now_ms(), is_commit=is_commit)

        self._ask(transactional_id, rule, reply)

    def end_and_bump(
        self, transactional_id: str, producer: RequestingProducer, reply: Reply, *, is_commit: bool
    ) -> None:
        """EndTxn from version 5 on. The reply has the producer id and epoch to go on with."""

        def rule(transaction: Transaction | None, fresh_producer_id: int | None) -> Outcome:
            return end_and_bump(transaction, producer, self._now_ms(), fresh_producer_id, is_commit=is_commit)

        self._ask(transactional_id, rule, reply)

    def verify(
        self, transactional_id: str, producer: RequestingProducer, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """AddPartitionsToTxn that only verifies: whether each partition is in the transaction."""
        code = self._registry.check(transactional_id)
        if code is not ErrorCode.NONE:
            return dict.fromkeys(partitions, code)
        return verify_partitions(self._registry.get(transactional_id), producer, partitions)

    def _initialize_new(self, transactional_id: str, request: InitRequest, fresh_producer_id: int | None) -> Outcome:
        code = self._registry.check_space(transactional_id)
        if code is not ErrorCode.NONE:
            return Response(code)
        if fresh_producer_id is None:
            return WantsProducerId()
        now_ms = self._now_ms()
        transaction = new_transaction(transactional_id, fresh_producer_id, request.timeout_ms, now_ms)
        self._registry.add(transaction)
        return initialize(transaction, request, now_ms, None)

    def _if_it_fits(self, transaction: Transaction | None, outcome: Outcome) -> Outcome:
        """The outcome, or an error when the new partitions exceed the limit of memory."""
        if transaction is None or not isinstance(outcome, Change):
            return outcome
        code = self._registry.check_growth(transaction, outcome.picture)
        return outcome if code is ErrorCode.NONE else Response(code)

    # -- from the outcome to the reply

    def _ask(
        self,
        transactional_id: str,
        rule: Callable[[Transaction | None, int | None], Outcome],
        reply: Reply,
        wait_s: float = MAX_WAIT_S,
    ) -> None:
        self._decide(_Question(transactional_id, rule, _once(reply), self._scheduler.time() + wait_s), None)

    def _decide(self, question: _Question, fresh_producer_id: int | None) -> None:
        code = self._registry.check(question.transactional_id)
        if code is not ErrorCode.NONE:
            question.reply(Response(code))
            return
        outcome = question.rule(self._registry.get(question.transactional_id), fresh_producer_id)
        match outcome:
            case WantsProducerId():
                self._take_producer_id(partial(self._got_producer_id, question))
            case Response():
                self._respond(question, outcome)
            case Change(picture, response):
                self._write(question, picture, response)

    def _got_producer_id(self, question: _Question, producer_id: int | KafkaError) -> None:
        if isinstance(producer_id, KafkaError):
            question.reply(Response(producer_id.code))
            return
        try:
            self._decide(question, producer_id)
        except Exception:  # no handler is above this call any more, and a task that fails ends the broker
            logger.exception("transactional id %.100r: the request failed", question.transactional_id)
            question.reply(Response(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _respond(self, question: _Question, response: Response) -> None:
        """Reply, or wait if the transaction is ending or being changed."""
        if response.code is ErrorCode.CONCURRENT_TRANSACTIONS and self._scheduler.time() < question.deadline_s:
            transaction = self._registry.get(question.transactional_id)
            if transaction is not None:
                retry = partial(self._decide, question, None)
                give_up = partial(self._decide, question._replace(deadline_s=0), None)
                self._changes.waiting.add(transaction, retry, give_up, question.deadline_s)
                return
        question.reply(response)

    def _write(self, question: _Question, picture: TransactionPicture, response: Response) -> None:
        transaction = self._registry.get(question.transactional_id)
        assert transaction is not None
        is_done = False
        timer: TimerHandle | None = None

        def done(code: ErrorCode) -> None:
            nonlocal is_done
            is_done = True
            if timer is not None:
                timer.cancel()
            if code is ErrorCode.NONE:
                self._respond(question._replace(deadline_s=self._scheduler.time() + MAX_WAIT_S), response)
            else:
                question.reply(Response(code))

        self._changes.apply(transaction, picture, done)
        if not is_done:
            timeout_s = min(picture.timeout_ms, self._settings.request_timeout_ms) / 1000
            timer = self._scheduler.call_later(timeout_s, question.reply, Response(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _once(reply: Reply) -> Reply:
    """Passes on the first call: a change may still be written after its time was up."""
    is_answered = False

    def first(response: Response) -> None:
        nonlocal is_answered
        if not is_answered:
            is_answered = True
            reply(response)

    return first
