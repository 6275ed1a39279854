"""AddPartitionsToTxn, AddOffsetsToTxn, and the question of a leader whether a partition is in a transaction."""

from collections.abc import Collection

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from .outcomes import Change, Outcome, Response
from .picture import TransactionPicture
from .requesting_producer import RequestingProducer, check_producer
from .states import EPOCH_BUMP_VERSION, IDLE_STATES, TransactionState
from .transaction import Transaction

__all__ = ["add_offsets", "add_partitions", "verify_partitions"]


def add_partitions(
    transaction: Transaction | None,
    producer: RequestingProducer,
    partitions: Collection[TopicPartition],
    now_ms: int,
    transaction_version: int,
) -> Outcome:
    """Add partitions to the transaction, which begins with its first ones.

    ``transaction_version``: of the producer, known from the version of its request. ``partitions`` exist.
    """
    code = _check(transaction, producer, transaction_version)
    if transaction is None or code is not ErrorCode.NONE:
        return Response(code)
    current = transaction.current
    if current.state is TransactionState.ONGOING and current.partitions.issuperset(partitions):
        return Response(ErrorCode.NONE)
    return Change(_with_partitions(current, partitions, now_ms, transaction_version), Response(ErrorCode.NONE))


def add_offsets(
    transaction: Transaction | None, producer: RequestingProducer, offsets_partition: TopicPartition, now_ms: int
) -> Outcome:
    """Add the partition of ``__consumer_offsets`` that stores the offsets of a group.

    Only producers of transaction versions 0 and 1 ask for it. As in Kafka, the name of the group is not checked.
    """
    return add_partitions(transaction, producer, (offsets_partition,), now_ms, 0)


def verify_partitions(
    transaction: Transaction | None, producer: RequestingProducer, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Which partitions are in the transaction: NONE, or TRANSACTION_ABORTABLE when a partition is not.

    Only committed records count: a partition whose record is lost gets no marker.
    """
    code = check_producer(transaction, producer)
    if transaction is None or code is not ErrorCode.NONE:
        return dict.fromkeys(partitions, code)
    if transaction.is_ending:
        return dict.fromkeys(partitions, ErrorCode.CONCURRENT_TRANSACTIONS)
    added = transaction.current.partitions
    return {each: ErrorCode.NONE if each in added else ErrorCode.TRANSACTION_ABORTABLE for each in partitions}


def _check(transaction: Transaction | None, producer: RequestingProducer, transaction_version: int) -> ErrorCode:
    """A producer of transaction version 2 may have the identity that counts from the end of its transaction on, so its
    identity is checked after that."""
    is_busy = transaction is not None and (transaction.is_pending or transaction.is_ending)
    bumps_epochs = transaction is not None and transaction.current.bumps_epochs
    if is_busy and bumps_epochs and transaction_version >= EPOCH_BUMP_VERSION:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    code = check_producer(transaction, producer)
    if transaction is None or code is not ErrorCode.NONE:
        return code
    return ErrorCode.CONCURRENT_TRANSACTIONS if is_busy else ErrorCode.NONE


def _with_partitions(
    current: TransactionPicture, partitions: Collection[TopicPartition], now_ms: int, transaction_version: int
) -> TransactionPicture:
    return current._replace(
        state=TransactionState.ONGOING,
        partitions=current.partitions.union(partitions),
        start_ms=now_ms if current.state in IDLE_STATES else current.start_ms,
        last_update_ms=now_ms,
        transaction_version=transaction_version,
    )
