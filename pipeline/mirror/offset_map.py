"""Which offset of the source became which of the target.

MAP/batch=<20 digits>/…parquet      topic, partition, source_offset, target_offset, rows: a run of records whose
                                    offsets follow each other in both clusters
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...base.topic_partition import TopicPartition
from ..archive.table_files import HadoopFiles
from .partition_mirror import MappedRun

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

_DDL = "topic string, partition int, source_offset bigint, target_offset bigint, rows bigint"
_FINISHED = "_SUCCESS"


def write_runs(spark: SparkSession, root: str, batch_id: int, runs: RDD[MappedRun]) -> None:
    """Evaluates the runs of a micro-batch, which has one file; in place of those that an earlier attempt left."""
    frame = spark.createDataFrame(runs, _DDL).repartition(1)
    frame.write.mode("overwrite").parquet(f"{root}/batch={batch_id:020d}")


def read_runs(spark: SparkSession, root: str) -> DataFrame:
    """Of all micro-batches that were finished, and at most one that will be."""
    files = HadoopFiles(spark, root)
    finished = [path.rpartition("/")[0] for path, *_ in files.list(".") if path.endswith(f"/{_FINISHED}")]
    if not finished:
        return spark.createDataFrame([], _DDL)
    return spark.read.schema(_DDL).parquet(*(f"{files.root}/{path}" for path in finished))


def translated(runs: DataFrame, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offsets, as a consumer group commits them, at the target: of the first record that is at or behind each.

    Behind all that was mirrored it is where the last of them ends. Partitions of which nothing was are left out.
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
