"""The rows of one partition, from the first that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass

from ...protocol.records.compression import Codec
from ...protocol.records.walk import Headers
from ..appending.pace import Pace
from ..appending.partition_append import PATIENCE_MS, PartitionAppend
from ..appending.sequenced_batches import BatchGatherer, ProducerIdentity, SequencedBatch
from ..appending.written_batches import WrittenBatches
from ..client.target_cluster import TargetCluster
from ..options.kafka_settings import ReaderSettings
from ..options.offset_limits import EARLIEST
from .replay_plan import PartitionPlan

_AT_ONCE_S = 0.1
"""Of a limited rate, what goes out at a time."""


class ReplayError(Exception):
    """Rows could not be written, or it can't be told which were; says why."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How rows are written. `rate`: of the whole replay, rows a second."""

    settings: ReaderSettings
    identity: ProducerIdentity
    codec: Codec
    batch_bytes: int
    rate: float | None
    patience_ms: int = PATIENCE_MS


def rows_reached(plan: PartitionPlan, writing: Writing) -> tuple[int, int]:
    """How many of a partition's rows are in the log, and the offset behind them. Raises ReplayError."""
    written = WrittenBatches(writing.settings, plan.target, writing.identity, writing.patience_ms)
    with TargetCluster(writing.settings, retry_ms=writing.patience_ms) as cluster:
        end = written.settled_end(cluster)
        start = cluster.offsets({plan.target: EARLIEST})[plan.target]
    if end < plan.base:
        raise ReplayError(f"{plan.target} ends at {end}, at {plan.base} it did when this replay began: is it the same?")
    last = written.last(max(plan.base, start), end)
    if last is not None:
        return last.last_sequence + 1, last.next_offset
    if start > plan.base:
        raise ReplayError(
            f"{plan.target} begins at {start} by now, it ended at {plan.base} when this replay began: what was written "
            "may have been deleted, so that nobody can tell how far it is"
        )
    return 0, plan.base


class PartitionReplay:
    """`written` and `skipped`, because they were there, are counts of rows."""

    def __init__(self, plan: PartitionPlan, writing: Writing, total_rows: int, first_row: int) -> None:
        """`first_row`: the number of the row that comes first. Raises ReplayError."""
        self.plan = plan
        self.written = 0
        reached, end = rows_reached(plan, writing)
        self.skipped = reached
        self._left_out = max(reached - first_row, 0)
        if reached < first_row:
            raise ReplayError(f"{plan.target}: {reached} rows are there, of {first_row} that were")
        share = None if writing.rate is None else writing.rate * plan.rows / total_rows
        self._pace = Pace(share)
        self._append = PartitionAppend(
            writing.settings, plan.target, writing.identity, end, self._appended, writing.patience_ms
        )
        batch_rows = plan.rows if share is None else max(int(share * _AT_ONCE_S), 1)
        self._gatherer = BatchGatherer(
            writing.identity, reached, codec=writing.codec, batch_bytes=writing.batch_bytes, batch_rows=batch_rows
        )

    def add(self, offset: int, ms: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """The next row in the order of offsets. Raises AppendError, OrderError."""
        if self._left_out:
            self._left_out -= 1
            return
        full = self._gatherer.add(offset, ms, key, value, headers)
        if full is not None:
            self._send(full)

    def finish(self) -> None:
        """Returns when all rows are there. Raises AppendError, ReplayError."""
        rest = self._gatherer.rest()
        if rest is not None:
            self._send(rest)
        self._append.wait()
        self.close()
        there = self.skipped + self.written
        if there != self.plan.rows:
            raise ReplayError(f"{self.plan.target}: {there} rows, not {self.plan.rows}: the archive is not what it was")

    def close(self) -> None:
        """Lets go of the connections."""
        self._append.close()

    def _send(self, batch: SequencedBatch) -> None:
        self._pace.wait_for(batch.rows)
        self._append.send(batch)

    def _appended(self, batch: SequencedBatch, base_offset: int) -> None:
        self.written += batch.rows
