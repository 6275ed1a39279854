"""Checks ``__transaction_state``, and the end markers of partitions against the decisions in it.

The table of legal moves is the checker's own: it must not trust the coordinator's.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from pybroker.broker.coordinator.transaction.picture import NOT_STARTED, TransactionPicture
from pybroker.broker.coordinator.transaction.records import decode_key, decode_value
from pybroker.broker.coordinator.transaction.states import TransactionState
from simulation.checkers.history import Place
from simulation.transactions.log_view import LogBatch, Marker

__all__ = ["Decision", "StateLog", "check_markers", "is_over", "read_state_log"]

_EMPTY, _ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
_PREPARE = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
_FIRST_WITH_BUMPS = 2
_COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_IDLE = (_EMPTY, *_COMPLETE)
_BEFORE = {
    _EMPTY: _IDLE,
    _ONGOING: (*_IDLE, _ONGOING),
    TransactionState.PREPARE_COMMIT: (_ONGOING,),
    TransactionState.PREPARE_ABORT: (_ONGOING,),
    TransactionState.COMPLETE_COMMIT: (TransactionState.PREPARE_COMMIT,),
    TransactionState.COMPLETE_ABORT: (TransactionState.PREPARE_ABORT,),
}


class Decision(NamedTuple):
    """The end of a transaction, as PrepareCommit or PrepareAbort records it. `offset`: in the state partition."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: frozenset[Place]
    offset: int
    leader_epoch: int = -1
    """Under which the state partition's leader wrote it."""


@dataclass
class StateLog:
    """The content of one partition of ``__transaction_state``. `pictures`: the last one of each id."""

    pictures: dict[str, TransactionPicture] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def read_state_log(batches: Iterable[LogBatch]) -> StateLog:
    """``batches``: of the partition, none of which was compacted away."""
    log = StateLog()
    records = [(batch.leader_epoch, *record) for batch in batches for record in batch.records]
    for leader_epoch, offset, key, value in records:
        transactional_id = decode_key(key or b"")
        before = log.pictures.pop(transactional_id, None)
        after = None if value is None else decode_value(value)
        wrong = _fault_of_tombstone(before) if after is None else _fault_of(before, after)
        if wrong:
            log.violations.append(f"__transaction_state, offset {offset}, {transactional_id}: {wrong}")
        if after is None:
            continue
        log.pictures[transactional_id] = after
        if after.state in _PREPARE:
            is_commit = after.state is TransactionState.PREPARE_COMMIT
            partitions = frozenset((each.topic, each.partition) for each in after.partitions)
            producer = after.producer
            log.decisions.append(
                Decision(
                    transactional_id,
                    producer.producer_id,
                    producer.epoch,
                    is_commit,
                    partitions,
                    offset,
                    leader_epoch,
                )
            )
    return log


def is_over(picture: TransactionPicture) -> bool:
    """Whether no transaction of the id is open or ending."""
    return picture.state in _IDLE


def _fault_of_tombstone(before: TransactionPicture | None) -> str:
    return "" if before is not None and is_over(before) else f"a tombstone after {before and before.state.title}"


def _fault_of(before: TransactionPicture | None, after: TransactionPicture) -> str:
    """The rule that two records of an id break; empty if there is none."""
    if before is None:
        return "" if after.state is _EMPTY else f"the first record is {after.state.title}"
    if _is_repeated_completion(before, after):
        return ""
    is_abort_of_nothing = _bumps(after) and after.state is TransactionState.PREPARE_ABORT and before.state in _IDLE
    if before.state not in _BEFORE[after.state] and not is_abort_of_nothing:
        return f"{after.state.title} follows {before.state.title}"
    if not _epoch_may_follow(before, after):
        return f"{after.state.title} has {after.producer}, {before.state.title} had {before.producer}"
    if not _partitions_may_follow(before, after):
        return f"{after.state.title} has partitions {sorted(after.partitions)}, before were {sorted(before.partitions)}"
    if after.state is not _EMPTY and after.timeout_ms != before.timeout_ms:
        return f"the timeout changes from {before.timeout_ms} to {after.timeout_ms} ms"
    is_open = after.state is not _EMPTY
    return f"{after.state.title} has no start" if is_open and after.start_ms == NOT_STARTED else ""


