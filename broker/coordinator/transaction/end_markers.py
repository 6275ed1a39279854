"""The end marker of a transaction, and the partitions that must get it."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from .states import EPOCH_BUMP_VERSION, TransactionState
from .transaction import Transaction

__all__ = ["EndMarker", "Ending", "MarkerResult", "MarkersToWrite", "end_marker", "marker_result"]

_DONE = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})
"""A partition of an old message format cannot have transactional records, so it needs no marker."""
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
_RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class EndMarker(NamedTuple):
    """The marker of one ended transaction.

    ``state_partition``: of ``__transaction_state``. ``transaction_version``: of the producer.
    """

    transactional_id: str
    state_partition: int
    coordinator_epoch: int
    producer_id: int
    producer_epoch: int
    is_commit: bool
    transaction_version: int = 0

    @property
    def bumps_epochs(self) -> bool:
        """Whether the marker's epoch is higher than that of the transaction's records."""
        return self.transaction_version >= EPOCH_BUMP_VERSION


class MarkersToWrite(NamedTuple):
    """A marker with partitions of one broker."""

    marker: EndMarker
    partitions: tuple[TopicPartition, ...]


def end_marker(transaction: Transaction, state_partition: int, coordinator_epoch: int) -> EndMarker:
    """The marker of a transaction whose end is decided and committed."""
    producer = transaction.current.producer
    return EndMarker(
        transaction.transactional_id,
        state_partition,
        coordinator_epoch,
        producer.producer_id,
        producer.epoch,
        transaction.state is TransactionState.PREPARE_COMMIT,
        transaction.current.transaction_version,
    )


class Ending:
    """A marker on its way: it is kept until its completion is written.

    Attributes:
        unwritten: the partitions that do not have the marker.
        attempts: how often a partition failed; under None, how often the completion did.
        is_over: the completion is written, or another broker coordinates the transaction.
    """

    __slots__ = ("attempts", "is_over", "marker", "unwritten")

    def __init__(self, marker: EndMarker, partitions: Iterable[TopicPartition]) -> None:
        self.marker = marker
        self.unwritten = set(partitions)
        self.attempts: dict[TopicPartition | None, int] = {}
        self.is_over = False


class MarkerResult(Enum):
    """The meaning of a partition's code in WriteTxnMarkers."""

    DONE = auto()
    FENCED = auto()
    RETRIABLE = auto()
    UNEXPECTED = auto()
    """Retried as well, because the transaction would stay open otherwise."""


def marker_result(code: ErrorCode) -> MarkerResult:
    if code in _DONE:
        return MarkerResult.DONE
    if code in _FENCED:
        return MarkerResult.FENCED
    return MarkerResult.RETRIABLE if code in _RETRIABLE else MarkerResult.UNEXPECTED
