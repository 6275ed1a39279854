"""Checks of two pictures of a transactional id that follow each other, as in Kafka's TransactionMetadata.

A violation is a bug of the coordinator. It is found before the record is written and again when it is committed.
"""

from ....base.invariant import InvariantError
from .picture import NOT_STARTED, TransactionPicture
from .states import ENDED_STATES, ENDING_STATES, TransactionState, moved

__all__ = ["check_transition"]


def check_transition(before: TransactionPicture, after: TransactionPicture) -> None:
    """Raise InvariantError unless ``after`` may follow ``before``."""
    moved(before.state, after.state, after.transaction_version)
    if not _follows(before, after):
        raise InvariantError(f"{after} cannot follow {before}")


def _follows(before: TransactionPicture, after: TransactionPicture) -> bool:
    if after.state is TransactionState.EMPTY:
        return _initializes(before, after)
    if after.timeout_ms != before.timeout_ms:
        return False
    if after.state is TransactionState.ONGOING:
        return after.producer == before.producer and after.partitions >= before.partitions
    if after.state in ENDING_STATES:
        return _ends(before, after)
    if after.state in ENDED_STATES:
        return _completes(before, after)
    return after.state is TransactionState.DEAD and not after.partitions


def _initializes(before: TransactionPicture, after: TransactionPicture) -> bool:
    """The epoch is the same or one higher, or 0 with a new producer id."""
    if after.partitions or after.start_ms != NOT_STARTED:
        return False
    if after.producer.producer_id != before.producer.producer_id:
        return after.producer.epoch == 0
    return 0 <= after.producer.epoch - before.producer.epoch <= 1


def _ends(before: TransactionPicture, after: TransactionPicture) -> bool:
    """The epoch is the same or one higher. Only a transaction without partitions, which had not begun, begins here."""
    old, new = before.producer, after.producer
    if (new.producer_id, after.partitions) != (old.producer_id, before.partitions):
        return False
    is_begun = before.state is TransactionState.ONGOING
    return new.epoch - old.epoch in (0, 1) and (after.start_ms == before.start_ms or not is_begun)


def _completes(before: TransactionPicture, after: TransactionPicture) -> bool:
    """The producer id and epoch are the same, or the next producer id with epoch 0."""
    old, new = before.producer, after.producer
    if after.partitions or after.start_ms == NOT_STARTED or after.start_ms != before.start_ms:
        return False
    return (new.producer_id, new.epoch) in ((old.producer_id, old.epoch), (old.next_producer_id, 0))
