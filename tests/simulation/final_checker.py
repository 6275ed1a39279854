"""Checks at the end of a run, class by class: what was promised to each producer and consumer must have been kept.

What was excused (see `tree_checker`) is counted, and not looked at any further.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from pybroker.storage.log import Log
from simulation.history import Guarantee, History, Outcome, Place, Sent
from simulation.tree_checker import TreeChecker

__all__ = ["FinalChecker", "Replica", "replica_of"]

_AT_MOST_ONCE = (Guarantee.ONCE, Guarantee.TRANSACTION)


@dataclass(frozen=True)
class Replica:
    """What one broker has of a partition: values by offset."""

    log_start_offset: int
    records: Mapping[int, bytes]


class FinalChecker:
    """`logs` are all replicas of each partition, by broker, when everything is at rest."""

    def __init__(self, history: History, tree: TreeChecker, logs: Mapping[Place, Mapping[int, Replica]]) -> None:
        self._history = history
        self._tree = tree
        self._logs = logs
        self._starts = {
            place: max(replica.log_start_offset for replica in replicas.values()) for place, replicas in logs.items()
        }
        """From where on all replicas have their records."""
        self.counts: Counter[str] = Counter()

    def violations(self) -> Iterator[str]:
        for place, replicas in self._logs.items():
            yield from self._compare_replicas(place, replicas)
            yield from self._check_start(place)
            self.counts["partitions"] += 1
            self.counts["excused partitions"] += bool(self._tree.excuses(place))
        sent: dict[Place, list[Sent]] = {}
        for each in self._history.sent:
            sent.setdefault(each.place, []).append(each)
        for place, batches in sent.items():
            if place in self._logs:
                yield from self._check_sent(place, batches)
        yield from self._check_transactions()
        for place, read in self._history.read.items():
            if place in self._logs and not self._tree.excuses(place):
                yield from self._check_read(place, read)
        for place, suspicion in self._history.suspicions:
            if place[0].startswith("__"):
                if not any(record.excuses for other, record in self._tree.partitions.items() if other[0] == place[0]):
                    yield f"{place[0]}: {suspicion}"
            elif place in self._logs and not self._tree.excuses(place):
                yield f"{_named(place)}: {suspicion}"

    def _compare_replicas(self, place: Place, replicas: Mapping[int, Replica]) -> Iterator[str]:
        """After every election, however unclean, replicas agree in the end."""
        start = self._starts[place]
        (first_id, first), *others = (
            (broker_id, {offset: value for offset, value in replica.records.items() if offset >= start})
            for broker_id, replica in replicas.items()
        )
        for broker_id, records in others:
            if records != first:
                offsets = sorted(records.keys() | first.keys())
                offset = next(each for each in offsets if records.get(each) != first.get(each))
                yield (
                    f"{_named(place)}: at offset {offset} broker {first_id} has {first.get(offset)!r}, "
                    f"broker {broker_id} has {records.get(offset)!r}"
                )

    def _check_start(self, place: Place) -> Iterator[str]:
        """Nothing is deleted but what somebody wanted to have deleted."""
        start = self._starts[place]
        self.counts["partitions that begin later"] += start > 0
        if start > 0 and not self._history.may_be_trimmed(place, start) and not self._tree.excuses(place):
            yield f"{_named(place)} begins at offset {start}, asked for was {self._history.deletions.get(place, 0)}"

    def _check_sent(self, place: Place, batches: list[Sent]) -> Iterator[str]:
        records, start = self._records_of(place), self._starts[place]
        copies: dict[bytes, list[int]] = {}
        for offset, value in records.items():
            copies.setdefault(value, []).append(offset)
        excused = bool(self._tree.excuses(place))
        last_first: dict[str, tuple[int, Sent]] = {}
        for sent in batches:
            found = [copies.get(value, []) for value in sent.values]
            if sent.guarantee in _AT_MOST_ONCE and not excused and any(len(each) > 1 for each in found):
                yield f"{_told(sent)} is there more than once, at {found}"
            if sent.outcome is not Outcome.ACKNOWLEDGED or sent.guarantee is Guarantee.NONE:
                continue
            is_there = (
                all(records.get(sent.base_offset + index) == value for index, value in enumerate(sent.values))
                or sent.base_offset < start
            )
            self.counts[f"{sent.guarantee.value}: {'kept' if is_there else 'lost'}"] += 1
            if excused:
                continue
            if sent.guarantee is Guarantee.LEADER:
                if not is_there and not self._leader_changed_after(place, sent):
                    yield f"{_told(sent)} is lost, and its leader was never another"
            elif not is_there:
                yield f"{_told(sent)} is lost"
            elif sent.base_offset >= start:
                first = min(found[0])
                before = last_first.get(sent.producer)
                if before is not None and before[0] >= first:
                    yield f"{_told(sent)} comes before {_told(before[1])}"
                last_first[sent.producer] = (first, sent)

    def _check_transactions(self) -> Iterator[str]:
        """All of what is committed has been read by whoever reads only that. (What is not, is noticed when it is.)"""
        for transaction in self._history.ended_transactions:
            for consumer in self._history.committed_readers if transaction.is_committed else ():
                read = transaction.read.get(consumer, {})
                for sent in transaction.sent:
                    is_whole = sent.base_offset >= self._starts.get(sent.place, 0) and not self._is_trimmed(sent.place)
                    missing = [value for value in sent.values if value not in read]
                    if missing and is_whole and not self._tree.excuses(sent.place):
                        yield f"{_told(sent)} is committed, and {consumer} has not read {missing[0]!r}"

    def _is_trimmed(self, place: Place) -> bool:
        return place in self._history.deletions or place[0] in self._history.kept_to_size

    def _records_of(self, place: Place) -> Mapping[int, bytes]:
        return next(iter(self._logs[place].values())).records

    def _leader_changed_after(self, place: Place, sent: Sent) -> bool:
        """Or before, and the one that acknowledged it had not heard of that: cut off from ZooKeeper alone, it goes on
        answering who has not heard of it either."""
        partition = self._tree.partitions[place]
        return partition.leader != sent.leader_id or any(time_s >= sent.sent_s for time_s, _ in partition.changes)

    def _check_read(self, place: Place, read: Mapping[int, bytes]) -> Iterator[str]:
        records, start = self._records_of(place), self._starts[place]
        for offset, value in read.items():
            if offset >= start and records.get(offset) != value:
                yield f"{_named(place)}: {value!r} was read at offset {offset}, where {records.get(offset)!r} is"


def replica_of(log: Log) -> Replica:
    """What is in a log, but for markers of transactions."""
    return Replica(log.view.log_start_offset, _records_of(log))


def _records_of(log: Log) -> dict[int, bytes]:
    view = log.view
    records: dict[int, bytes] = {}
    offset = view.log_start_offset
    while offset < view.log_end_offset:
        region = view.read(offset, 1 << 30, view.log_end_offset, True, False).region
        batches = list(iter_batches(region.read())) if region is not None else []
        if not batches:
            break
        for batch in batches:
            if batch.is_control:
                continue
            records.update((each.offset, each.value or b"") for each in read_records(batch))
        offset = batches[-1].next_offset
    return {offset: value for offset, value in records.items() if offset >= view.log_start_offset}


def _named(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def _told(sent: Sent) -> str:
    return (
        f"{_named(sent.place)}: {sent.values[0].decode()} and {len(sent.values) - 1} more ({sent.guarantee.value}, "
        f"{sent.outcome.value} at offset {sent.base_offset})"
    )
