"""Tests of the figures of topics on real Spark."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.pipeline.charts.charts import TimeChart
from support.logs.kafka_directories import LOGDIRS
from support.spark.pipeline_commands import run_command
from support.spark.spark_rows import with_retry

if TYPE_CHECKING:
    from pybroker.pipeline.charts.charts import Chart
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary"
KAFKAS = LOGDIRS / "kafka-3.9" / "data"
NOON_MS = 1_700_000_000_000
NOW_MS = NOON_MS + 3_600_000


def rows_of(spark: "SparkSession", *rows: tuple[str, int, int, int, bytes | None, bytes | None]) -> "DataFrame":
    """Returns a DataFrame of rows: topic, partition, offset, seconds after NOON_MS, key, value."""
    return spark.createDataFrame(
        [
            (topic, partition, offset, datetime.fromtimestamp(NOON_MS / 1000 + seconds, UTC), key, value)
            for topic, partition, offset, seconds, key, value in rows
        ],
        COLUMNS,
    )


def figures_of(frame: "DataFrame", **further: Any) -> dict[str, Any]:
    from pybroker.pipeline.topic_report.report import topic_figures

    return with_retry(lambda: topic_figures(frame, now_ms=NOW_MS, late_ms=10_000, **further))


def test_figures_match_the_rows(spark: "SparkSession") -> None:
    figures = figures_of(
        rows_of(
            spark,
            ("a", 0, 5, 0, b"k1", b"x" * 10),
            ("a", 0, 6, 30, b"k1", b"x" * 30),
            ("a", 0, 8, 12, b"k2", None),  # 18 s late
            ("a", 1, 0, 100, None, b""),
            ("a", 1, 1, 91, b"k1", b"x" * 20),  # 9 s late: below the limit
            ("b", 0, 0, 4000, b"\xff", b"y"),  # in the future
        ),
        file_bytes={"a": 34, "b": 0},
    )
    assert figures["volumes"][0] == {
        "topic": "a",
        "partition": 0,
        "rows": 3,
        "key_bytes": 6,
        "value_bytes": 40,
        "keyless": 0,
        "tombstones": 1,
        "first_offset": 5,
        "last_offset": 8,
        "first_ms": NOON_MS,
        "last_ms": NOON_MS + 30_000,
    }
    assert [(each["topic"], each["partition"], each["rows"]) for each in figures["volumes"]] == [
        ("a", 0, 3),
        ("a", 1, 2),
        ("b", 0, 1),
    ]
    assert figures["stepMs"] == 600_000
    assert [(each["topic"], each["rows"], each["bytes"]) for each in figures["rates"]] == [("a", 5, 68), ("b", 1, 2)]
    assert figures["sizes"][0] == {"topic": "a", "median": 10, "p90": 30, "p99": 30, "largest": 30}
    assert figures["keys"] == [
        {"topic": "a", "keys": 2, "repeated_keys": 1, "repeats": 2},
        {"topic": "b", "keys": 1, "repeated_keys": 0, "repeats": 0},
    ]
    assert [(each["topic"], each["key"], each["rows"], each["share"]) for each in figures["busiestKeys"]] == [
        ("a", "k1", 3, 0.75),
        ("a", "k2", 1, 0.25),
        ("b", "\\xff", 1, 1.0),
    ]
    assert [(each["late"], each["most_behind_ms"], each["future"]) for each in figures["disorder"]] == [
        (1, 18_000, 0),
        (0, 9_000, 0),
        (0, 0, 1),
    ]
    assert figures["compression"] == [{"topic": "a", "record_bytes": 68, "file_bytes": 34, "gain": 2.0}]


def test_each_task_passes_on_only_its_busiest_keys(spark: "SparkSession") -> None:
    from pybroker.pipeline.topic_report.measures import MOST_KEYS, busiest_keys, slim_rows

    rows = [("a", 0, number, 0, b"k%02d" % (number % 30), None) for number in range(100)]
    busiest = busiest_keys(slim_rows(rows_of(spark, *rows)))
    plan = busiest._jdf.queryExecution().executedPlan().toString()
    assert f"row_number(), {MOST_KEYS}, Partial" in plan
    found = with_retry(lambda: busiest.orderBy("rank").collect())
    assert [(bytes(each["key"]), each["rows"], each["share"]) for each in found] == [
        (b"k%02d" % number, 4, 0.04) for number in range(MOST_KEYS)
    ]


def test_report_without_rows_is_empty(spark: "SparkSession") -> None:
    from pybroker.pipeline.topic_report.figures_page import figures_page

    figures = figures_of(rows_of(spark))
    assert figures["volumes"] == []
    assert "0 topics, 0 records" in figures_page(figures)


def test_report_of_kafka_log_directory_is_one_self_contained_page(spark: "SparkSession") -> None:
    from pybroker.pipeline.jobs.report_command import file_bytes
    from pybroker.pipeline.topic_report.figures_page import figure_charts, figures_page

    def bars_of(chart: "Chart") -> Sequence[object]:
        return chart.steps if isinstance(chart, TimeChart) else chart.bars

    frame = with_retry(lambda: spark.read.format("pybroker-log").load(str(KAFKAS)))
    figures = figures_of(frame, file_bytes=file_bytes([str(KAFKAS)]))
    assert {each["topic"] for each in figures["compression"]} == {each["topic"] for each in figures["volumes"]}
    assert json.loads(json.dumps(figures)) == figures
    page = figures_page(figures)
    assert page.count("<rect ") == sum(len(bars_of(chart)) for chart in figure_charts(figures))
    assert not re.search(r"(src|href)=|url\(|<script[^>]", page)


def test_report_of_a_topic_that_no_log_directory_has_fails(
    spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(spark, "report", "--log-directory", str(KAFKAS), "--topics", "nosuch") == 1
    said = capsys.readouterr()
    failure = f"pybroker-pipeline: Option 'subscribe': there is no topic nosuch in {KAFKAS}\n"
    assert (said.out, said.err) == ("", failure)


@pytest.mark.parametrize(("span_ms", "step_ms"), [(0, 1), (60, 1), (61, 10), (3_600_000, 60_000)])
def test_rate_intervals_are_round_and_at_most_sixty(spark: "SparkSession", span_ms: int, step_ms: int) -> None:
    from pybroker.pipeline.topic_report.measures import bucket_ms

    assert bucket_ms(NOON_MS, NOON_MS + span_ms) == step_ms