def _is_repeated_completion(before: TransactionPicture, after: TransactionPicture) -> bool:
    """A completion whose append had no clear result is written again."""
    return after.state in _COMPLETE and before._replace(last_update_ms=after.last_update_ms) == after


def _bumps(picture: TransactionPicture) -> bool:
    """Whether the producer gets a new epoch with every transaction."""
    return picture.transaction_version >= _FIRST_WITH_BUMPS


def _epoch_may_follow(before: TransactionPicture, after: TransactionPicture) -> bool:
    """With bumps every end raises the epoch, once."""
    old, new = before.producer, after.producer
    rise = new.epoch - old.epoch
    if new.producer_id != old.producer_id:
        is_next = _bumps(after) and after.state in _COMPLETE and new.producer_id == old.next_producer_id
        return (after.state is _EMPTY or is_next) and new.epoch == 0
    if _bumps(after) and after.state in _PREPARE:
        return rise == 1
    if after.state is TransactionState.PREPARE_ABORT or after.state is _EMPTY:
        return rise in (0, 1)
    return rise == 0


def _partitions_may_follow(before: TransactionPicture, after: TransactionPicture) -> bool:
    if after.state in _IDLE:
        return not after.partitions
    if after.state is _ONGOING and before.state is _ONGOING:
        return after.partitions >= before.partitions
    return after.state is _ONGOING or after.partitions == before.partitions


# -- markers


class _End(NamedTuple):
    producer_epoch: int
    is_commit: bool


def check_markers(place: Place, markers: Sequence[Marker], decisions: Sequence[Decision]) -> Iterator[str]:
    """Each decision has its marker in each of its partitions, and no marker contradicts the decisions.

    A marker may be repeated, because a new coordinator writes all markers again. ``decisions``: of all state
    partitions.
    """
    producer_ids = [*(each.producer_id for each in markers), *(each.producer_id for each in decisions)]
    for producer_id in dict.fromkeys(producer_ids):
        own = [each for each in decisions if each.producer_id == producer_id and place in each.partitions]
        decided = [_End(each.producer_epoch, each.is_commit) for each in own]
        written = [each for each in markers if each.producer_id == producer_id]
        ends = [_End(each.producer_epoch, each.is_commit) for each in written]
        told = f"{place[0]}-{place[1]}, producer {producer_id}:"
        if _runs(ends) != _runs(decided):
            yield f"{told} markers are {_told(ends)}, decisions {_told(decided)}"
            continue
        closing = [_End(each.producer_epoch, each.is_commit) for each in written if each.has_ended]
        for end in dict.fromkeys(decided):
            if ends.count(end) < decided.count(end):
                yield f"{told} {ends.count(end)} of {decided.count(end)} markers {end} are there"
            if closing.count(end) > decided.count(end):
                yield f"{told} {closing.count(end)} transactions end with {end}, {decided.count(end)} are decided"
        if own and written[-1].coordinator_epoch < own[-1].leader_epoch:
            yield f"{told} {written[-1]} is of an earlier coordinator than {own[-1]}"
    yield from _check_coordinator_epochs(place, markers)


def _check_coordinator_epochs(place: Place, markers: Sequence[Marker]) -> Iterator[str]:
    """A coordinator that was replaced writes no marker after its successor."""
    last: dict[int, Marker] = {}
    for marker in markers:
        before = last.get(marker.producer_id)
        if before is not None and marker.coordinator_epoch < before.coordinator_epoch:
            yield f"{place[0]}-{place[1]}: {marker} comes after {before}"
        last[marker.producer_id] = marker


def _runs(ends: Sequence[_End]) -> list[_End]:
    """Without repetitions that follow each other."""
    return [end for end, _ in groupby(ends)]


def _told(ends: Sequence[_End]) -> str:
    return " ".join(f"{'commit' if end.is_commit else 'abort'}@{end.producer_epoch}" for end in ends) or "none"
