"""Several appends to a log in one write where possible: the group of them, with the result of each."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol.errors import KafkaError, KafkaStorageError
from ..log_config import LogConfig
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_state import EndMarker
from ..segment.segment import Segment
from .log import Log
from .log_append import FollowerAppend, LeaderAppend, LogAppendInfo, appended, appended_before, nothing_appended

_PENDING = KafkaStorageError("not written yet")


class AppendGroup:
    """`results` has one entry for each append, in order. An entry is set at once, or when the group is written."""

    def __init__(self) -> None:
        self.results: list[LogAppendInfo | KafkaError] = []
        self._members: list[tuple[int, PreparedAppend, LeaderAppend | FollowerAppend]] = []
        """Each with the index of its result."""
        self._size_bytes = 0
        self._producer_ids: set[int] = set()

    @property
    def is_empty(self) -> bool:
        return not self._members

    @property
    def members(self) -> list[PreparedAppend]:
        """The appends to write, in order."""
        return [prepared for _, prepared, _ in self._members]

    @property
    def appends(self) -> list[LeaderAppend | FollowerAppend]:
        """The members as they were before they were prepared."""
        return [append for _, _, append in self._members]

    def next_offset(self, log_end_offset: int) -> int:
        """Return the offset after the group, which will be written at `log_end_offset`."""
        return self._members[-1][1].last_offset + 1 if self._members else log_end_offset

    def ends_before(
        self, prepared: PreparedAppend, latest_epoch: int, active: Segment, config: LogConfig, now_ms: int
    ) -> bool:
        """Whether the group must be written before `prepared` is added.

        This is so when `prepared` depends on the group's effects or does not fit into the same segment. The first
        append of a segment is written alone, because its timestamp determines when the segment rolls.
        """
        if not self._members:
            return False
        return (
            active.size_bytes == 0
            or len(self._members) >= active.appends_left
            or any(update.producer_id in self._producer_ids for update in prepared.producers)
            or any(isinstance(update, EndMarker) for update in prepared.producers)
            or any(batch.leader_epoch != latest_epoch for batch in prepared.batches)
            or active.should_roll(
                config,
                self._size_bytes + prepared.size_bytes,
                prepared.max_timestamp,
                prepared.last_offset,
                now_ms,
            )
        )

    def add(self, prepared: PreparedAppend, append: LeaderAppend | FollowerAppend) -> None:
        """Add an append, `prepared` from `append`. `written` or `failed` sets its result."""
        self._members.append((len(self.results), prepared, append))
        self.results.append(_PENDING)
        self._size_bytes += prepared.size_bytes
        self._producer_ids.update(update.producer_id for update in prepared.producers)

    def settle(self, result: LogAppendInfo | KafkaError) -> None:
        """Set the result of an append that is not written at all."""
        self.results.append(result)

    def written(self, log_start_offset: int) -> None:
        """Set the results of all members, which are in the log now, and start a new group."""
        for number, prepared, _ in self._members:
            self.results[number] = appended(prepared, log_start_offset)
        self._clear()

    def failed(self, error: KafkaError) -> None:
        """Set `error` as the result of all members, and start a new group."""
        for number, _, _ in self._members:
            self.results[number] = error
        self._clear()

    def _clear(self) -> None:
        self._members = []
        self._size_bytes = 0
        self._producer_ids.clear()


def append_together(log: Log, appends: Sequence[LeaderAppend | FollowerAppend]) -> list[LogAppendInfo | KafkaError]:
    """Append several record sets in order; return their results. A refused append does not affect the others."""
    group = AppendGroup()
    for append in appends:
        try:
            _add(log, group, append)
        except KafkaError as refusal:
            log.refused(append, refusal)
            group.settle(refusal)
    if not group.is_empty:
        _write(log, group, appends[-1].now_ms)
    return group.results


def _add(log: Log, group: AppendGroup, append: LeaderAppend | FollowerAppend) -> None:
    """Add an append to the group. When it cannot be part of the group, the group is written first."""
    prepared = log.prepare(append, group.next_offset(log.view.log_end_offset))
    if prepared is None:
        group.settle(nothing_appended(log.view.log_start_offset))
        return
    latest_epoch, active = log.leader_epochs.latest_epoch, log.view.segments[-1]
    if group.ends_before(prepared, latest_epoch, active, log.config, append.now_ms):
        error = _write(log, group, append.now_ms)
        if error is not None:  # this append's offsets follow records that were not written
            raise error
    known = log.check_producers(prepared, append) if prepared.producers else None
    if known is not None:
        group.settle(appended_before(known, prepared.size_bytes, log.view.log_start_offset))
        return
    if group.is_empty:  # otherwise `ends_before` has checked that it fits
        log.begin(prepared)
        if log.needs_roll(prepared, append.now_ms):
            log.roll_for(prepared, append.now_ms)
    group.add(prepared, append)


def _write(log: Log, group: AppendGroup, now_ms: int) -> KafkaError | None:
    """Write the group. Return the error when the write failed; then every append of the group has failed."""
    try:
        log.write(group.members, now_ms)
    except KafkaError as error:
        for append in group.appends:
            log.refused(append, error)
        group.failed(error)
        return error
    group.written(log.view.log_start_offset)
    return None
