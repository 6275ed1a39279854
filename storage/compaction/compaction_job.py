"""The compaction of one log as plain data: the job that the cleaner is given, and its reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...base.frozen import frozen
from ..log_config import LogConfig
from ..producers.producer_state import LastRecord
from ..segment.transaction_index import AbortedTransaction


class SourceSegment(NamedTuple):
    """A closed segment; `end_offset` is the base of the one behind it."""

    base_offset: int
    end_offset: int
    size_bytes: int


@frozen
class CompactionSettings:
    """From the broker's `log.cleaner.*`, for one compaction. `max_bytes_per_s` counts reads and writes together."""

    map_bytes: int = 128 << 20
    load_factor: float = 0.9
    max_bytes_per_s: float = float("inf")


@frozen
class CompactionJob:
    """`segments` end before the first uncleanable one and where the map of keys is full. `last_records` by producer id;
    `aborted` are all aborted transactions in the log's indexes."""

    directory: str
    segments: tuple[SourceSegment, ...]
    first_dirty_offset: int
    now_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    delete_retention_ms: int
    last_records: dict[int, LastRecord]
    aborted: tuple[AbortedTransaction, ...]
    settings: CompactionSettings = CompactionSettings()

    @property
    def config(self) -> LogConfig:
        """The settings of the log that writing a segment needs."""
        return LogConfig(
            segment_bytes=self.segment_bytes,
            segment_index_bytes=self.segment_index_bytes,
            index_interval_bytes=self.index_interval_bytes,
        )


@frozen
class CleanedGroup:
    """The segments with base offsets `sources` are compacted into `.cleaned` files named by the first of them."""

    sources: tuple[int, ...]
    size_bytes: int
    has_transaction_index: bool


@dataclass(slots=True)
class CompactionStatistics:
    """Statistics of one compaction. Bytes and records read count the second pass; the first pass reads only the dirty
    part."""

    map_bytes: int = 0
    map_utilization: float = 0.0
    records_read: int = 0
    bytes_read: int = 0
    records_written: int = 0
    bytes_written: int = 0
    map_s: float = 0.0
    total_s: float = 0.0


@frozen
class CompactionDone:
    """Everything before `end_offset` is compacted."""

    end_offset: int
    statistics: CompactionStatistics


@frozen
class CompactionFailed:
    """`errno` is that of an OSError; 0 means that the log's contents cannot be compacted."""

    reason: str
    errno: int = 0


CompactionReport = CleanedGroup | CompactionDone | CompactionFailed
