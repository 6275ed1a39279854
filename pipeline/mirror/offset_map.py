"""The map from source offsets to target offsets, as Parquet files.

MAP/batch=<20 digits>/…parquet      topic, partition, source_offset, target_offset, rows: a run of records with
                                    consecutive offsets in both clusters

Older micro-batches are merged (map_parts.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...base.topic_partition import TopicPartition
from ..archive.table_files import HadoopFiles
from .map_parts import MapPart, current_parts, merged_part, next_merges, parts_named
from .partition_mirror import MappedRun

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

_DDL = "topic string, partition int, source_offset bigint, target_offset bigint, rows bigint"
_FINISHED = "_SUCCESS"


def write_runs(spark: SparkSession, root: str, batch_id: int, runs: RDD[MappedRun]) -> None:
    """Computes the runs of a micro-batch and writes them as one file, which replaces that of an earlier attempt. Older
    micro-batches may be merged then. Raises FileExistsError if the map has merged micro-batches of another checkpoint.
    """
    frame = spark.createDataFrame(runs, _DDL).repartition(1)
    frame.write.mode("overwrite").parquet(f"{root}/{MapPart(batch_id, batch_id).name}")
    _merge_parts(spark, root, batch_id)


def finished_parts(spark: SparkSession, root: str) -> list[MapPart]:
    """Returns the parts of the map, oldest first. The newest may be of a micro-batch that the query has not committed
    yet.
    """
    return current_parts(_all_finished(HadoopFiles(spark, root)))


def read_runs(spark: SparkSession, root: str, parts: Sequence[MapPart] | None = None) -> DataFrame:
    """Returns the runs of these parts of the map, or of all finished micro-batches."""
    if parts is None:
        parts = finished_parts(spark, root)
    if not parts:
        return spark.createDataFrame([], _DDL)
    qualified = HadoopFiles(spark, root).root
    return spark.read.schema(_DDL).parquet(*(f"{qualified}/{part.name}" for part in parts))


def _all_finished(files: HadoopFiles) -> list[MapPart]:
    return parts_named(path.rpartition("/")[0] for path in files.glob(f"batch=*/{_FINISHED}"))


def _merge_parts(spark: SparkSession, root: str, batch_id: int) -> None:
    """Merges parts where there are many of a size. Their directories stay until the next merge, for running readers."""
    files = HadoopFiles(spark, root)
    there = _all_finished(files)
    current = current_parts(there)
    if MapPart(batch_id, batch_id) not in current:
        raise FileExistsError(f"the map {root} has later micro-batches, of another checkpoint: choose another map")
    for number, parts in enumerate(next_merges(current, batch_id)):
        if number == 0:
            for part in set(there).difference(current):
                files.delete(part.name)
        runs = read_runs(spark, root, parts).repartition(1)
        runs = runs.sortWithinPartitions("topic", "partition", "source_offset")
        runs.write.mode("overwrite").parquet(f"{files.root}/{merged_part(parts).name}")


def translated(runs: DataFrame, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Translates committed offsets to the target: the offset of the first record at or behind each.

    If nothing was mirrored behind an offset, the result is the end of the mirrored records. Partitions without mirrored
    records are left out.
    """
    asked = [(at.topic, at.partition, offset) for at, offset in offsets.items()]
    if not asked:
        return {}
    questions = runs.sparkSession.createDataFrame(asked, "topic string, partition int, asked bigint")
    joined = runs.join(F.broadcast(questions), ["topic", "partition"])
    inside = F.expr("asked >= source_offset and asked < source_offset + rows")
    found = joined.groupBy("topic", "partition").agg(
        F.max(F.when(inside, F.expr("target_offset + asked - source_offset"))).alias("same"),
        F.min(F.when(F.expr("source_offset > asked"), F.col("target_offset"))).alias("next"),
        F.max(F.expr("target_offset + rows")).alias("end"),
    )
    chosen = found.select("topic", "partition", F.coalesce("same", "next", "end").alias("offset"))
    return {TopicPartition(row["topic"], row["partition"]): row["offset"] for row in chosen.collect()}
