"""Computes figures of topics as small DataFrames, from rows of topics, archives or log directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_KEYS = 10
"""Number of busiest keys that are reported for each topic."""

_NICE_MS = (1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000)
_MOST_BUCKETS = 60


def slim_rows(frame: DataFrame) -> DataFrame:
    """Returns the columns that the figures need: topic, partition, offset, key, ms (the timestamp), key_bytes,
    value_bytes.

    Persist the result, because every figure reads it.
    """
    return frame.select(
        "topic",
        "partition",
        "offset",
        "key",
        F.expr("unix_millis(timestamp)").alias("ms"),
        F.length("key").alias("key_bytes"),
        F.length("value").alias("value_bytes"),
    )


def volumes(rows: DataFrame) -> DataFrame:
    """By topic and partition: rows, key_bytes, value_bytes, keyless, tombstones, first and last offset and ms."""
    return rows.groupBy("topic", "partition").agg(
        F.count("*").alias("rows"),
        F.coalesce(F.sum("key_bytes"), F.lit(0)).alias("key_bytes"),
        F.coalesce(F.sum("value_bytes"), F.lit(0)).alias("value_bytes"),
        F.count_if(F.col("key_bytes").isNull()).alias("keyless"),
        F.count_if(F.col("value_bytes").isNull()).alias("tombstones"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
        F.min("ms").alias("first_ms"),
        F.max("ms").alias("last_ms"),
    )


def bucket_ms(first_ms: int, last_ms: int) -> int:
    """Returns the interval of a rate in ms, so that there are at most about sixty intervals."""
    span = max(last_ms - first_ms, 1)
    return next((nice for nice in _NICE_MS if span / nice <= _MOST_BUCKETS), -(-span // _MOST_BUCKETS))


def rates(rows: DataFrame, step_ms: int) -> DataFrame:
    """By topic and interval, which begins at `ms`: rows and bytes."""
    begin = (F.floor(F.col("ms") / step_ms) * step_ms).cast("bigint").alias("ms")
    size = F.coalesce("key_bytes", F.lit(0)) + F.coalesce("value_bytes", F.lit(0))
    return rows.groupBy("topic", begin).agg(F.count("*").alias("rows"), F.sum(size).alias("bytes"))


def value_sizes(rows: DataFrame) -> DataFrame:
    """By topic: median, 90th and 99th percentile (accuracy 1/10,000), and maximum of the value sizes."""
    percentiles = F.percentile_approx("value_bytes", [0.5, 0.9, 0.99], 10_000)
    sizes = rows.groupBy("topic").agg(percentiles.alias("sizes"), F.max("value_bytes").alias("largest"))
    return sizes.select(
        "topic",
        F.col("sizes")[0].alias("median"),
        F.col("sizes")[1].alias("p90"),
        F.col("sizes")[2].alias("p99"),
        "largest",
    )


def key_counts(rows: DataFrame) -> DataFrame:
    """By topic: number of keys, number of repeated keys, and number of rows that repeat a key."""
    counted = _by_key(rows)
    return counted.groupBy("topic").agg(
        F.count("*").alias("keys"),
        F.count_if(F.col("rows") > 1).alias("repeated_keys"),
        F.sum(F.col("rows") - 1).alias("repeats"),
    )


def busiest_keys(rows: DataFrame, most: int = MOST_KEYS) -> DataFrame:
    """By topic: the keys with the most rows, by `rank`, with their `share` of the rows that have a key.

    The rank has its own window. Then each Spark task keeps only its first keys before the rest are sorted; otherwise
    one task would sort all keys of a topic.
    """
    by_rows = Window.partitionBy("topic").orderBy(F.desc("rows"), "key")
    ranked = _by_key(rows).withColumn("rank", F.row_number().over(by_rows)).where(F.col("rank") <= most)
    totals = _with_key(rows).groupBy("topic").agg(F.count("*").alias("total"))
    share = (F.col("rows") / F.col("total")).alias("share")
    return ranked.join(F.broadcast(totals), "topic").select("topic", "rank", "key", "rows", share)


def disorder(rows: DataFrame, now_ms: int, late_ms: int) -> DataFrame:
    """By topic and partition: rows at least `late_ms` older than an earlier row, the largest delay, and rows in the
    future.
    """
    before = Window.partitionBy("topic", "partition").orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    behind = F.greatest(F.coalesce(F.max("ms").over(before) - F.col("ms"), F.lit(0)), F.lit(0))
    return (
        rows.withColumn("behind", behind)
        .groupBy("topic", "partition")
        .agg(
            F.count_if(F.col("behind") >= late_ms).alias("late"),
            F.max("behind").alias("most_behind_ms"),
            F.count_if(F.col("ms") > now_ms).alias("future"),
        )
    )


def _by_key(rows: DataFrame) -> DataFrame:
    return _with_key(rows).groupBy("topic", "key").agg(F.count("*").alias("rows"))


def _with_key(rows: DataFrame) -> DataFrame:
    return rows.where(F.col("key").isNotNull())
