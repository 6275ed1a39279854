"""Writes archived rows back into topics on Spark: each task writes one partition, in the order of offsets."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...base.topic_partition import TopicPartition
from ...client.target_cluster import TargetCluster
from ...protocol.records.compression import Codec
from ..appending.sequenced_batches import MOST_ROWS, bounded_batch_bytes
from ..archive.table_files import HadoopFiles
from ..options.kafka_settings import ReaderSettings
from .archived_rows import Selection, archived_rows
from .partition_replay import ReplayError, Writing, rows_reached
from .replay_plan import PartitionPlan, PlanError, ReplayPlan, parse_plan
from .replay_tasks import replay_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLAN = "plan.json"
BATCH_BYTES = 1 << 18
NOBODY = -1
"""Producer id of a plan that has not begun."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a replay. `topic`: one topic for all rows, or None for their own topics. `rate`: rows a second."""

    settings: ReaderSettings
    topic: str | None = None
    codec: Codec = Codec.NONE
    rate: float | None = None


class Replay:
    """A new or continued replay. `plan`: what it writes. `warnings`: consequences that the user may not expect."""

    def __init__(self, spark: SparkSession, selection: Selection, target: Target, checkpoint: str) -> None:
        """Reads or makes the plan, without writing. Raises ManifestError, SelectionError, PlanError, ReplayError,
        KafkaError, OSError.
        """
        self._target = target
        self._files = HadoopFiles(spark, checkpoint)
        self._rows = archived_rows(spark, selection)
        about = selection.to_json() | ({} if target.topic is None else {"topic": target.topic})
        self.warnings: list[str] = []
        with TargetCluster(target.settings, first_ms=target.settings.connect_timeout_ms) as cluster:
            plan = self._begun_plan(cluster, about)
            self.plan = _make_plan(self._rows, about, target, cluster) if plan is None else plan
            self._batch_bytes = self._check_topics(cluster)

    @property
    def is_begun(self) -> bool:
        return self.plan.producer_id != NOBODY

    def begin(self) -> None:
        """Writes the plan to the checkpoint, unless it is there already."""
        if self.is_begun:
            return
        with TargetCluster(self._target.settings) as cluster:
            self.plan = dataclasses.replace(self.plan, producer_id=cluster.new_producer_id())
        self._files.write_text(PLAN, self.plan.to_text())

    def reached(self, retry_timeout_ms: int | None = None) -> dict[TopicPartition, int]:
        """Returns the number of rows in the log of each target. Raises ReplayError, UnsettledError, KafkaError,
        OSError.
        """
        if not self.is_begun:
            return {each.target: 0 for each in self.plan.partitions}
        writing = self._writing()
        if retry_timeout_ms is not None:
            writing = dataclasses.replace(writing, retry_timeout_ms=retry_timeout_ms)
        return {each.target: rows_reached(each, writing)[0] for each in self.plan.partitions}

    def write(self, reached: dict[TopicPartition, int]) -> None:
        """Writes the missing rows and waits until all are committed. Raises ReplayError, and Spark's errors."""
        if any(reached[each.target] < each.rows for each in self.plan.partitions):
            replay_tasks(self._rows, self.plan, self._writing(), reached)
        now = self.reached()
        for each in self.plan.partitions:
            if now[each.target] != each.rows:
                raise ReplayError(
                    f"{each.target}: {now[each.target]} rows instead of {each.rows}: does the archive lack rows?"
                )

    def _writing(self) -> Writing:
        target = self._target
        return Writing(target.settings, self.plan.identity, target.codec, self._batch_bytes, target.rate)

    def _begun_plan(self, cluster: TargetCluster, about: dict[str, Any]) -> ReplayPlan | None:
        try:
            plan = parse_plan(PLAN, self._files.read_text(PLAN))
        except FileNotFoundError:
            return None
        if plan.selection != about:
            names = sorted(name for name in {**plan.selection, **about} if plan.selection.get(name) != about.get(name))
            raise PlanError(f"{self._files.root} is the checkpoint of a replay with another {' and '.join(names)}")
        there = cluster.cluster_id()
        if there != plan.cluster:
            raise PlanError(f"{self._files.root} is the checkpoint of a replay to cluster {plan.cluster}, not {there}")
        return plan

    def _check_topics(self, cluster: TargetCluster) -> int:
        """Checks the topics and sets the maximum bytes of their batches."""
        oldest_ms: dict[str, int] = {}
        for each in self.plan.partitions:
            oldest_ms[each.target.topic] = min(each.oldest_ms, oldest_ms.get(each.target.topic, each.oldest_ms))
        batch_bytes = BATCH_BYTES
        now_ms = int(time.time() * 1000)
        for topic, settings in sorted(cluster.topic_settings(oldest_ms).items()):
            if settings.get("message.timestamp.type") == "LogAppendTime":
                raise ReplayError(f"{topic} has message.timestamp.type=LogAppendTime: timestamps would not be kept")
            keeps_ms = int(settings.get("retention.ms", -1))
            if "delete" in settings.get("cleanup.policy", "") and 0 <= keeps_ms < now_ms - oldest_ms[topic]:
                self.warnings.append(f"{topic} has retention.ms={keeps_ms}: older rows may be deleted immediately")
            batch_bytes = min(batch_bytes, bounded_batch_bytes(BATCH_BYTES, settings))
        return batch_bytes


def _make_plan(rows: DataFrame, about: dict[str, Any], target: Target, cluster: TargetCluster) -> ReplayPlan:
    """Makes a plan from topics, partitions, offsets and times of all rows."""
    counts = [F.count("*").alias("rows"), F.min("offset").alias("first"), F.max("offset").alias("last")]
    counted = rows.groupBy("topic", "partition").agg(*counts, F.min("ms").alias("oldest"))
    found = counted.orderBy("topic", "partition").collect()
    topics = sorted({row["topic"] for row in found})
    if target.topic is not None and len(topics) > 1:
        raise ReplayError(
            f"rows of several topics ({', '.join(topics)}) can't be written to one topic, because "
            "their partitions would be mixed"
        )
    places = [TopicPartition(target.topic or row["topic"], row["partition"]) for row in found]
    missing = sorted(set(places) - set(cluster.partitions({at.topic for at in places}))) if places else []
    if missing:
        raise ReplayError(f"partitions of the target do not exist: {', '.join(map(str, missing))}")
    partitions = []
    for row, at in zip(found, places, strict=True):
        if row["rows"] > MOST_ROWS:
            raise ReplayError(f"{at} would get {row['rows']:,} rows, a replay can have {MOST_ROWS:,} of a partition")
        source = TopicPartition(row["topic"], row["partition"])
        base = cluster.high_watermark(at)
        partitions.append(PartitionPlan(source, at, row["rows"], row["first"], row["last"], base, row["oldest"]))
    return ReplayPlan(about, cluster.cluster_id(), NOBODY, tuple(partitions))
