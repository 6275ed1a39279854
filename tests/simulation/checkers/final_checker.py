"""Checks the guarantees given to each producer and consumer at the end of a run, class by class.

A lost record is only counted if its partition has an excuse for the loss (see `tree_checker.Excuse`).
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from pybroker.storage.log.log import Log
from simulation.checkers.history import IN_SEQUENCE, Acknowledged, Guarantee, History, Outcome, Place, Read, Sent
from simulation.checkers.tree_checker import TreeChecker

__all__ = ["EXCUSED", "EXCUSED_AND_LOST", "FinalChecker", "Replica", "replica_of"]

EXCUSED = "excused partitions"
EXCUSED_AND_LOST = "excused partitions that lost something"


@dataclass(frozen=True)
class Replica:
    """One broker's replica of a partition: values by offset."""

    log_start_offset: int
    records: Mapping[int, bytes]


class FinalChecker:
    """Judges a finished run by its history and the final logs.

    `logs`: the replicas of each partition by broker. `holders`: the brokers that have a log of each topic, even if
    the tree does not list it.
    """

    def __init__(
        self,
        history: History,
        tree: TreeChecker,
        logs: Mapping[Place, Mapping[int, Replica]],
        holders: Mapping[str, Sequence[int]],
        stable_ends: Mapping[Place, int],
    ) -> None:
        """`stable_ends`: the offset up to which read_committed consumers can read."""
        self._history = history
        self._holders = holders
        self._stable_ends = stable_ends
        self._tree = tree
        self._logs = logs
        self._starts = {
            place: max(replica.log_start_offset for replica in replicas.values()) for place, replicas in logs.items()
        }
        """The offset from which all replicas have their records."""
        self.counts: Counter[str] = Counter()

    def violations(self) -> Iterator[str]:
        for place, replicas in self._logs.items():
            yield from self._compare_replicas(place, replicas)
            yield from self._check_start(place)
            self._count_excuses(place)
        yield from self._check_topics()
        sent: dict[Place, list[Sent]] = {}
        for each in self._history.sent:
            sent.setdefault(each.place, []).append(each)
        for place, batches in sent.items():
            if place in self._logs:
                yield from self._check_sent(place, batches)
        yield from self._check_transactions()
        for place, read in self._history.read.items():
            if place in self._logs:
                yield from self._check_read(place, read)
        for suspicion in self._history.suspicions:
            may_be = self._tree.may_be_lacking if suspicion.is_refusal else self._tree.may_be_lost
            if not may_be(suspicion.place, suspicion.lost):
                yield f"{_named(suspicion.place)}: {suspicion.what}"

    def _count_excuses(self, place: Place) -> None:
        excuses = self._tree.excuses(place)
        self.counts["partitions"] += 1
        self.counts[EXCUSED] += bool(excuses)
        for reason in dict.fromkeys(each.reason for each in excuses):
            self.counts[f"{EXCUSED}: {reason.value}"] += 1
        for reason in dict.fromkeys(each.reason for each in excuses if each.has_lost):
            self.counts[f"{EXCUSED_AND_LOST}: {reason.value}"] += 1
        self.counts[EXCUSED_AND_LOST] += any(each.has_lost for each in excuses)

    def _check_topics(self) -> Iterator[str]:
        """Created topics exist, and deleted topics do not."""
        there = dict.fromkeys(topic for topic, _ in self._tree.partitions)
        for topic, is_wanted in self._history.topics.items():
            self.counts[f"topics: {'deleted' if is_wanted is False else 'kept' if is_wanted else 'not known'}"] += 1
            if is_wanted and topic not in there:
                yield f"{topic} is gone, and nobody has deleted it"
            if is_wanted is False and (topic in there or topic in self._holders):
                yield f"{topic} was deleted, and brokers {self._holders.get(topic, [])} have it"
        used = dict.fromkeys(sent.place for sent in self._history.sent) | dict.fromkeys(self._history.read)
        for place in used:
            if place not in self._logs and self._history.topics.get(place[0]) is not False:
                yield f"{_named(place)} is gone, and nobody has deleted it"

    def _compare_replicas(self, place: Place, replicas: Mapping[int, Replica]) -> Iterator[str]:
        """All replicas are equal in the end, even after unclean elections."""
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
        """Only records that a client or the topic's settings allowed to delete are missing."""
        start = self._starts[place]
        self.counts["partitions that begin later"] += start > 0
        if start > 0 and not self._history.may_be_trimmed(place, start):
            yield f"{_named(place)} begins at offset {start}, asked for was {self._history.deletions.get(place, 0)}"

    def _check_sent(self, place: Place, batches: list[Sent]) -> Iterator[str]:
        records, start = self._records_of(place), self._starts[place]
        copies: dict[bytes, list[int]] = {}
        for offset, value in records.items():
            copies.setdefault(value, []).append(offset)
        last_first: dict[str, tuple[int, Sent]] = {}
        for sent in batches:
            found = [copies.get(value, []) for value in sent.values]
            if sent.guarantee in IN_SEQUENCE and any(len(each) > 1 for each in found):
                yield f"{_told(sent)} is there more than once, at {found}"
            most = max(len(each) for each in found)
            self.counts["batches of which nothing may be there"] += sent.maybe_taken == 0
            if most > sent.maybe_taken:
                yield f"{_told(sent)} is there {most} times: of {sent.attempts} attempts {sent.maybe_taken} may be"
            if sent.outcome is not Outcome.ACKNOWLEDGED or sent.guarantee is Guarantee.NONE:
                continue
            is_there = (
                all(records.get(sent.base_offset + index) == value for index, value in enumerate(sent.values))
                or sent.base_offset < start
            )
            self.counts[f"{sent.guarantee.value}: {'kept' if is_there else 'lost'}"] += 1
            if not is_there:
                yield from self._check_lost(place, sent)
            elif sent.base_offset >= start and sent.guarantee is not Guarantee.LEADER:
                first = min(found[0])
                before = last_first.get(sent.producer)
                if before is not None and before[0] >= first:
                    yield f"{_told(sent)} comes before {_told(before[1])}"
                last_first[sent.producer] = (first, sent)

    def _check_lost(self, place: Place, sent: Sent) -> Iterator[str]:
        if self._tree.may_be_lost(place, sent.acknowledged):
            return
        if sent.guarantee is not Guarantee.LEADER:
            yield f"{_told(sent)} is lost"
        elif not self._tree.partitions[place].may_be_lost_with(sent.leader_id, sent.asked_s):
            yield f"{_told(sent)} is lost, and its leader was never another"

    def _check_transactions(self) -> Iterator[str]:
        """Every read_committed consumer has read all records of committed transactions. (Records of other
        transactions are reported by the consumer itself.)
        """
        for transaction in self._history.ended_transactions:
            for consumer in self._history.committed_readers if transaction.is_committed else ():
                read = transaction.read.get(consumer, {})
                for sent in transaction.sent:
                    is_whole = sent.base_offset >= self._starts.get(sent.place, 0) and not self._is_trimmed(sent.place)
                    missing = [value for value in sent.values if value not in read]
                    if missing and is_whole and not self._may_be_unread(sent, transaction.ends[sent.place]):
                        yield f"{_told(sent)} is committed, and {consumer} has not read {missing[0]!r}"

    def _may_be_unread(self, sent: Sent, end: Acknowledged) -> bool:
        """Whether a consumer may lack the batch: it, its transaction's end or an earlier end is lost, or the loss
        was not visible to the consumer.
        """
        return (
            sent.last_offset >= self._stable_ends.get(sent.place, sys.maxsize)
            or self._tree.may_be_lost(sent.place, sent.acknowledged)
            or self._tree.may_be_lost(sent.place, end)
            or any(each.may_be_skipped(sent.base_offset) for each in self._tree.excuses(sent.place))
        )

    def _is_trimmed(self, place: Place) -> bool:
        return place in self._history.deletions or place[0] in self._history.kept_to_size

    def _records_of(self, place: Place) -> Mapping[int, bytes]:
        return next(iter(self._logs[place].values())).records

    def _check_read(self, place: Place, read: Mapping[int, Read]) -> Iterator[str]:
        records, start = self._records_of(place), self._starts[place]
        for offset, each in read.items():
            if offset < start or records.get(offset) == each.value:
                continue
            if not self._tree.may_be_lost(place, Acknowledged(each.known_epoch, offset, each.read_s)):
                yield f"{_named(place)}: {each.value!r} was read at offset {offset}, where {records.get(offset)!r} is"


def replica_of(log: Log) -> Replica:
    """The records of a log without transaction markers."""
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
