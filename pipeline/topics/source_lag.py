"""How far a query is behind its source: unread records, and the age of the oldest of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ..options.read_options import ReadOptions
from .offset_ranges import OffsetRange
from .range_reader import RangeReader
from .source_offsets import SourceOffsets

_MOST_ASKED = 20
_PATIENCE_MS = 5_000


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
    unread = {at: end - begins[at] for at, end in latest.items() if end > begins.get(at, end)}
    most = sorted(unread, key=lambda at: (-unread[at], at))[:_MOST_ASKED]
    times = [_first_ms(options, OffsetRange(at, begins[at], latest[at])) for at in most]
    known = [time for time in times if time is not None]
    return Lag(sum(unread.values()), max((now_ms - min(known)) / 1000, 0.0) if known else None)


def _first_ms(options: ReadOptions, offsets: OffsetRange) -> float | None:
    """Returns the timestamp of the first record; None if it can't be read now."""
    reader = RangeReader(
        offsets,
        replace(options.settings, fetch_bytes=1),  # a broker sends a whole batch nevertheless
        with_headers=False,
        fail_on_data_loss=False,
        no_progress_ms=_PATIENCE_MS,
    )
    try:
        for gathered in reader.read():
            if gathered.rows:
                return float(gathered.timestamp[0].cast(pa.int64()).as_py()) / 1000
    except (KafkaError, OSError):
        return None
    return None
