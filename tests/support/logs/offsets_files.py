"""Reads and writes ``__consumer_offsets`` in a log directory."""

from pathlib import Path

from pybroker.broker.coordinator.group.offset_batch import build_records
from pybroker.broker.coordinator.group.record_keys import OffsetKey
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, read_records
from support.logs.offset_keys import GroupKey, UnknownKey, decode_key
from support.record_bytes import set_base_offset

__all__ = ["OffsetsFiles"]


class OffsetsFiles:
    """Partition 0 of the topic in this log directory."""

    def __init__(self, log_directory: Path) -> None:
        self._log_directory = log_directory

    @property
    def segments(self) -> list[Path]:
        return sorted((self._log_directory / "__consumer_offsets-0").glob("*.log"))

    def records(self) -> list[Record]:
        """All records in the files now. The last batch of a running broker may be missing."""
        return [record for batch in self._batches() for record in read_records(batch)]

    def tombstones(self) -> list[OffsetKey | GroupKey | UnknownKey]:
        return [decode_key(record.key) for record in self.records() if record.value is None and record.key is not None]

    def append(self, key: bytes, value: bytes, now_ms: int) -> None:
        """Add a record as if the broker had written it last and then died."""
        batch = bytearray(build_records([(key, value)], now_ms, Codec.NONE, None))
        set_base_offset(batch, 0, self._batches()[-1].next_offset)
        with self.segments[-1].open("ab") as file:
            file.write(batch)
        (self._log_directory / ".kafka_cleanshutdown").unlink(missing_ok=True)

    def _batches(self) -> list[RecordBatch]:
        return [batch for segment in self.segments for batch in iter_batches(segment.read_bytes())]
