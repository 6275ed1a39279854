"""The compaction of one log, as it is told to whoever does it: plain data that goes over a pipe as a line of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..log_config import LogConfig
from ..producers.producer_state import LastRecord
from ..segment.transaction_index import AbortedTransaction


class SourceSegment(NamedTuple):
    """A closed segment; `end_offset` is the base of the one behind it."""

    base_offset: int
    end_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """What the broker's `log.cleaner.*` leave to one compaction. `max_bytes_per_s` counts reads and writes together."""

    map_bytes: int = 128 << 20
    load_factor: float = 0.9
    max_bytes_per_s: float = float("inf")


@dataclass(frozen=True, slots=True)
class CompactionJob:
    """`segments` are all up to the first uncleanable one, those behind the first dirty offset as far as the map of keys
    reaches. `last_records` by producer id; `aborted` are all aborted transactions that the log's indexes know."""

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
        """As much of the log's settings as writing a segment needs."""
        return LogConfig(
            segment_bytes=self.segment_bytes,
            segment_index_bytes=self.segment_index_bytes,
            index_interval_bytes=self.index_interval_bytes,
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> CompactionJob:
        fields: dict[str, Any] = json.loads(line)
        return cls(
            **{
                **fields,
                "segments": tuple(SourceSegment(*each) for each in fields["segments"]),
                "last_records": {int(key): LastRecord(*each) for key, each in fields["last_records"].items()},
                "aborted": tuple(AbortedTransaction(*each) for each in fields["aborted"]),
                "settings": CompactionSettings(**fields["settings"]),
            }
        )


@dataclass(frozen=True, slots=True)
class CleanedGroup:
    """The segments with `sources` as base offsets are compacted into the `.cleaned` files of the first one's name."""

    sources: tuple[int, ...]
    size_bytes: int
    has_transaction_index: bool


@dataclass(slots=True)
class CompactionStatistics:
    """Of one compaction. Bytes and records read are those of the second pass; the first reads the dirty part alone."""

    map_bytes: int = 0
    map_utilization: float = 0.0
    records_read: int = 0
    bytes_read: int = 0
    records_written: int = 0
    bytes_written: int = 0
    map_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CompactionDone:
    """Everything before `end_offset` is compacted."""

    end_offset: int
    statistics: CompactionStatistics


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """`errno` is that of an OSError; 0 says that what is in the log cannot be compacted."""

    reason: str
    errno: int = 0


CompactionReport = CleanedGroup | CompactionDone | CompactionFailed
_REPORTS = {report.__name__: report for report in (CleanedGroup, CompactionDone, CompactionFailed)}


def report_to_json(report: CompactionReport) -> str:
    return json.dumps([type(report).__name__, asdict(report)])


def report_from_json(line: str) -> CompactionReport:
    name, fields = json.loads(line)
    if name == CleanedGroup.__name__:
        fields["sources"] = tuple(fields["sources"])
    elif name == CompactionDone.__name__:
        fields["statistics"] = CompactionStatistics(**fields["statistics"])
    report: CompactionReport = _REPORTS[name](**fields)
    return report
