"""The streaming query that mirrors topics: each task of a micro-batch copies one range of offsets of a partition.

Tasks fetch their ranges themselves. The micro-batch's DataFrame, which would hold the same records, is not read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...base.topic_partition import TopicPartition
from ...client.target_cluster import TargetCluster
from ...protocol.records.compression import Codec
from ..appending.sequenced_batches import bounded_batch_bytes
from ..archive.batch_ranges import batch_limits
from ..archive.table_files import HadoopFiles
from ..options.kafka_settings import ReaderSettings
from ..options.read_options import ReadOptions
from ..topics.offset_ranges import OffsetRange
from ..topics.source_lag import Lag, measure_lag
from ..topics.source_offsets import SourceOffsets
from ..topics.spark_release import bounded_source, start_available_now
from .carrier import Carried, Carrier
from .mirror_batch import MirrorBatch, begin_batch, find_batch
from .offset_map import write_runs
from .partition_mirror import MirrorRange, MirrorTarget, copier
from .topic_rules import MirrorError, check_copies, mirrored_source
from .written_rows import WrittenRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

CHECKPOINT = "checkpoint"
MAP = "map"
BATCH_BYTES = 1 << 18
_HEADERS = {"includeHeaders": "true"}
_NOTHING = Carried()


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    """Progress of a micro-batch: number of offsets, of rows, seconds, and what is left at the source."""

    batch_id: int
    offsets: int
    rows: int
    seconds: float
    lag: Lag


class Mirror:
    """Mirrors topics. Keeps its checkpoint and the producer of each micro-batch in `root`.

    Attributes:
        batches, offsets, rows: totals of this run. Markers and aborted records have offsets, but are no rows.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: Mapping[str, str],
        target: ReaderSettings,
        root: str,
        *,
        offset_map: str | None = None,
        prefix: str = "",
        codec: Codec = Codec.NONE,
        carried: Carried = _NOTHING,
        on_progress: Callable[[MirrorProgress], None] = lambda progress: None,
    ) -> None:
        """`source`: options of the format "pybroker". Raises OptionError."""
        self._spark = spark
        self._given = {**source, **_HEADERS}
        self._source: ReadOptions = mirrored_source(self._given)
        self._target = target
        self._files = HadoopFiles(spark, root)
        self._map = offset_map or f"{self._files.root}/{MAP}"
        self._prefix = prefix
        self._codec = codec
        self._carrier = Carrier(spark, self._source, target, self._map, prefix, carried)
        self._on_progress = on_progress
        self._batch_bytes: dict[str, int] = {}
        self._within_cluster = False
        self.batches = 0
        self.offsets = 0
        self.rows = 0

    def start(self, *, available_now: bool, every: str = "0 seconds") -> StreamingQuery:
        """Starts the query where the last one stopped. Raises MirrorError, KafkaError, OSError."""
        self._check_clusters()
        given = self._given | bounded_source(available_now)
        frame = self._spark.readStream.format("pybroker").options(**given).load()
        writer = frame.writeStream.foreachBatch(self.mirror_batch)
        writer = writer.option("checkpointLocation", f"{self._files.root}/{CHECKPOINT}")
        return start_available_now(writer) if available_now else writer.trigger(processingTime=every).start()

    def mirror_batch(self, frame: DataFrame, batch_id: int) -> None:
        """Writes the missing records of a micro-batch. Raises MirrorError, KafkaError, OSError, and Spark's errors."""
        began = time.monotonic()
        start, end = batch_limits(self._files, CHECKPOINT, batch_id)
        with self._carrier.micro_batch():
            with SourceOffsets(self._source) as offsets:
                ranges = offsets.ranges_between(start, end)
            assert len({each.topic_partition for each in ranges}) == len(ranges), "a partition has several tasks"
            rows = self._written(batch_id, ranges) if ranges else 0
        self._report(batch_id, ranges, rows, end, began)

    def carry_if_idle(self) -> None:
        """Carries what is no record once a minute. To be called often while the query runs."""
        self._carrier.carry_if_idle()

    def carry(self) -> None:
        """Carries what is no record now. A failure is logged."""
        self._carrier.carry()

    def _written(self, batch_id: int, ranges: list[OffsetRange]) -> int:
        """Writes a micro-batch and its part of the map; returns the number of rows."""
        batch = self._batch(batch_id, ranges)
        tasks = [self._task(each, batch) for each in ranges]
        batch_bytes = min(self._batch_bytes[task.target.topic] for task in tasks)
        target = MirrorTarget(self._target, self._codec, batch_bytes)
        context = self._spark.sparkContext
        written = context.accumulator({}, WrittenRows())
        copy = copier(self._source, target, batch.identity, written)
        write_runs(self._spark, self._map, batch_id, context.parallelize(tasks, len(tasks)).mapPartitions(copy))
        return sum(written.value.values())

    def _check_clusters(self) -> None:
        with _begun(self._source.settings) as source, _begun(self._target) as target:
            self._within_cluster = source.cluster_id() == target.cluster_id()
        if self._within_cluster:
            if not self._prefix:
                raise MirrorError("source and target are the same cluster: set a prefix for the copied topics")
            with SourceOffsets(self._source) as offsets:
                check_copies(self._source.subscription, {at.topic for at in offsets.partitions()}, self._prefix)

    def _batch(self, batch_id: int, ranges: list[OffsetRange]) -> MirrorBatch:
        topics = sorted({each.topic_partition.topic for each in ranges})
        if self._within_cluster:
            check_copies(self._source.subscription, topics, self._prefix)
        new = [topic for topic in topics if self._name(topic) not in self._batch_bytes]
        self._carrier.make_topics(topics, acls_of=new)
        with TargetCluster(self._target) as cluster:
            self._check_topics(cluster, [self._name(topic) for topic in new])
            if (batch := find_batch(self._files, batch_id)) is not None:
                return batch
            targets = [self._named(each.topic_partition) for each in ranges]
            bases = {at: cluster.high_watermark(at) for at in targets}
            return begin_batch(self._files, batch_id, bases, cluster.new_producer_id)

    def _check_topics(self, cluster: TargetCluster, topics: list[str]) -> None:
        for topic, settings in sorted(cluster.topic_settings(topics).items()):
            if settings.get("message.timestamp.type") == "LogAppendTime":
                raise MirrorError(f"{topic} has message.timestamp.type=LogAppendTime: timestamps would not be kept")
            self._batch_bytes[topic] = bounded_batch_bytes(BATCH_BYTES, settings)

    def _task(self, offsets: OffsetRange, batch: MirrorBatch) -> MirrorRange:
        target = self._named(offsets.topic_partition)
        return MirrorRange(offsets, target, batch.bases[target])

    def _named(self, at: TopicPartition) -> TopicPartition:
        return TopicPartition(self._name(at.topic), at.partition)

    def _name(self, topic: str) -> str:
        return f"{self._prefix}{topic}"

    def _report(
        self, batch_id: int, ranges: list[OffsetRange], rows: int, end: Mapping[TopicPartition, int], began: float
    ) -> None:
        lag = measure_lag(self._source, end, time.time() * 1000)
        seconds = time.monotonic() - began
        progress = MirrorProgress(batch_id, sum(each.size for each in ranges), rows, seconds, lag)
        self.batches += 1
        self.offsets += progress.offsets
        self.rows += rows
        self._on_progress(progress)


def _begun(settings: ReaderSettings) -> TargetCluster:
    """Returns the first connection to a cluster."""
    return TargetCluster(settings, first_ms=settings.connect_timeout_ms)
