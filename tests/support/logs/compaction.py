"""Compacts a single log in this process and reads its contents afterwards."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.record import Record, read_records
from pybroker.storage.compaction.compaction_choice import Candidate, DirtySegment, assess
from pybroker.storage.compaction.compaction_job import CleanedGroup, CompactionDone, CompactionReport
from pybroker.storage.compaction.compaction_job import CompactionSettings as Settings
from pybroker.storage.compaction.compaction_plan import CompactionPlan, plan_compaction
from pybroker.storage.compaction.compaction_swap import swap_in
from pybroker.storage.compaction.segment_cleaner import compact
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.segment.batch_span import read_batches
from support.logs.storage_logs import NOW_MS

__all__ = ["StoredBatch", "assessed", "batches_of", "compact_log", "records_of", "stored_batches"]


class StoredBatch(NamedTuple):
    """Everything in a batch except its checksum and its bytes, which depend on the compressor."""

    magic: int
    base_offset: int
    last_offset: int
    attributes: int
    leader_epoch: int
    base_timestamp: int
    max_timestamp: int
    producer: tuple[int, int, int]
    records: tuple[Record, ...]


def assessed(
    log: Log, checkpoint: int | None = None, *, high_watermark: int | None = None, now_ms: int = NOW_MS
) -> Candidate:
    """The segments of the log that can be compacted."""
    facts = [
        DirtySegment(segment.base_offset, segment.size_bytes, segment.first_timestamp, segment.largest_timestamp())
        for segment in log.segments
    ]
    stable = log.view.last_stable_offset(log.log_end_offset if high_watermark is None else high_watermark)
    candidate, _ = assess(
        log.topic_partition, log.config, facts, checkpoint, log.log_start_offset, log.log_end_offset, stable, now_ms
    )
    return candidate


def compact_log(
    log: Log,
    checkpoint: int | None = None,
    *,
    now_ms: int = NOW_MS,
    settings: Settings | None = None,
    files: Files | None = None,
    between: Callable[[CompactionPlan], None] = lambda plan: None,
) -> int:
    """Compact everything possible from the checkpoint on; return the new checkpoint. `between` is called before each
    swap.
    """
    candidate = assessed(log, checkpoint, now_ms=now_ms)
    if not candidate.cleanable_bytes:  # for instance because a transaction is open
        return candidate.first_dirty_offset
    plan = plan_compaction(log, candidate, settings or Settings(), now_ms)
    end_offset = -1

    def take(report: CompactionReport) -> None:
        nonlocal end_offset
        if isinstance(report, CleanedGroup):
            between(plan)
            assert swap_in(log, plan, report, now_ms)
        elif isinstance(report, CompactionDone):
            end_offset = report.end_offset

    compact(pickle.loads(pickle.dumps(plan.job)), files or Files(), take)
    assert end_offset >= 0
    return end_offset


def records_of(log: Log, start_offset: int | None = None) -> list[Record]:
    """Every record from the log start on, as read by fetches."""
    found: list[Record] = []
    offset = log.log_start_offset if start_offset is None else start_offset
    while offset < log.log_end_offset:
        result = log.read(offset, 1 << 20, log.log_end_offset, min_one_batch=True)
        if result.region is None:
            break
        for batch in batches_of(result.region.read()):
            found.extend(record for record in read_records(batch) if record.offset >= offset)
            offset = max(offset, batch.next_offset)
    return found


def batches_of(data: bytes) -> list[RecordBatch]:
    from pybroker.protocol.records.batch import iter_batches

    return list(iter_batches(data))


def stored_batches(directory: Path) -> list[StoredBatch]:
    """All batches in the `.log` files of a partition's directory, in order."""
    found: list[StoredBatch] = []
    files = Files()
    for path in sorted(directory.glob("*.log")):
        file = files.open(str(path))
        for _, batch in read_batches(file, 0, file.size()):
            assert batch.is_valid_crc()
            found.append(
                StoredBatch(
                    batch.magic,
                    batch.base_offset,
                    batch.last_offset,
                    batch.attributes,
                    batch.partition_leader_epoch,
                    batch.base_timestamp,
                    batch.max_timestamp,
                    (batch.producer_id, batch.producer_epoch, batch.base_sequence),
                    tuple(read_records(batch)),
                )
            )
        file.close()
    return found
