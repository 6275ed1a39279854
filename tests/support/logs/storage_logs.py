"""Logs in a temporary directory, batches to append, and readers of their contents."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from pybroker.base.buffer import Buffer
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.builder import BatchFields
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.storage.files.files import Files
from pybroker.storage.log.append_validation import prepare_leader_append
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_host import LogHost, StandaloneHost
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.recovery.log_loader import load_log
from pybroker.storage.recovery.log_recovery import StartingPoint

NOW_MS = 1_700_000_000_000
TP = TopicPartition("topic", 0)
CLEAN = StartingPoint(clean_stop=True)
CRASHED = StartingPoint()


def batch_of(
    *values: bytes | str | None, timestamp_ms: int = NOW_MS, key: bytes | None = b"k", **fields: object
) -> bytearray:
    """A batch as a producer sends it: base offset 0, a record for each value, timestamps one ms apart."""
    records = [
        Record(number, timestamp_ms + number, key, value.encode() if isinstance(value, str) else value)
        for number, value in enumerate(values)
    ]
    return bytearray(build_batch(records, **BatchFields(**fields)))  # type: ignore[typeddict-item]


def open_log(
    directory: Path,
    config: LogConfig | None = None,
    start: StartingPoint = CLEAN,
    *,
    files: Files | None = None,
    host: LogHost | None = None,
    topic_partition: TopicPartition = TP,
    now_ms: int = NOW_MS,
) -> Log:
    files = files if files is not None else Files()
    host = host if host is not None else StandaloneHost(files)
    path = directory / str(topic_partition)
    return load_log(files, host, str(path), topic_partition, config or LogConfig(), now_ms, start)


def append_as_leader(
    log: Log, records: Buffer, leader_epoch: int, now_ms: int, origin: AppendOrigin = AppendOrigin.CLIENT
) -> LogAppendInfo:
    """Check `records`, assign offsets and `leader_epoch`, and append them. The given bytes may be changed."""
    return log.append(LeaderAppend(records, leader_epoch, now_ms, origin))


def as_leader_stores(
    records: bytes | bytearray,
    config: LogConfig | None = None,
    *,
    next_offset: int = 0,
    leader_epoch: int = -1,
    now_ms: int = NOW_MS,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> bytes:
    """Return the bytes that a leader writes for a produced record set; b"" if it has no complete batch."""
    arguments = (config or LogConfig(), next_offset, leader_epoch, now_ms, origin)
    prepared = prepare_leader_append(bytearray(records), TP, *arguments)
    return b"" if prepared is None else bytes(prepared.data)


def codec_setting(codec: Codec) -> str:
    """The value of `compression.type` with which a leader stores records in this codec."""
    return "uncompressed" if codec is Codec.NONE else codec.name.lower()


def close_cleanly(log: Log, now_ms: int = NOW_MS) -> StartingPoint:
    """Stop as a broker does; return the resulting checkpoints."""
    log.flush(now_ms)
    log.close()
    return StartingPoint(log.log_start_offset, log.recovery_point, clean_stop=True)


def crash_copy(log: Log, target: Path) -> StartingPoint:
    """Copy the files as after a kill; return the last checkpoints."""
    shutil.copytree(log.directory, target / str(log.topic_partition))
    return StartingPoint(log.log_start_offset, log.recovery_point, clean_stop=False)


def batches_in(data: bytes) -> Iterator[RecordBatch]:
    return iter_batches(data)


def records_from(log: Log, start_offset: int | None = None, max_bytes: int = 1 << 20) -> list[tuple[int, bytes | None]]:
    """(offset, value) of every record from an offset on, read in fetches of at most `max_bytes` as a consumer does."""
    found: list[tuple[int, bytes | None]] = []
    offset = log.log_start_offset if start_offset is None else start_offset
    while offset < log.log_end_offset:
        result = log.read(offset, max_bytes, log.log_end_offset, min_one_batch=True)
        if result.region is None:
            break
        before = offset
        for batch in iter_batches(result.region.read()):
            found.extend((record.offset, record.value) for record in read_records(batch) if record.offset >= offset)
            offset = max(offset, batch.next_offset)
        assert offset > before, f"{log} answers a fetch from {offset} with {result}"
    return found
