"""Tests of watched Spark actions: progress reports and stops. Each task waits for a file."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.pipeline.jobs.command import JobError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def waiting(spark: "SparkSession", file: Path) -> Callable[[], list[int]]:
    """Runs a stage of two tasks, one of which waits for the file."""
    path = str(file)

    def wait_for_file(number: int) -> int:
        while number and not os.path.exists(path):
            time.sleep(0.05)
        return number

    return lambda: spark.sparkContext.parallelize(range(2), 2).map(wait_for_file).collect()


def test_progress_of_the_stages_is_reported(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pybroker.pipeline.jobs import action_watch

    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.endswith(": 1 of 2 tasks"):
            (tmp_path / "go").touch()

    monkeypatch.setattr(action_watch, "say", say)
    assert action_watch.watch_work(spark, waiting(spark, tmp_path / "go"), every=1) == [0, 1]
    assert all(line.startswith("stage ") for line in said)


def test_exception_of_the_work_is_raised(spark: "SparkSession") -> None:
    from pybroker.pipeline.jobs.action_watch import watch_work

    with pytest.raises(ZeroDivisionError):
        watch_work(spark, lambda: 1 // 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_work(spark: "SparkSession", tmp_path: Path, number: signal.Signals) -> None:
    from pybroker.pipeline.jobs.action_watch import watch_work

    before = signal.getsignal(number)
    try:
        with pytest.raises(JobError, match="stopped before the job was finished"):
            watch_work(
                spark, waiting(spark, tmp_path / "go"), on_progress=lambda: os.kill(os.getpid(), number), every=1
            )
    finally:
        (tmp_path / "go").touch()
    assert signal.getsignal(number) is before


def test_spark_workers_use_the_installed_pyspark_package(spark: "SparkSession") -> None:
    """Not the sources in Spark's zip, which each process would compile anew (support/spark/spark_home.py)."""
    import pyspark

    found = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.modules["pyspark"].__file__).collect()
    assert found == [pyspark.__file__]
