"""A group of appends that are written to a log in one write, with the result of each. Plain data."""

from __future__ import annotations

from ...protocol.errors import KafkaError, KafkaStorageError
from ..log_config import LogConfig
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_state import EndMarker
from ..segment.segment import Segment
from .log_append import LogAppendInfo, appended

_PENDING = KafkaStorageError("not written yet")


class AppendGroup:
    """`results` has one entry for each append, in order. An entry is set at once, or when the group is written."""

    def __init__(self) -> None:
        self.results: list[LogAppendInfo | KafkaError] = []
        self._members: list[tuple[int, PreparedAppend]] = []  # with the index of its result
        self._size_bytes = 0
        self._producer_ids: set[int] = set()

    @property
    def is_empty(self) -> bool:
        return not self._members

    @property
    def members(self) -> list[PreparedAppend]:
        """The appends to write, in order."""
        return [prepared for _, prepared in self._members]

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

    def add(self, prepared: PreparedAppend) -> None:
        """Add an append. `written` or `failed` sets its result."""
        self._members.append((len(self.results), prepared))
        self.results.append(_PENDING)
        self._size_bytes += prepared.size_bytes
        self._producer_ids.update(update.producer_id for update in prepared.producers)

    def settle(self, result: LogAppendInfo | KafkaError) -> None:
        """Set the result of an append that is not written at all."""
        self.results.append(result)

    def written(self, log_start_offset: int) -> None:
        """Set the results of all members, which are in the log now, and start a new group."""
        for number, prepared in self._members:
            self.results[number] = appended(prepared, log_start_offset)
        self._clear()

    def failed(self, error: KafkaError) -> None:
        """Set `error` as the result of all members, and start a new group."""
        for number, _ in self._members:
            self.results[number] = error
        self._clear()

    def _clear(self) -> None:
        self._members = []
        self._size_bytes = 0
        self._producer_ids.clear()
