"""Checks that transactions are atomic, isolated and in order, by the history of clients and the committed logs.

**How:** as Elle does with histories of lists: a partition is a list, a record is an append. Each value is unique, so it
names the transaction that wrote it. Offsets give the order of a list.
"""

from collections.abc import Iterator, Mapping, Sequence

from support.transactions.read_checker import check_cycles, check_readings
from support.transactions.transaction_history import (
    Place,
    ReadRange,
    SentTransaction,
    TransactionHistory,
    TransactionOutcome,
)

__all__ = ["TransactionChecker"]

Positions = Mapping[Place, Mapping[bytes, int]]


class TransactionChecker:
    """`committed`: the values that a read_committed consumer reads at the end, with their offsets, by partition.

    Two writes of different transactions may be in different orders in two partitions (a write cycle): Kafka allows it.
    """

    def __init__(
        self,
        history: TransactionHistory,
        committed: Mapping[Place, Sequence[tuple[int, bytes]]],
        readings: Sequence[ReadRange] = (),
    ) -> None:
        """`readings`: what consumers got meanwhile."""
        self._history = history
        self._committed = committed
        self._readings = readings
        self._offsets: Positions = {
            place: {value: offset for offset, value in reversed(values)} for place, values in committed.items()
        }
        """The first offset of each value."""

    def violations(self) -> Iterator[str]:
        yield from self._check_duplicates()
        for transaction in self._history.transactions:
            if transaction.is_excused:
                continue
            match transaction.outcome:
                case TransactionOutcome.COMMITTED:
                    yield from self._check_committed(transaction)
                case TransactionOutcome.IN_DOUBT:
                    yield from self._check_in_doubt(transaction)
                case _:
                    yield from self._check_not_committed(transaction)
            yield from self._check_zombie(transaction)
        for transactional_id in dict.fromkeys(each.transactional_id for each in self._history.sessions):
            yield from self._check_order(self._history.of_id(transactional_id))
        yield from check_readings(self._history, self._committed, self._readings)
        yield from check_cycles(self._history)

    def _check_duplicates(self) -> Iterator[str]:
        """Offset commits have no sequence numbers, so a retry may write them again."""
        for place, values in self._committed.items():
            if place[0] == "__consumer_offsets":
                continue
            seen: dict[bytes, int] = {}
            for offset, value in values:
                first = seen.setdefault(value, offset)
                if first != offset:
                    yield f"{_named(place)}: {value!r} is committed twice, at offsets {first} and {offset}"

    def _check_committed(self, transaction: SentTransaction) -> Iterator[str]:
        for place, values in transaction.values.items():
            found = [self._offset(place, value) for value in values]
            if None in found:
                missing = values[found.index(None)]
                yield f"{transaction.name}: the commit was acknowledged, {missing!r} is not in {_named(place)}"
            elif found != sorted(found, key=lambda offset: offset or 0):
                yield f"{transaction.name}: values are in another order in {_named(place)}: {found}"

    def _check_not_committed(self, transaction: SentTransaction) -> Iterator[str]:
        for place, value in self._found(transaction)[:1]:
            yield f"{transaction.name} is {transaction.outcome.value}, {value!r} is committed in {_named(place)}"

    def _check_in_doubt(self, transaction: SentTransaction) -> Iterator[str]:
        found = self._found(transaction)
        count = sum(map(len, transaction.values.values()))
        if found and len(found) < count:
            missing = next(
                (place, value)
                for place, values in transaction.values.items()
                for value in values
                if (place, value) not in found
            )
            yield (
                f"{transaction.name} is torn: {found[0][1]!r} is committed in {_named(found[0][0])}, {missing[1]!r} is "
                f"not in {_named(missing[0])}"
            )

    def _check_zombie(self, transaction: SentTransaction) -> Iterator[str]:
        """A transaction that was continued after the next session was answered must not be committed."""
        fenced_s = self._history.next_session_s(transaction.session)
        if transaction.last_sent_s > fenced_s and transaction.outcome is not TransactionOutcome.ABORTED:
            for _, value in self._found(transaction)[:1]:
                yield f"{transaction.name} was fenced at {fenced_s:.4f}, {value!r} is committed all the same"

    def _check_order(self, transactions: Sequence[SentTransaction]) -> Iterator[str]:
        """A transaction that had ended when another one of the same id began comes first in each partition."""
        for place in self._offsets:
            last: tuple[int, SentTransaction] | None = None
            for transaction in sorted(transactions, key=lambda each: each.begun_s):
                offsets = [self._offset(place, value) for value in transaction.values.get(place, ())]
                present = [offset for offset in offsets if offset is not None]
                if not present or transaction.is_excused:
                    continue
                if last is not None and self._end_s(last[1]) <= transaction.begun_s and last[0] > min(present):
                    yield f"{transaction.name} comes before the {last[1].name} in {_named(place)}"
                last = max(present), transaction

    def _end_s(self, transaction: SentTransaction) -> float:
        """When the transaction was over at the latest: a new session ends it."""
        return min(transaction.ended_s, self._history.next_session_s(transaction.session))

    def _found(self, transaction: SentTransaction) -> list[tuple[Place, bytes]]:
        return [
            (place, value)
            for place, values in transaction.values.items()
            for value in values
            if self._offset(place, value) is not None
        ]

    def _offset(self, place: Place, value: bytes) -> int | None:
        return self._offsets.get(place, {}).get(value)


def _named(place: Place) -> str:
    return f"{place[0]}-{place[1]}"
