"""Writes the rows of one partition, from the first row that is not in the target's log. Runs in a task."""

from __future__ import annotations

from dataclasses import dataclass

from ...client.pace import Pace
from ...client.target_cluster import TargetCluster
from ...protocol.records.compression import Codec
from ...protocol.records.walk import Headers
from ...protocol.sentinels import EARLIEST
from ..appending.partition_append import RETRY_TIMEOUT_MS, PartitionAppend
from ..appending.sequenced_batches import BatchGatherer, ProducerIdentity, SequencedBatch
from ..appending.written_batches import WrittenBatches
from ..options.kafka_settings import ReaderSettings
from .replay_plan import PartitionPlan

_AT_ONCE_S = 0.1
"""Seconds of rows that one batch holds when the rate is limited."""


class ReplayError(Exception):
    """Rows could not be written, or it is unknown which were; the message says why."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Settings for writing. `rate`: rows a second of the whole replay."""

    settings: ReaderSettings
    identity: ProducerIdentity
    codec: Codec
    batch_bytes: int
    rate: float | None
    retry_timeout_ms: int = RETRY_TIMEOUT_MS


def rows_reached(plan: PartitionPlan, writing: Writing) -> tuple[int, int]:
    """Returns the number of rows in the target's log, and the offset behind them. Raises ReplayError."""
    written = WrittenBatches(writing.settings, plan.target, writing.identity, writing.retry_timeout_ms)
    with TargetCluster(writing.settings, retry_ms=writing.retry_timeout_ms) as cluster:
        end = written.settled_end(cluster)
        start = cluster.offsets({plan.target: EARLIEST})[plan.target]
    if end < plan.base:
        raise ReplayError(
            f"{plan.target} ends at {end}, but ended at {plan.base} when this replay began: was the "
            "topic deleted and created again?"
        )
    last = written.last(max(plan.base, start), end)
    if last is not None:
        return last.last_sequence + 1, last.next_offset
    if start > plan.base:
        raise ReplayError(
            f"{plan.target} now begins at {start}, but ended at {plan.base} when this replay began: written rows may "
            "have been deleted, so the progress is unknown"
        )
    return 0, plan.base


class PartitionReplay:
    """Writes one partition. `written` and `skipped` count rows; rows already in the log are skipped."""

    def __init__(self, plan: PartitionPlan, writing: Writing, total_rows: int, first_row: int) -> None:
        """`first_row`: the number of the first row that will be added. Raises ReplayError."""
        self.plan = plan
        self.written = 0
        reached, end = rows_reached(plan, writing)
        self.skipped = reached
        self._left_out = max(reached - first_row, 0)
        if reached < first_row:
            raise ReplayError(f"{plan.target}: {reached} rows are in the log, but there were {first_row} before")
        share = None if writing.rate is None else writing.rate * plan.rows / total_rows
        self._pace = Pace(share)
        self._append = PartitionAppend(
            writing.settings, plan.target, writing.identity, end, self._appended, writing.retry_timeout_ms
        )
        batch_rows = plan.rows if share is None else max(int(share * _AT_ONCE_S), 1)
        self._gatherer = BatchGatherer(
            writing.identity, reached, codec=writing.codec, batch_bytes=writing.batch_bytes, batch_rows=batch_rows
        )

    def add(self, offset: int, ms: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Adds the next row, in the order of offsets. Raises AppendError, OrderError."""
        if self._left_out:
            self._left_out -= 1
            return
        full = self._gatherer.add(offset, ms, key, value, headers)
        if full is not None:
            self._send(full)

    def finish(self) -> None:
        """Waits until all rows are committed. Raises AppendError, ReplayError."""
        rest = self._gatherer.rest()
        if rest is not None:
            self._send(rest)
        self._append.wait()
        self.close()
        there = self.skipped + self.written
        if there != self.plan.rows:
            raise ReplayError(
                f"{self.plan.target}: {there} rows instead of {self.plan.rows}: the archive has "
                "changed since the replay began"
            )

    def close(self) -> None:
        """Closes the connections."""
        self._append.close()

    def _send(self, batch: SequencedBatch) -> None:
        self._pace.wait_for(batch.rows)
        self._append.send(batch)

    def _appended(self, batch: SequencedBatch, base_offset: int) -> None:
        self.written += batch.rows
