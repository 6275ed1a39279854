"""The command `pybroker-pipeline` in the Spark session of the tests: without the ten seconds that a new one takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.spark.spark_rows import patiently

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_command"]


def run_command(spark: SparkSession, *arguments: str) -> int:
    """Its exit code. The jobs find the session, and don't end it."""
    from pybroker.pipeline.jobs.command import JobError, run_job, tell

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(spark), "stop", lambda self: None)
        try:
            return patiently(lambda: run_job(arguments))
        except JobError as error:
            return tell(error)
