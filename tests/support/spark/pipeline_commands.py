"""Runs `pybroker-pipeline` in the Spark session of the tests, which saves the ten seconds of starting one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.spark.spark_rows import with_retry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_command"]


def run_command(spark: SparkSession, *arguments: str) -> int:
    """Runs a command; returns its exit code. Jobs use the existing session and don't stop it."""
    from pybroker.pipeline.jobs.command import JobError, report_error, run_job

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(spark), "stop", lambda self: None)
        try:
            return with_retry(lambda: run_job(arguments))
        except JobError as error:
            return report_error(error)
