"""The last offset of each key in the dirty part of a log, by which compaction decides. Pure.

**How.** Keys start in a dict, which is about five times as fast as the alternative and takes up to 160 bytes a key.
Keys longer than 30 bytes are replaced by a digest of 31 bytes. If the keys do not fit, a table of 24 bytes a key takes
over (`key_table`, Kafka's SkimpyOffsetMap). Both keep to the same memory.
"""

from __future__ import annotations

from ...protocol.records.batch import RecordBatch
from ...protocol.records.compaction_walk import KeyOffsets, map_key, note_keys
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from ...protocol.records.record import plain_payload, read_records
from .key_table import KeyTable

ENTRY_BYTES = 160
"""Bytes of one dict entry at most: 64 for the key object, 32 for the offset object, 60 in the dict's arrays."""


class OffsetMap:
    """`offsets` by key, up to and including `latest_offset`. Holds as many keys as fit into `memory_bytes`."""

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._memory_bytes = memory_bytes
        self._load_factor = load_factor
        self.limit = max(int(memory_bytes // ENTRY_BYTES * load_factor), 1)
        self.offsets: KeyOffsets = {}
        self.latest_offset = -1

    def restart_as_table(self) -> None:
        """Forget everything and switch to the table, which holds more keys in the same memory."""
        self.offsets = {}  # freed before the table is allocated
        table = KeyTable(self._memory_bytes, self._load_factor)
        self.offsets, self.limit = table, table.limit
        self.latest_offset = -1

    @property
    def utilization(self) -> float:
        return len(self.offsets) / self.limit

    def add(self, batch: RecordBatch, start_offset: int) -> bool:
        """Add the records of a batch from `start_offset` on; False when the map is full before its end.

        Raises as `read_records` does.
        """
        if batch.magic >= 2:
            payload = plain_payload(batch, DEFAULT_MAX_DECOMPRESSED_BYTES)
            full_at = note_keys(payload, batch.record_count, batch.base_offset, start_offset, self.limit, self.offsets)
            if full_at is not None:
                self.reach(full_at)
                return False
        else:
            for record in read_records(batch):
                if record.key is not None and record.offset >= start_offset:
                    if len(self.offsets) >= self.limit:
                        return False
                    self.offsets[map_key(record.key)] = self.latest_offset = record.offset
        self.reach(batch.last_offset)
        return True

    def reach(self, offset: int) -> None:
        """Note that all offsets up to `offset` were read."""
        self.latest_offset = max(self.latest_offset, offset)
