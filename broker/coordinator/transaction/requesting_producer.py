"""The producer that a request names, and whether the transactional id belongs to it."""

from typing import NamedTuple

from ....protocol.errors import ErrorCode
from ....protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .picture import MAX_PRODUCER_EPOCH, ProducerIdentity
from .transaction import Transaction

__all__ = ["NO_PRODUCER", "RequestingProducer", "check_producer", "has_epoch"]


class RequestingProducer(NamedTuple):
    """The producer id and epoch in a request."""

    producer_id: int
    epoch: int

    @property
    def is_given(self) -> bool:
        """Whether the request names a producer (KIP-360)."""
        return self != NO_PRODUCER


NO_PRODUCER = RequestingProducer(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def check_producer(transaction: Transaction | None, producer: RequestingProducer) -> ErrorCode:
    """NONE when the producer is the current one of the transactional id, else the error for the client."""
    if transaction is None or transaction.current.producer.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if has_epoch(transaction.current.producer, producer) else ErrorCode.PRODUCER_FENCED


def has_epoch(current: ProducerIdentity, producer: RequestingProducer) -> bool:
    """Whether the epochs are equal.

    No producer has an epoch outside 0 to 32766: -1 is stored before the first one was given, 32767 after a fence.
    """
    return 0 <= producer.epoch <= MAX_PRODUCER_EPOCH and producer.epoch == current.epoch
