"""Checks what read_committed consumers got while transactions were running: isolation (Adya's G1a, G1b, G1c).

Write cycles (G0) are not errors: transactions may be in different orders in two partitions.
"""

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from support.transactions.transaction_history import (
    Place,
    ReadRange,
    SentTransaction,
    TransactionHistory,
    TransactionOutcome,
)

__all__ = ["check_cycles", "check_readings"]

Values = Sequence[tuple[int, bytes]]
"""Offsets and values."""


def check_readings(
    history: TransactionHistory, committed: Mapping[Place, Values], readings: Sequence[ReadRange]
) -> Iterator[str]:
    """Each consumer got what a consumer gets now: no verdict has changed, nothing was skipped or came too early."""
    writers = _writers(history)
    by_offset = {place: dict(values) for place, values in committed.items()}
    for reading in readings:
        log = by_offset.get(reading.place, {})
        yield from _check_order(reading)
        yield from _check_values(reading, log, writers)
        yield from _check_skipped(reading, log, writers)


def check_cycles(history: TransactionHistory) -> Iterator[str]:
    """No two transactions read each other's values, and no longer circle of transactions does (G1c).

    A value can be read only when its transaction has committed, so a reader in a transaction ends later.
    """
    writers = _writers(history)
    order: TopologicalSorter[SentTransaction] = TopologicalSorter()
    for transaction in history.transactions:
        order.add(transaction, *(writers[value] for _, value in transaction.reads if value in writers))
    try:
        order.prepare()
    except CycleError as error:
        names = " which was read by ".join(transaction.name for transaction in error.args[1])
        yield f"transactions read each other's values: {names}"


def _check_order(reading: ReadRange) -> Iterator[str]:
    previous = reading.start - 1
    for record in reading.records:
        if record.offset <= previous:
            yield f"{_who(reading)} read offset {record.offset} after {previous}"
        previous = record.offset


def _check_values(
    reading: ReadRange, log: Mapping[int, bytes], writers: Mapping[bytes, SentTransaction]
) -> Iterator[str]:
    for offset, value, seen_s in reading.records:
        transaction = writers.get(value)
        is_in_log = log.get(offset) == value
        if transaction is not None and seen_s < transaction.last_sent_s:
            yield f"{_who(reading)} read {value!r} at offset {offset} before the commit of {transaction.name}"
        elif transaction is not None and not is_in_log and transaction.outcome in _UNCOMMITTED:
            yield (
                f"{_who(reading)} read {value!r} at offset {offset}, but {transaction.name} is "
                f"{transaction.outcome.value}"
            )
        elif not is_in_log:
            yield f"{_who(reading)} read {value!r} at offset {offset}, where the log has {log.get(offset)!r}"


_UNCOMMITTED = (TransactionOutcome.OPEN, TransactionOutcome.ABORTED)


def _check_skipped(
    reading: ReadRange, log: Mapping[int, bytes], writers: Mapping[bytes, SentTransaction]
) -> Iterator[str]:
    seen = {record.value for record in reading.records}
    partly_read = {writers[value] for value in seen if value in writers}
    for offset in sorted(offset for offset in log if reading.start <= offset < reading.end):
        value = log[offset]
        if value not in seen:
            transaction = writers.get(value)
            part = f", but read other values of {transaction.name}" if transaction in partly_read else ""
            yield f"{_who(reading)} skipped {value!r} at offset {offset}{part}"


def _writers(history: TransactionHistory) -> Mapping[bytes, SentTransaction]:
    """The transaction that wrote each value."""
    return {
        value: transaction
        for transaction in history.transactions
        for values in transaction.values.values()
        for value in values
    }


def _who(reading: ReadRange) -> str:
    return f"{reading.place[0]}-{reading.place[1]}: {reading.reader}"
