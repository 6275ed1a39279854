"""Reads topics in a streaming query: the start and end of micro-batches, and the offsets stored in a consumer group.

Spark keeps one reader in a Python process of the driver while the query runs; tasks call `read` on copies. Batches
follow the rules of Spark's Kafka source (KafkaMicroBatchStream).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader

from ...protocol.errors import KafkaError
from ..options.read_options import ReadOptions
from .micro_batches import MicroBatches
from .source_lag import LagGauge
from .source_offsets import SourceOffsets
from .spark_release import HAS_READ_LIMITS, ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
from .stream_position import Position, beginning_of, offsets_of, reported
from .topic_reader import RangePartition, read_range

logger = logging.getLogger(__name__)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics as a stream. It connects on first use, because a copy in a task needs only the options."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._lag = LagGauge(options)
        self._source: SourceOffsets | None = None
        self._batches = MicroBatches(options.max_offsets, options.min_offsets, options.max_delay_ms)
        self._committed: Position | None = None
        self._begun: Position | None = None
        self._reached: Position | None = None
        self._is_checked = False

    def initialOffset(self) -> Position:  # noqa: N802 (Spark's names, here and below)
        if self._begun is None:
            logger.info("The query reads with kafka.isolation.level=%s", self._options.settings.isolation_name)
            self._begun = self._batches.begin(self._offsets().initial())
            self._is_checked = True
        return self._begun

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        limit = self._options.max_offsets or self._options.min_offsets
        # Any limit other than ReadAllAvailable will do: Spark hands it back, unless the trigger reads everything.
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: Position | None = None, limit: Any = None) -> Position:  # noqa: N802
        """Before Spark 4.2 there is neither `start` nor `limit`: a batch then begins where the last one ended."""
        if start is None:
            # Spark asks for the end of a new query's first batch before it asks for its start.
            start = self._reached or self.initialOffset()
        source = self._offsets()
        if not self._is_checked:  # the query continues
            source.check_added(offsets_of(start).keys())
            self._is_checked = True
        if self._batches.target is None:
            latest = source.latest(offsets_of(start))
            if self._options.is_bounded:
                self._batches.stop_at(latest)
            self._batches.learn(latest)
        self._commit(start)
        started = offsets_of(start)
        added = source.earliest(self._batches.latest.keys() - started.keys())
        takes_all = HAS_READ_LIMITS and isinstance(limit, ReadAllAvailable)
        self._reached = self._batches.end(start, added, now_ms=int(time.time() * 1000), takes_all=takes_all)
        return self._reached

    def reportLatestOffset(self) -> Position | None:  # noqa: N802
        """Spark 4.2 and newer show it in the progress report of the micro-batch that ends at `_reached`."""
        if not self._batches.latest:
            return None
        reached = offsets_of(self._reached or {})
        seconds = self._lag.seconds(reached, self._batches.latest)
        return reported(self._batches.latest, reached, self._options.settings.isolation_name, seconds)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._batches.stop_at(self._offsets().latest({}))

    def partitions(self, start: Position, end: Position) -> Sequence[RangePartition]:
        self._reached = end
        if start == end:
            return []  # before Spark 4.2, this says where a restarted query is
        began = beginning_of(end)
        starts = offsets_of(start) if began is None else began
        return [RangePartition(each) for each in self._offsets().ranges_between(starts, offsets_of(end))]

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        return read_range(partition.offsets, self._options)

    def commit(self, end: Position) -> None:
        self._commit(end)

    def stop(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None

    def _offsets(self) -> SourceOffsets:
        if self._source is None:
            self._source = SourceOffsets(self._options, is_first=True)
        return self._source

    def _commit(self, finished: Position) -> None:
        """Stores the end of a finished batch in the consumer group. A failure does not stop the query.

        Spark reports the last batch of a query only by asking for the next batch, so `latestOffset` calls this too.
        """
        group = self._options.commit_group
        if group is None or finished == self._committed:
            return
        try:
            self._offsets().commit(group, offsets_of(finished))
            self._committed = finished
        except (KafkaError, OSError) as error:
            logger.warning("Offsets not stored in group %s: %s. The query continues.", group, error)
