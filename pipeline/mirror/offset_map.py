"""The map from source offsets to target offsets, as Parquet files.

MAP/batch=<20 digits>/…parquet      topic, partition, source_offset, target_offset, rows: a run of records with
                                    consecutive offsets in both clusters
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
    """Computes the runs of a micro-batch and writes them as one file, which replaces that of an earlier attempt."""
    frame = spark.createDataFrame(runs, _DDL).repartition(1)
    frame.write.mode("overwrite").parquet(f"{root}/batch={batch_id:020d}")


def read_runs(spark: SparkSession, root: str, newest: int | None = None) -> DataFrame:
    """Returns the runs of all finished micro-batches, or of so many of the newest. The newest may be one that is not
    yet committed by the query.
    """
    files = HadoopFiles(spark, root)
    finished = sorted(path.rpartition("/")[0] for path, *_ in files.list(".") if path.endswith(f"/{_FINISHED}"))
    if newest is not None:
        finished = finished[-newest:]
    if not finished:
        return spark.createDataFrame([], _DDL)
    return spark.read.schema(_DDL).parquet(*(f"{files.root}/{path}" for path in finished))


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
