"""Reads a range of offsets from the partition's leader, as Arrow columns.

The next FETCH is sent before the last response is decoded. Memory: a response, a decompressed batch, a set of columns.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ...client.client_settings import READ_COMMITTED
from ...client.cluster import MISSING_MS, Cluster, is_retriable
from ...client.connection import Connection
from ...client.fetching.transaction_filter import TransactionFilter
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from ...protocol.records.batch import RecordBatch, iter_batches
from ...protocol.sentinels import EARLIEST
from ..columns.batch_decoder import BatchDecoder
from ..columns.row_buffers import Gathered
from ..options.data_loss import DataLoss
from ..options.kafka_settings import ReaderSettings
from .offset_ranges import OffsetRange

logger = logging.getLogger(__name__)

_NO_SESSION = -1


class NoProgressError(TimeoutError):
    """Records that should exist did not arrive in time."""


@dataclass(frozen=True, slots=True)
class _Response:
    """The partition's part of a FETCH response: complete batches, and the offset of the next fetch."""

    batches: list[RecordBatch]
    aborted: list[tuple[int, int]]
    next_offset: int
    readable_end: int


class RangeReader:
    """Reads one range, once. Gives up after `no_progress_ms` without records, or at `deadline_s` (time.monotonic())."""

    def __init__(
        self,
        offsets: OffsetRange,
        settings: ReaderSettings,
        *,
        with_headers: bool,
        fail_on_data_loss: bool,
        no_progress_ms: int,
        deadline_s: float | None = None,
    ) -> None:
        self._range = offsets
        self._settings = settings
        self._data_loss = DataLoss(fail_on_data_loss)
        self._no_progress_ms = no_progress_ms
        self._deadline_s = deadline_s
        self._decoder = BatchDecoder(
            offsets.start, offsets.end, with_headers=with_headers, check_crcs=settings.check_crcs
        )
        self._position = offsets.start

    def read(self) -> Iterator[Gathered]:
        """Yields the rows, in order of their offsets. Raises KafkaError, NoProgressError, DataLossError."""
        for batch in self.batches():
            yield from self._decoder.add(batch)
        yield from self._decoder.rest()

    def batches(self) -> Iterator[RecordBatch]:
        """Yields the batches that overlap the range. Raises the same errors as `read`."""
        with Cluster(self._settings, retry_ms=self._no_progress_ms) as cluster:
            for answer in self._responses(cluster):
                hidden = TransactionFilter(answer.aborted)
                for batch in answer.batches:
                    if batch.base_offset >= self._range.end and batch.magic == 2:
                        break
                    if self._settings.isolation_level != READ_COMMITTED or not hidden.hides(batch):
                        yield batch

    def _responses(self, cluster: Cluster) -> Iterator[_Response]:
        """Yields responses that have batches, until the range is read."""
        progress = time.monotonic()
        asked: Connection | None = None
        while self._position < self._range.end:
            if self._deadline_s is not None and time.monotonic() >= self._deadline_s:
                raise NoProgressError(f"{self._range.topic_partition} is read to offset {self._position} only")
            try:
                if asked is None:
                    asked = cluster.leader_connection(self._range.topic_partition)
                    asked.send(self._request())
                partition = _only_partition(asked.receive())
                answer = self._take(partition)
            except (ConnectionError, KafkaError) as error:
                asked = None
                self._handle_fetch_error(error, cluster, progress)
                continue
            if not answer.batches:
                asked = None
                self._wait_for_more(answer, progress)
                continue
            progress = time.monotonic()
            self._position = answer.next_offset
            if self._position < self._range.end:
                asked = self._send_ahead(asked)
            yield answer

    def _send_ahead(self, connection: Connection) -> Connection | None:
        try:
            connection.send(self._request())
        except ConnectionError:
            return None  # the next request fails too, and its error is handled there
        return connection

    def _request(self) -> FetchRequest:
        settings, at = self._settings, self._range.topic_partition
        partition = FetchPartition(
            partition=at.partition, fetch_offset=self._position, partition_max_bytes=settings.fetch_bytes
        )
        return FetchRequest(
            max_wait_ms=settings.fetch_wait_ms,
            min_bytes=1,
            max_bytes=settings.fetch_bytes,
            isolation_level=settings.isolation_level,
            session_epoch=_NO_SESSION,
            topics=[FetchTopic(topic=at.topic, partitions=[partition])],
        )

    def _take(self, partition: PartitionData) -> _Response:
        if partition.error_code:
            raise error_for(partition.error_code, f"{self._range.topic_partition}: {error_for(partition.error_code)}")
        records = partition.records
        assert records is None or isinstance(records, memoryview)
        # The last batch may be incomplete; the first may begin before the requested offset.
        batches = [] if records is None else [batch for batch in iter_batches(records) if self._is_new(batch)]
        committed = self._settings.isolation_level == READ_COMMITTED
        return _Response(
            batches,
            [(each.first_offset, each.producer_id) for each in partition.aborted_transactions or ()],
            batches[-1].next_offset if batches else self._position,
            partition.last_stable_offset if committed else partition.high_watermark,
        )

    def _is_new(self, batch: RecordBatch) -> bool:
        return batch.last_offset >= self._position

    def _handle_fetch_error(self, error: ConnectionError | KafkaError, cluster: Cluster, progress: float) -> None:
        """Handles a failed fetch: skips lost offsets, or waits before a retry. Raises an error that a retry can't
        solve.
        """
        if isinstance(error, KafkaError) and error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._skip_lost_offsets(cluster)
            return
        if isinstance(error, KafkaError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if self._is_late(progress, MISSING_MS):
                self._data_loss.report(f"{self._range.topic_partition} no longer exists")
                self._position = self._range.end
                return
        elif not is_retriable(error) or self._is_late(progress, self._no_progress_ms):
            raise error
        logger.warning("%s: %s; retrying", self._range.topic_partition, error)
        cluster.forget_leader(self._range.topic_partition)
        time.sleep(self._settings.retry_backoff_ms / 1000)

    def _skip_lost_offsets(self, cluster: Cluster) -> None:
        at, position = self._range.topic_partition, self._position
        earliest = cluster.offsets({at: EARLIEST})[at]
        resumed = min(earliest, self._range.end) if position < earliest else self._range.end
        self._data_loss.report(f"offsets {position} to {resumed - 1} of {at} no longer exist")
        self._position = resumed
        self._decoder.skip_to(resumed)  # the first remaining batch may also hold deleted records

    def _wait_for_more(self, answer: _Response, progress: float) -> None:
        """Checks the timeout after an empty response. A new leader may need a moment to know the committed offsets."""
        if not self._is_late(progress, self._no_progress_ms):
            return
        at, end = self._range.topic_partition, self._range.end
        if answer.readable_end <= self._position:
            self._data_loss.report(
                f"offsets {self._position} to {end - 1} of {at} do not exist; the partition ends before them"
            )
            self._position = end
            return
        raise NoProgressError(f"No record from offset {self._position} on of {at} in {self._no_progress_ms} ms")

    @staticmethod
    def _is_late(progress: float, timeout_ms: int) -> bool:
        return time.monotonic() - progress > timeout_ms / 1000


def _only_partition(answer: object) -> PartitionData:
    if answer.error_code:  # type: ignore[attr-defined]
        raise error_for(answer.error_code)  # type: ignore[attr-defined]
    partition: PartitionData = answer.responses[0].partitions[0]  # type: ignore[attr-defined]
    return partition
