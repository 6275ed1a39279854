"""Turns rows into record batches whose sequence numbers count the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocol.records.batch import HEADER_SIZE_V2
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.compression import Codec
from ...protocol.records.walk import Headers

MOST_ROWS = (1 << 31) - 1
"""Maximum rows of one producer id and epoch in a partition; the sequence would then start again at 0."""

_RECORD_OVERHEAD = 40
_HEADER_OVERHEAD = 10


class ProducerIdentity(NamedTuple):
    """Producer id and epoch of the batches. Brokers never assign a producer id twice."""

    producer_id: int
    epoch: int


class Run(NamedTuple):
    """Rows with consecutive offsets at the source: the first offset and the number of rows."""

    source_offset: int
    rows: int


class SequencedBatch(NamedTuple):
    """A batch. `data`: its bytes in a PRODUCE request. `first_sequence`: the number of its first row. `runs`: its rows,
    in order.
    """

    first_sequence: int
    rows: int
    data: bytes
    runs: tuple[Run, ...]

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + self.rows - 1


class OrderError(ValueError):
    """Rows were not in the order of their offsets."""


class BatchGatherer:
    """Gathers rows into batches of at most `batch_bytes` before compression; a larger row gets its own batch."""

    def __init__(
        self, identity: ProducerIdentity, first_sequence: int, *, codec: Codec, batch_bytes: int, batch_rows: int
    ) -> None:
        self._identity = identity
        self._first_sequence = first_sequence
        self._codec = codec
        self._batch_bytes = batch_bytes
        self._batch_rows = batch_rows
        self._last_offset = -1
        self._begin()

    def add(
        self, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> SequencedBatch | None:
        """Adds a row. Returns the previous batch if the row did not fit into it. Raises OrderError."""
        if offset <= self._last_offset:
            raise OrderError(f"The row with offset {offset} follows offset {self._last_offset}")
        size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
        for name, content in headers:
            size += _HEADER_OVERHEAD + 4 * len(name) + len(content or b"")
        builder = self._builder
        is_full = builder.record_count == self._batch_rows or builder.size_bytes + size > self._batch_bytes
        full = self.rest() if is_full else None
        builder = self._builder
        builder.append(builder.record_count, timestamp_ms, key, value, headers)
        if self._runs and offset == self._last_offset + 1:
            self._runs[-1][1] += 1
        else:
            self._runs.append([offset, 1])
        self._last_offset = offset
        return full

    def rest(self) -> SequencedBatch | None:
        """Returns the remaining rows as a batch, if any."""
        rows = self._builder.record_count
        if rows == 0:
            return None
        runs = tuple(Run(offset, count) for offset, count in self._runs)
        batch = SequencedBatch(self._first_sequence, rows, self._builder.build(), runs)
        self._first_sequence += rows
        self._begin()
        return batch

    def _begin(self) -> None:
        self._runs: list[list[int]] = []
        self._builder = BatchBuilder(
            base_offset=0,
            codec=self._codec,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            base_sequence=self._first_sequence,
        )


def bounded_batch_bytes(wanted: int, settings: dict[str, Any]) -> int:
    """Returns the maximum bytes of a batch before compression that the topic accepts even if it does not compress."""
    limit = settings.get("max.message.bytes")
    return wanted if limit is None else max(min(wanted, int(limit)), HEADER_SIZE_V2)
