"""Verifies that a partition is part of the transaction that a batch would start in it (KIP-890).

Why: the coordinator never ends a transaction in a partition it was not told of, or one that has ended meanwhile. Such a
batch would leave a transaction open for good, and ``read_committed`` consumers would wait behind it.
How: the first batch waits until the coordinator has confirmed; later batches of the same transaction need no check. The
log's guard (`storage/producers/verification_guards.py`) holds the state of a check. Kafka: ReplicaManager's
maybeStartTransactionVerificationForPartitions.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..base.topic_partition import TopicPartition
from ..protocol.errors import CorruptRecordError, ErrorCode, error_for
from ..protocol.records.batch import read_header
from ..storage.producers.verification_guards import OPEN_TRANSACTION, VerificationGuard
from ..storage.workers.callbacks import call_isolated
from .partition.append_request import AppendRequest
from .partition.append_result import AppendResult
from .partition_set import PartitionSet

__all__ = ["AskCoordinator", "ProducerBatch", "TransactionChecks", "TransactionPart", "producer_of"]

_FIRST_PRODUCE_FOR_ABORTABLE = 11
_FIRST_PRODUCE_THAT_ADDS = 12
_RETRIABLE = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Old clients do not know these codes in a Produce response. They get NOT_ENOUGH_REPLICAS and retry without fetching
metadata."""


class ProducerBatch(NamedTuple):
    """The producer of a transactional batch, from the batch's header."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


class TransactionPart(NamedTuple):
    """The partition and producer that a coordinator is asked about.

    ``adds``: the coordinator adds the partition, because the producer does not (transaction version 2).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    topic_partition: TopicPartition
    adds: bool = False


AskCoordinator = Callable[[TransactionPart, Callable[[ErrorCode], None]], None]
"""Asks whether the partition is in the transaction, or has it added. The callback is called once with the result, maybe
before this returns; TRANSACTION_ABORTABLE: it is not."""

Checked = Callable[[ErrorCode, VerificationGuard | None], None]
"""Called with the error code and the guard to pass to the append."""

_Question = tuple[VerificationGuard, TransactionPart]


class TransactionChecks:
    """``clock_ms`` is the wall clock. Everything runs on the event loop."""

    def __init__(
        self,
        partitions: PartitionSet,
        ask_coordinator: AskCoordinator,
        clock_ms: Callable[[], int],
        *,
        is_enabled: bool,
    ) -> None:
        self.is_enabled = is_enabled
        """``transaction.partition.verification.enable``"""
        self._partitions = partitions
        self._ask_coordinator = ask_coordinator
        self._clock_ms = clock_ms
        self._waiting: dict[_Question, list[Checked]] = {}
        self._asked: dict[TransactionPart, VerificationGuard] = {}
        """The guard of the last check of each part that waits for the result."""

    def append(
        self, transactional_id: str, version: int, request: AppendRequest, done: Callable[[AppendResult], None]
    ) -> None:
        """`PartitionSet.append` for a Produce request (of ``version``) with a transactional id."""

        def checked(error: ErrorCode, guard: VerificationGuard | None) -> None:
            if error is ErrorCode.NONE:
                self._partitions.append(request._replace(guard=guard), done)
            else:
                result = _refusal(error, version)
                self._partitions.note_refused(request, error_for(result.error, result.message))
                done(result)

        batch = producer_of(request.records)
        if batch is None:
            self._partitions.append(request, done)
            return
        topic_partition = request.topic_partition
        adds = version >= _FIRST_PRODUCE_THAT_ADDS
        check = partial(self.check, topic_partition, transactional_id, batch, checked, adds=adds)
        hosted = self._partitions.get(topic_partition)
        if hosted is not None and hosted.held_appends is not None:
            hosted.held_appends.append(check)
        else:
            check()

    def check(
        self,
        topic_partition: TopicPartition,
        transactional_id: str,
        batch: ProducerBatch,
        checked: Checked,
        *,
        adds: bool = False,
    ) -> None:
        """Check whether ``batch`` may be appended. ``checked`` is called once, maybe before this returns. While a check
        of the same part is under way, callbacks are called in the order in which they came. The append itself checks
        the leadership.

        ``adds``: the partition is added to the transaction, also when nothing is verified.
        """
        hosted = self._partitions.get(topic_partition)
        if hosted is None or hosted.partition.leader is None:
            checked(ErrorCode.NONE, None)
            return
        part = TransactionPart(transactional_id, batch.producer_id, batch.producer_epoch, topic_partition, adds)
        producers, asked = hosted.log.producer_state, self._asked.get(part)
        is_asked = adds or self.is_enabled
        if not is_asked or producers.has_open_transaction(batch.producer_id, batch.producer_epoch):
            if asked is None:
                checked(ErrorCode.NONE, OPEN_TRANSACTION if is_asked else None)
            else:  # an earlier batch is verified, but not in the log yet
                self._waiting[asked, part].append(checked)
            return
        guard = producers.guards.begin(*batch, self._clock_ms(), producers.max_producers, bumps_epochs=adds)
        if guard is asked:
            self._waiting[guard, part].append(checked)
            return
        self._asked[part] = guard
        self._waiting[guard, part] = [checked]
        self._ask_coordinator(part, partial(self._answered, (guard, part)))

    def _answered(self, question: _Question, error: ErrorCode) -> None:
        guard, part = question
        if self._asked.get(part) is guard:
            del self._asked[part]
        for checked in self._waiting.pop(question):
            call_isolated(checked, error, guard)


def producer_of(records: memoryview | bytearray | bytes) -> ProducerBatch | None:
    """The producer of the record batch; None when it is not transactional, or its producer has no id."""
    try:
        batch = read_header(records, 0, len(records))
    except CorruptRecordError:  # the append raises it again
        return None
    if batch is None or batch.magic < 2 or not batch.is_transactional or batch.producer_id < 0:
        return None
    return ProducerBatch(batch.producer_id, batch.producer_epoch, batch.base_sequence)


def _refusal(error: ErrorCode, version: int) -> AppendResult:
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _FIRST_PRODUCE_FOR_ABORTABLE:
        error = ErrorCode.INVALID_TXN_STATE
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and version >= _FIRST_PRODUCE_THAT_ADDS:
        return AppendResult(error)  # the producer knows it, and sends the batch again
    if error is ErrorCode.INVALID_TXN_STATE:
        return AppendResult(error, message="Partition was not added to the transaction")
    if error in _RETRIABLE:
        message = f"That the partition is in the transaction could not be verified: {error.name}"
        return AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, message=message)
    return AppendResult(error)
