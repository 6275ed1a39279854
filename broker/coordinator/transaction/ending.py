"""EndTxn, the coordinator's own aborts, and the completion of an end after its markers.

A producer's transaction version is known from the version of its request: up to 4 it keeps its epoch, from 5 on every
end gives it a new one (KIP-890), so that a late request cannot end the next transaction.
"""

from ....base.invariant import invariant
from ....protocol.errors import ErrorCode
from ....protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .outcomes import Change, Outcome, Response, WantsProducerId
from .picture import FENCE_EPOCH, MAX_PRODUCER_EPOCH, NO_PARTITIONS, ProducerIdentity, TransactionPicture
from .requesting_producer import RequestingProducer, check_producer, has_epoch
from .states import ENDED_STATES, EPOCH_BUMP_VERSION, TransactionState
from .transaction import Transaction

__all__ = ["completed", "dead", "end", "end_and_bump", "fence"]

_COMMIT = TransactionState.PREPARE_COMMIT
_ABORT = TransactionState.PREPARE_ABORT
_REPEATED = {
    (_COMMIT, _COMMIT): ErrorCode.CONCURRENT_TRANSACTIONS,
    (_ABORT, _ABORT): ErrorCode.CONCURRENT_TRANSACTIONS,
    (TransactionState.COMPLETE_COMMIT, _COMMIT): ErrorCode.NONE,
    (TransactionState.COMPLETE_ABORT, _ABORT): ErrorCode.NONE,
}
"""(state, wanted state) → code, when the transaction was ended in the wanted way already. Otherwise INVALID_TXN_STATE.
"""


def end(transaction: Transaction | None, producer: RequestingProducer, now_ms: int, *, is_commit: bool) -> Outcome:
    """EndTxn of a producer that keeps its epoch (transaction versions 0 and 1)."""
    code = check_producer(transaction, producer)
    if transaction is None or code is not ErrorCode.NONE:
        return Response(code)
    if transaction.is_pending or transaction.is_ending:
        return Response(ErrorCode.CONCURRENT_TRANSACTIONS)
    current, target = transaction.current, _target(is_commit)
    if current.state is not TransactionState.ONGOING:
        return Response(_repeated(current, target))
    picture = current._replace(state=target, last_update_ms=now_ms, transaction_version=0)
    return Change(picture, Response(ErrorCode.NONE))


