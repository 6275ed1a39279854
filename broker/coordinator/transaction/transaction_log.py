"""Writes the records of transactional ids to ``__transaction_state`` and settles their pending pictures."""

import logging
from collections.abc import Callable, Iterable, Sequence

from ....base.kafka_names import TRANSACTION_STATE_TOPIC
from ....base.quiet_lines import QUIET
from ....protocol.codec import EncodeError
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.records.builder import build_batch
from ....protocol.records.compression import Codec
from ....protocol.records.walk import Record
from ..append_result import TOO_LARGE, AppendResult, append_error, append_result
from ..batch_sizes import tombstone_batches
from ..internal_log import AppendOutcome, InternalAppend, RecordSink
from .ending import dead
from .picture import TransactionPicture
from .records import FLEXIBLE_VERSION, encode_key, encode_value
from .states import ENDED_STATES
from .transaction import Transaction

__all__ = ["TransactionLog"]

logger = logging.getLogger(__name__)

Written = Callable[[ErrorCode], None]


class TransactionLog:
    """``flexible_values``: whether every broker of the cluster reads values with tagged fields
    (``transaction.version`` 1)."""

    def __init__(
        self,
        sink: RecordSink,
        partition_for: Callable[[str], int],
        now_ms: Callable[[], int],
        flexible_values: Callable[[], bool],
    ) -> None:
        self._sink = sink
        self._partition_for = partition_for
        self._now_ms = now_ms
        self._flexible_values = flexible_values

    def write(self, transaction: Transaction, done: Written) -> None:
        """Write the pending picture. ``done`` is called after it was adopted, dropped or left pending.

        The completion of an end stays pending after an error, because its markers are written: write it again, unless
        the code is NOT_COORDINATOR. A picture that has no encoding is an error of this write, never of the broker.
        """
        picture = transaction.pending
        assert picture is not None

        def finish(outcome: AppendOutcome) -> None:
            _settle(transaction, picture, append_result(outcome))
            done(_told(transaction, picture, outcome))

        transactional_id = transaction.transactional_id
        try:
            record = (encode_key(transactional_id), encode_value(picture, self._value_version(picture)))
        except EncodeError as error:
            logger.error("transactional id %.100r: the record has no encoding", transactional_id, exc_info=error)
            _settle(transaction, picture, AppendResult.NOT_WRITTEN)
            done(ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        self._append(self._partition_for(transactional_id), [record], finish)

    def write_tombstones(
        self,
        partition: int,
        transactions: Iterable[Transaction],
        max_batch_bytes: int,
        forgotten: Callable[[Transaction], None],
    ) -> None:
        """Delete expired ids of one partition. ``forgotten`` is called for each whose tombstone is committed.

        ``max_batch_bytes``: max.message.bytes of the topic. Batches that are too large nevertheless are halved.
        """
        for batch in tombstone_batches(transactions, _key_of, max_batch_bytes):
            for transaction in batch:
                transaction.prepare(dead(transaction.current))
            self._write_tombstones(partition, batch, forgotten)

    def _write_tombstones(
        self, partition: int, batch: Sequence[Transaction], forgotten: Callable[[Transaction], None]
    ) -> None:
        def finish(outcome: AppendOutcome) -> None:
            if isinstance(outcome, KafkaError) and outcome.code in TOO_LARGE and len(batch) > 1:
                middle = len(batch) // 2
                self._write_tombstones(partition, batch[:middle], forgotten)
                self._write_tombstones(partition, batch[middle:], forgotten)
                return
            result = append_result(outcome)
            if isinstance(outcome, KafkaError) and result is not AppendResult.COMMITTED:
                logger.warning(
                    "%s-%d: tombstones of %d expired transactional ids not written: %s",
                    TRANSACTION_STATE_TOPIC,
                    partition,
                    len(batch),
                    outcome.code.name,
                )
            for transaction in batch:
                if result is AppendResult.COMMITTED:
                    transaction.complete()
                    forgotten(transaction)
                elif result is AppendResult.NOT_WRITTEN:
                    transaction.reset()

        self._append(partition, [(encode_key(each.transactional_id), None) for each in batch], finish)

    def _append(
        self, partition: int, records: Sequence[tuple[bytes, bytes | None]], done: Callable[[AppendOutcome], None]
    ) -> None:
        now_ms = self._now_ms()
        stamped = [Record(offset, now_ms, key, value) for offset, (key, value) in enumerate(records)]
        batch = build_batch(stamped, base_offset=0, codec=Codec.NONE)
        self._sink.append(InternalAppend(partition, batch), done)

    def _value_version(self, picture: TransactionPicture) -> int:
        return FLEXIBLE_VERSION if picture.bumps_epochs or self._flexible_values() else 0


def _settle(transaction: Transaction, picture: TransactionPicture, result: AppendResult) -> None:
    if result is AppendResult.COMMITTED:
        transaction.complete()
    elif result is AppendResult.NOT_WRITTEN and picture.state not in ENDED_STATES:
        transaction.reset()


def _told(transaction: Transaction, picture: TransactionPicture, outcome: AppendOutcome) -> ErrorCode:
    if not isinstance(outcome, KafkaError):
        return ErrorCode.NONE
    error = append_error(outcome.code)
    level = logging.INFO if error is ErrorCode.NOT_COORDINATOR else logging.WARNING
    logger.log(
        level,
        "transactional id %s: %s not stored: %s",
        transaction.transactional_id,
        picture.state.title,
        outcome.code.name,
        extra=QUIET,
    )
    return error


def _key_of(transaction: Transaction) -> bytes:
    return encode_key(transaction.transactional_id)
