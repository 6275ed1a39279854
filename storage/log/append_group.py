"""Appends that go into a log in one write, and the results of all that were asked for together. Plain data."""

from __future__ import annotations

from ...protocol.errors import KafkaError, KafkaStorageError
from ..log_config import LogConfig
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_state import EndMarker
from ..segment.segment import Segment
from .log_append import LogAppendInfo, appended

_PENDING = KafkaStorageError("not written yet")


class AppendGroup:
    """`results` has an entry for each append, in order: settled at once, or when the group it is in was written."""

    def __init__(self) -> None:
        self.results: list[LogAppendInfo | KafkaError] = []
        self._members: list[tuple[int, PreparedAppend]] = []  # with the number of the result
        self._size_bytes = 0
        self._producer_ids: set[int] = set()

    @property
    def is_empty(self) -> bool:
        return not self._members

    @property
    def members(self) -> list[PreparedAppend]:
        """What is to be written, in order."""
        return [prepared for _, prepared in self._members]

    def next_offset(self, log_end_offset: int) -> int:
        """The offset behind the group, which is to be written at `log_end_offset`."""
        return self._members[-1][1].last_offset + 1 if self._members else log_end_offset

    def ends_before(
        self, prepared: PreparedAppend, latest_epoch: int, active: Segment, config: LogConfig, now_ms: int
    ) -> bool:
        """Whether `prepared` has to see the effect of what is in the group, or does not fit behind it.

        The first append of a segment goes alone: its timestamp tells how long the segment may take more.
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
        """Its result comes with `written` or `failed`."""
        self._members.append((len(self.results), prepared))
        self.results.append(_PENDING)
        self._size_bytes += prepared.size_bytes
        self._producer_ids.update(update.producer_id for update in prepared.producers)

    def settle(self, result: LogAppendInfo | KafkaError) -> None:
        """The next append is not written at all."""
        self.results.append(result)

    def written(self, log_start_offset: int) -> None:
        """All members are in the log; a new group begins."""
        for number, prepared in self._members:
            self.results[number] = appended(prepared, log_start_offset)
        self._clear()

    def failed(self, error: KafkaError) -> None:
        """None of the members is in the log; a new group begins."""
        for number, _ in self._members:
            self.results[number] = error
        self._clear()

    def _clear(self) -> None:
        self._members = []
        self._size_bytes = 0
        self._producer_ids.clear()
