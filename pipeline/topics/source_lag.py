"""How far a query is behind its source: unread records, and the age of the oldest of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ...protocol.records.record import read_records
from ..options.read_options import ReadOptions
from .offset_ranges import OffsetRange
from .range_reader import RangeReader
from .source_offsets import SourceOffsets

_MOST_ASKED = 20
_MOST_S = 1.0
"""Time for reading the timestamps of all partitions, while the query waits. Aborted transactions may stand before the
first record, and brokers may be slow. A partition whose timestamp is not found in time is left out."""
_FETCH_BYTES = 1 << 18
_MEASURED_EVERY_S = 10.0


class Lag(NamedTuple):
    """`records`: number of unread offsets. `seconds`: age of the oldest unread record. None: it is not known."""

    records: int | None
    seconds: float | None

    @property
    def words(self) -> str:
        """Returns the end of a progress line."""
        if self.records is None:
            return "lag unknown"
        age = "" if self.records == 0 or self.seconds is None else f", {self.seconds:,.0f} s"
        return f"{self.records:,} behind{age}"


def measure_lag(options: ReadOptions, ends: Mapping[TopicPartition, int], now_ms: float) -> Lag:
    """Asks the cluster what is unread behind `ends`. `now_ms`: wall clock. A failure leaves the lag unknown.

    Timestamps are read in the partitions with most unread records only, so that a report stays cheap.
    """
    try:
        with SourceOffsets(replace(options, fetch_retries=1)) as offsets:
            latest = offsets.latest({})
            begins = {**offsets.earliest(latest.keys() - ends.keys()), **ends}
    except (KafkaError, OSError):
        return Lag(None, None)
    return _lag(options, begins, latest, now_ms)


class LagGauge:
    """The lag of a running query. Its age is measured once in ten seconds, because that reads records."""

    def __init__(self, options: ReadOptions, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._options = replace(options, fetch_retries=1)
        self._clock = clock
        self._next = clock()
        self._seconds: float | None = None

    def seconds(self, reached: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> float | None:
        """Returns the age of the oldest record between these offsets, or None. A partition that has not been read yet
        counts when its first batch ends.
        """
        if self._clock() >= self._next:
            self._seconds = _lag(self._options, reached, latest, time.time() * 1000).seconds
            self._next = self._clock() + _MEASURED_EVERY_S
        return self._seconds


def _lag(
    options: ReadOptions, begins: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int], now_ms: float
) -> Lag:
    unread = {at: end - begins[at] for at, end in latest.items() if end > begins.get(at, end)}
    most = sorted(unread, key=lambda at: (-unread[at], at))[:_MOST_ASKED]
    deadline_s = time.monotonic() + _MOST_S
    times = [_first_ms(options, OffsetRange(at, begins[at], latest[at]), deadline_s) for at in most]
    known = [ms for ms in times if ms is not None]
    return Lag(sum(unread.values()), max((now_ms - min(known)) / 1000, 0.0) if known else None)


def _first_ms(options: ReadOptions, offsets: OffsetRange, deadline_s: float) -> float | None:
    """Returns the timestamp of the first record; None if it can't be read until the deadline, a time.monotonic().

    It reads one record in plain Python: numba would take a hundred MiB in the driver and in its planning process.
    """
    left_ms = int((deadline_s - time.monotonic()) * 1000)
    if left_ms <= 0:
        return None
    settings = options.settings
    reader = RangeReader(
        offsets,
        replace(
            settings,
            fetch_bytes=min(settings.fetch_bytes, _FETCH_BYTES),
            fetch_wait_ms=min(settings.fetch_wait_ms, left_ms),
            connect_timeout_ms=min(settings.connect_timeout_ms, left_ms),
            request_timeout_ms=min(settings.request_timeout_ms, left_ms),
        ),
        with_headers=False,
        fail_on_data_loss=False,
        no_progress_ms=left_ms,
        deadline_s=deadline_s,
    )
    try:
        for batch in reader.batches():
            for record in () if batch.is_control else read_records(batch):
                if record.offset >= offsets.start:
                    return float(record.timestamp_ms)
    except (KafkaError, OSError):
        return None
    return None