def end_and_bump(
    transaction: Transaction | None,
    producer: RequestingProducer,
    now_ms: int,
    fresh_producer_id: int | None,
    *,
    is_commit: bool,
) -> Outcome:
    """EndTxn of a producer that gets a new epoch with every end (transaction version 2).

    ``fresh_producer_id``: None until it is wanted.
    """
    if transaction is None:
        return Response(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.is_pending or transaction.is_ending:  # the producer may have its next identity already
        return Response(ErrorCode.CONCURRENT_TRANSACTIONS)
    current, target = transaction.current, _target(is_commit)
    is_overflow_retry = _is_retry_after_overflow(current.producer, producer)
    if current.producer.producer_id != producer.producer_id and not is_overflow_retry:
        return Response(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if is_overflow_retry or _is_retry_after_bump(current.producer, producer):
        return _response_to_retry(current, target)
    if not has_epoch(current.producer, producer):
        return Response(ErrorCode.PRODUCER_FENCED)
    if is_commit and current.state is not TransactionState.ONGOING:
        return Response(ErrorCode.INVALID_TXN_STATE)
    return _end_and_bump(current, target, now_ms, fresh_producer_id)


def fence(transaction: Transaction, now_ms: int, fresh_producer_id: int | None) -> TransactionPicture | WantsProducerId:
    """Abort an ongoing transaction and fence its producer: a new producer started, or the transaction timed out.

    The stored transaction version decides, not the cluster's, so that it is the same after a failover.
    """
    current = transaction.current
    invariant(current.state is TransactionState.ONGOING, f"{transaction.transactional_id}: no transaction to fence")
    if current.bumps_epochs:
        outcome = _end_and_bump(current, _ABORT, now_ms, fresh_producer_id)
        return outcome.picture if isinstance(outcome, Change) else outcome
    raised = 0 if transaction.has_unwritten_epoch else 1
    epoch = min(current.producer.epoch + raised, FENCE_EPOCH)
    producer = current.producer._replace(epoch=epoch, last_epoch=NO_PRODUCER_EPOCH)
    return current._replace(state=_ABORT, producer=producer, last_update_ms=now_ms)


def completed(current: TransactionPicture, now_ms: int) -> TransactionPicture:
    """The picture after the last marker. The producer changes to its next producer id, if there is one."""
    is_commit = current.state is _COMMIT
    return current._replace(
        state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        producer=_completed_producer(current) if current.bumps_epochs else current.producer,
        partitions=NO_PARTITIONS,
        last_update_ms=now_ms,
    )


def dead(current: TransactionPicture) -> TransactionPicture:
    """The picture of an expired id, whose record is a tombstone."""
    return current._replace(state=TransactionState.DEAD, partitions=NO_PARTITIONS)


def _target(is_commit: bool) -> TransactionState:
    return _COMMIT if is_commit else _ABORT


def _repeated(current: TransactionPicture, target: TransactionState) -> ErrorCode:
    return _REPEATED.get((current.state, target), ErrorCode.INVALID_TXN_STATE)


def _is_retry_after_bump(current: ProducerIdentity, producer: RequestingProducer) -> bool:
    """Whether the request may have been answered with the current epoch before."""
    return producer.epoch >= 0 and current.epoch == producer.epoch + 1


def _is_retry_after_overflow(current: ProducerIdentity, producer: RequestingProducer) -> bool:
    """Whether the request may have been answered with the current producer id and epoch 0 before."""
    is_last_epoch = producer.epoch == MAX_PRODUCER_EPOCH and current.epoch == 0
    return is_last_epoch and current.previous_producer_id == producer.producer_id


def _response_to_retry(current: TransactionPicture, target: TransactionState) -> Response:
    """A retry can only follow an end that raised the epoch. The producer is told the current identity again.

    Otherwise a later producer with the same transactional id has the current identity. Kafka 4 does not see that when
    the later producer ends its transactions without raising the epoch, and gives its identity to the earlier one.
    """
    if current.state not in ENDED_STATES or not current.bumps_epochs:
        return Response(ErrorCode.PRODUCER_FENCED)
    code = _repeated(current, target)
    if code is not ErrorCode.NONE:
        return Response(code)
    return Response(code, current.producer.producer_id, current.producer.epoch)


def _end_and_bump(
    current: TransactionPicture, target: TransactionState, now_ms: int, fresh_producer_id: int | None
) -> Change | WantsProducerId:
    """Raise the epoch. An exhausted producer id is left for a fresh one, which the completion switches to."""
    producer = current.producer
    if producer.is_exhausted and fresh_producer_id is None:
        return WantsProducerId()
    picture = current._replace(
        state=target,
        producer=producer._replace(
            epoch=min(producer.epoch + 1, FENCE_EPOCH),
            last_epoch=producer.epoch,
            next_producer_id=fresh_producer_id
            if fresh_producer_id is not None and producer.is_exhausted
            else NO_PRODUCER_ID,
        ),
        start_ms=current.start_ms if current.state is TransactionState.ONGOING else now_ms,
        last_update_ms=now_ms,
        transaction_version=EPOCH_BUMP_VERSION,
    )
    told = _completed_producer(picture)
    return Change(picture, Response(ErrorCode.NONE, told.producer_id, told.epoch))


def _completed_producer(current: TransactionPicture) -> ProducerIdentity:
    producer = current.producer._replace(
        previous_producer_id=current.producer.producer_id, next_producer_id=NO_PRODUCER_ID
    )
    if current.producer.next_producer_id == NO_PRODUCER_ID:
        return producer
    return producer._replace(producer_id=current.producer.next_producer_id, epoch=0)
