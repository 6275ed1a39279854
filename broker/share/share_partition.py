"""A partition as one share group uses it: which records are free, held by a member, or done (KIP-932).

Pure: time is passed in, and changes are returned to be stored. The records before the *start offset* are done; those
from the *end offset* on were never acquired; those between are in flight. At most twice `max_locks` records are in
flight: acquiring begins below ``max_locks``, and may go on to the end of a batch.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ...protocol.errors import InvalidRecordStateError, InvalidRequestError
from ..coordinator.share.state_batch import StateBatch
from .acknowledgements import Acknowledgement, AcknowledgeType
from .acquisition import Acquired, Acquisition, acquire, without
from .record_runs import Change, OffsetSpan, RecordRuns, RecordState, Run
from .stored_runs import add_state, stored_runs

__all__ = ["Progress", "SharePartition"]

_Spans: TypeAlias = Sequence[OffsetSpan]


class Progress(NamedTuple):
    """The state of the whole share partition, stored with each change."""

    start_offset: int
    delivery_complete_count: int
    """Records in flight on whose delivery is complete, or will be when the changes are stored."""


class SharePartition:
    """``max_locks``: group.share.partition.max.record.locks. ``max_deliveries``: how often a record is delivered.

    ``start_offset`` and ``batches``: the stored state. Offsets between and before the batches are available.
    """

    __slots__ = ("_runs", "end_offset", "max_deliveries", "max_locks", "start_offset")

    def __init__(
        self, start_offset: int, batches: Iterable[StateBatch], *, max_locks: int, max_deliveries: int
    ) -> None:
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.max_locks = max_locks
        self.max_deliveries = max_deliveries
        self._runs = RecordRuns()
        for run in stored_runs(start_offset, batches):
            run.state = self._next_state(run, run.state)
            self._runs.append(run)
            self.end_offset = run.last + 1
        self._settle()

    @property
    def in_flight(self) -> int:
        """The number of records from the start offset to the end offset."""
        return self.end_offset - self.start_offset

    @property
    def runs(self) -> Iterable[Run]:
        """The records in flight."""
        return self._runs

    def progress(self) -> Progress:
        complete = sum(run.count for run in self._runs if (run.next_state or run.state).is_terminal)
        return Progress(self.start_offset, complete)

    def next_fetch_offset(self) -> int:
        """The first available record: where the next fetch reads."""
        return next((run.first for run in self._runs if run.is_acquirable), self.end_offset)

    def can_acquire(self, *, may_grow: bool = True) -> bool:
        """Whether a fetch from `next_fetch_offset` could acquire records. ``may_grow``: see `acquire`."""
        return (may_grow and self.in_flight < self.max_locks) or self.next_fetch_offset() < self.end_offset

    def next_deadline_ms(self) -> int | None:
        """When the next lock ends; None: there is none that may end."""
        held = [run.deadline_ms for run in self._runs if run.state is RecordState.ACQUIRED and run.change is None]
        return min(held, default=None)

    def acquire(
        self, wish: Acquisition, fetch_offset: int, read: _Spans, aborted: _Spans = (), *, may_grow: bool = True
    ) -> list[Acquired]:
        """Lock records for a member; returns them, maybe none.

        ``read``: the batches that were read from ``fetch_offset`` on. ``aborted``: those to leave out, in order.
        Unless it ``may_grow``, only records below the end offset are acquired.
        """
        if not read or wish.max_records <= 0 or read[-1].last < self.start_offset:
            return []
        first_read = read[0].first if may_grow else min(read[0].first, self.end_offset)
        self._archive_missing(fetch_offset, first_read)
        acquired, self.end_offset = acquire(self._runs, self, wish, read, may_grow=may_grow)
        if aborted:
            self._archive(aborted, wish.member_id)
            acquired = without(acquired, aborted)
        self._settle()
        return acquired

    def acknowledge(self, member_id: str, said: Sequence[Acknowledgement], deadline_ms: int) -> Change:
        """The change to store, without batches when there is nothing to store. ``deadline_ms``: for renewed locks.

        Raises InvalidRecordStateError or InvalidRequestError, and changes nothing, when the member does not hold all of
        the records. Offsets below the start offset are passed over.
        """
        end = self.start_offset - 1
        for each in said:
            if each.last >= self.end_offset:
                raise InvalidRequestError("the acknowledged offsets go beyond those that were acquired")
            first = max(each.first, self.start_offset)
            if first > each.last:
                continue
            if first <= end:
                raise InvalidRecordStateError("an offset is acknowledged twice")
            end = each.last
            if not all(run.is_held_by(member_id) for run in self._runs.overlapping(first, end)):
                raise InvalidRecordStateError("a record is not acquired by this member")
        changes: list[tuple[Run, RecordState]] = []
        parts = (part for each in said for part in each.parts(self.start_offset))
        for run, type_ in self._runs.pieces(parts):
            if type_ is AcknowledgeType.RENEW:
                run.deadline_ms = deadline_ms
            else:
                changes.append((run, self._next_state(run, type_.state)))
        return self._begin(changes)

    def release(self, member_id: str) -> Change:
        """Give back all that the member holds, because it leaves; returns the change to store."""
        held = [run for run in self._runs if run.is_held_by(member_id)]
        return self._begin([(run, self._next_state(run, RecordState.AVAILABLE)) for run in held])

    def expire(self, now_ms: int) -> Change:
        """Give back the records whose locks have ended, at once; returns the change to store, which nothing waits for.

        Call `finish` for it too.
        """
        batches: list[StateBatch] = []
        for run in self._runs:
            if run.state is RecordState.ACQUIRED and run.change is None and run.deadline_ms <= now_ms:
                run.set_free(self._next_state(run, RecordState.AVAILABLE))
                add_state(batches, run, run.state)
        return Change(tuple(batches))

    def finish(self, change: Change, *, is_stored: bool, now_ms: int) -> None:
        """The change was stored, or could not be. In that case the member holds its records as before, unless the lock
        has ended meanwhile."""
        for run in self._runs:
            if run.change is not change or run.next_state is None:
                continue
            state, run.change, run.next_state = run.next_state, None, None
            if is_stored:
                run.set_free(state)
            elif run.deadline_ms <= now_ms:
                run.set_free(self._next_state(run, RecordState.AVAILABLE))
        self._settle()

    def log_starts_at(self, offset: int) -> None:
        """The log has lost the records below ``offset``."""
        if offset <= self.start_offset:
            return
        self._runs.drop_below(offset)
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset)
        self._settle()

    def _next_state(self, run: Run, state: RecordState) -> RecordState:
        """``state``, but archived in place of available when the records were delivered often enough."""
        if state is RecordState.AVAILABLE and run.delivery_count >= self.max_deliveries:
            return RecordState.ARCHIVED
        return state

    def _begin(self, changes: Sequence[tuple[Run, RecordState]]) -> Change:
        batches: list[StateBatch] = []
        for run, state in changes:
            add_state(batches, run, state)
        change = Change(tuple(batches))
        for run, state in changes:
            run.change, run.next_state = change, state
        return change

    def _archive_missing(self, fetch_offset: int, first_read: int) -> None:
        """Archive the available offsets without records between the fetch offset and the first batch."""
        for run in self._runs.between(max(fetch_offset, self.start_offset), min(first_read, self.end_offset) - 1):
            if run.is_acquirable:
                run.set_free(RecordState.ARCHIVED)
        if fetch_offset <= self.end_offset < first_read:
            self._runs.append(Run(self.end_offset, first_read - 1, RecordState.ARCHIVED))
            self.end_offset = first_read

    def _archive(self, spans: Iterable[OffsetSpan], member_id: str) -> None:
        """Archive the available records of these spans, and those that the member holds."""
        start, last = self.start_offset, self.end_offset - 1
        clipped = ((max(span.first, start), min(span.last, last), None) for span in spans)
        for run, _ in self._runs.pieces(part for part in clipped if part[0] <= part[1]):
            if run.is_acquirable or run.is_held_by(member_id):
                run.set_free(RecordState.ARCHIVED)

    def _settle(self) -> None:
        """Move the start offset behind the settled records at the beginning."""
        self.start_offset = self._runs.drop_settled() or self.start_offset
        self._runs.join()
