"""InitProducerId with a transactional id: a producer starts, or goes on after an error (KIP-360).

A producer that starts gets a higher epoch, so that an earlier instance with the same transactional id is fenced. When
the epochs of a producer id are exhausted, it gets a new producer id.
"""

from typing import NamedTuple

from ....protocol.errors import ErrorCode
from ....protocol.records.batch import NO_PRODUCER_EPOCH
from .ending import fence
from .outcomes import Change, Outcome, Response, WantsProducerId
from .picture import MAX_PRODUCER_EPOCH, NO_PARTITIONS, NOT_STARTED, ProducerIdentity, TransactionPicture
from .requesting_producer import NO_PRODUCER, RequestingProducer
from .states import TransactionState
from .transaction import Transaction

__all__ = ["InitRequest", "check_request", "initialize", "new_transaction"]


class InitRequest(NamedTuple):
    """``producer``: the producer that goes on, `NO_PRODUCER` when it starts. ``timeout_ms``: of its transactions."""

    timeout_ms: int
    producer: RequestingProducer = NO_PRODUCER


def check_request(transactional_id: str, request: InitRequest, max_timeout_ms: int) -> ErrorCode:
    """The checks that need no state. ``max_timeout_ms``: transaction.max.timeout.ms."""
    producer = request.producer
    is_half_given = (producer.producer_id == NO_PRODUCER.producer_id) != (producer.epoch == NO_PRODUCER.epoch)
    if not transactional_id or is_half_given:
        return ErrorCode.INVALID_REQUEST
    if not 0 < request.timeout_ms <= max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def new_transaction(transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """A transactional id that was never used: no producer has an epoch yet."""
    producer = ProducerIdentity(producer_id, NO_PRODUCER_EPOCH)
    picture = TransactionPicture(TransactionState.EMPTY, producer, timeout_ms, NO_PARTITIONS, NOT_STARTED, now_ms)
    return Transaction(transactional_id, picture)


def initialize(transaction: Transaction, request: InitRequest, now_ms: int, fresh_producer_id: int | None) -> Outcome:
    """Give the producer an id and an epoch. An ongoing transaction is aborted first; the client then repeats.

    ``fresh_producer_id``: None until it is wanted.
    """
    if transaction.is_pending or transaction.is_ending:
        return Response(ErrorCode.CONCURRENT_TRANSACTIONS)
    current = transaction.current
    if request.producer.is_given and not _may_go_on(current.producer, request.producer):
        return Response(ErrorCode.PRODUCER_FENCED)
    if current.state is TransactionState.ONGOING:
        picture = fence(transaction, now_ms, fresh_producer_id)
        if isinstance(picture, WantsProducerId):
            return picture
        return Change(picture, Response(ErrorCode.CONCURRENT_TRANSACTIONS))
    return _initialize(current, request, now_ms, fresh_producer_id)


def _may_go_on(current: ProducerIdentity, producer: RequestingProducer) -> bool:
    """Whether the producer id is acceptable.

    A new transactional id accepts every producer, because it may have expired. A producer may also repeat the request
    that gave it a new producer id.
    """
    if current.epoch == NO_PRODUCER_EPOCH or producer.producer_id == current.producer_id:
        return True
    return producer.producer_id == current.previous_producer_id and producer.epoch >= MAX_PRODUCER_EPOCH


def _initialize(
    current: TransactionPicture, request: InitRequest, now_ms: int, fresh_producer_id: int | None
) -> Outcome:
    producer = request.producer
    if current.producer.is_exhausted and producer.epoch in (NO_PRODUCER_EPOCH, current.producer.epoch):
        if fresh_producer_id is None:
            return WantsProducerId()
        last_epoch = producer.epoch  # -1 when the producer starts
        identity = ProducerIdentity(fresh_producer_id, 0, last_epoch, current.producer.producer_id)
    else:
        epochs = _next_epochs(current.producer, producer)
        if epochs is None:
            return Response(ErrorCode.PRODUCER_FENCED)
        identity = ProducerIdentity(current.producer.producer_id, *epochs, current.producer.producer_id)
    picture = current._replace(
        state=TransactionState.EMPTY,
        producer=identity,
        timeout_ms=request.timeout_ms,
        partitions=NO_PARTITIONS,
        start_ms=NOT_STARTED,
        last_update_ms=now_ms,
    )
    return Change(picture, Response(ErrorCode.NONE, identity.producer_id, identity.epoch))


def _next_epochs(current: ProducerIdentity, producer: RequestingProducer) -> tuple[int, int] | None:
    """The next epoch and last epoch; None: the producer is fenced."""
    if not producer.is_given:
        return current.epoch + 1, NO_PRODUCER_EPOCH
    if current.epoch == NO_PRODUCER_EPOCH or producer.epoch == current.epoch:
        return current.epoch + 1, current.epoch
    if producer.epoch == current.last_epoch:  # the response to the same request was lost
        return current.epoch, current.last_epoch
    return None
