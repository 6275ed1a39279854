"""Writes the changes of share partitions to ``__share_group_state``, one batch at a time for each share partition.

Changes that come while a batch is being written wait, and their records go together into the next batch. So the state
in memory is always the committed one. Results are given after the records are committed.
"""

from collections.abc import Callable
from functools import partial

from ....base.timers import Scheduler
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.records.builder import build_batch
from ....protocol.records.compression import Codec
from ....protocol.records.walk import Record
from ..append_result import AppendResult, append_error, append_result
from ..internal_log import AppendOutcome, InternalAppend, RecordSink
from .entry import Change, Entry, Result, Round
from .records import encode_record
from .registry import ShareRegistry
from .state import Deletion, Snapshot, StateRecord, state_after
from .write_parts import MAX_BATCHES

__all__ = ["StateWriter"]

_MAX_WAITING = 1_000
"""Changes of one share partition. Its leader's requests come one by one, unless the log is very slow."""
_MAX_RECORDS = 100
"""Records of a batch. It ends earlier when they change more than `MAX_BATCHES` batches of a state."""


class StateWriter:
    """``timeout_ms``: after it waiting changes fail with COORDINATOR_NOT_AVAILABLE, but the write goes on."""

    def __init__(
        self,
        sink: RecordSink,
        registry: ShareRegistry,
        scheduler: Scheduler,
        now_ms: Callable[[], int],
        timeout_ms: int,
    ) -> None:
        self._sink = sink
        self._registry = registry
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._timeout_ms = timeout_ms

    def submit(self, entry: Entry, change: Change) -> None:
        """Carry out the change after those that came before it."""
        if entry.is_out_of_use or entry.is_late or len(entry.waiting) >= _MAX_WAITING:
            change.done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        entry.waiting.append(change)
        if entry.round is None:
            self._begin_round(entry)

    def drop(self, entry: Entry) -> None:
        """Another broker coordinates the share partition now: fail its changes with NOT_COORDINATOR."""
        self._end_use(entry, ErrorCode.NOT_COORDINATOR)

    def _begin_round(self, entry: Entry) -> None:
        state = entry.state
        changes: list[tuple[Change, Result]] = []
        records: list[StateRecord] = []
        batches = 0
        while entry.waiting and len(records) < _MAX_RECORDS and batches < MAX_BATCHES:
            change = entry.waiting.popleft()
            verdict = change.decide(state)
            if isinstance(verdict, ErrorCode):
                changes.append((change, verdict))
                continue
            if verdict is not None:
                records.append(verdict)
                batches += 0 if isinstance(verdict, Deletion) else len(verdict.batches)
                state = state_after(state, verdict)
            changes.append((change, state))
        if not records:
            self._registry.forget_if_empty(entry)
            _answer(changes)
            return
        timer = self._scheduler.call_later(self._timeout_ms / 1000, partial(self._time_out, entry))
        entry.round = Round(changes, records, state, timer)
        self._append(entry, entry.round)

    def _append(self, entry: Entry, written: Round) -> None:
        now_ms = self._now_ms()
        stamped = [
            Record(offset, now_ms, *encode_record(entry.key, record)) for offset, record in enumerate(written.records)
        ]
        batch = build_batch(stamped, base_offset=0, codec=Codec.NONE)
        self._sink.append(InternalAppend(entry.partition, batch), partial(self._end_round, entry, written))

    def _end_round(self, entry: Entry, written: Round, outcome: AppendOutcome) -> None:
        written.timer.cancel()
        result = append_result(outcome)
        if entry.is_out_of_use:
            return
        if result is AppendResult.IN_DOUBT:
            assert isinstance(outcome, KafkaError)
            self._end_use(entry, append_error(outcome.code))
            return
        changes = list(written.changes)
        if result is AppendResult.COMMITTED:
            _note_snapshot(entry, written.records, outcome)
            self._registry.set_state(entry, written.state)
        else:
            assert isinstance(outcome, KafkaError)
            error = append_error(outcome.code)
            changes = [(change, error) for change, _ in changes]
        entry.round = None
        entry.is_late = False
        _answer(changes)
        if entry.waiting and entry.round is None and not entry.is_out_of_use:
            self._begin_round(entry)
        else:
            self._registry.forget_if_empty(entry)

    def _end_use(self, entry: Entry, code: ErrorCode) -> None:
        """Without a reload it is unknown what is stored."""
        entry.is_out_of_use = True
        if entry.round is not None:
            entry.round.timer.cancel()
        for change in entry.take_changes():
            change.done(code)

    def _time_out(self, entry: Entry) -> None:
        entry.is_late = True
        for change in entry.take_changes():
            change.done(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _note_snapshot(entry: Entry, records: list[StateRecord], outcome: AppendOutcome) -> None:
    """When the offset is not known, the earlier one stays: the records since are kept for longer than needed."""
    if isinstance(outcome, KafkaError):
        return
    for index, record in enumerate(records):
        if isinstance(record, Snapshot):
            entry.snapshot_offset = outcome + index


def _answer(changes: list[tuple[Change, Result]]) -> None:
    for change, result in changes:
        change.done(result)
