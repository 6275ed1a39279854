"""The Spark session of a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from pyspark.sql import SparkSession

from ..data_source import PybrokerDataSource
from ..log_data_source import PybrokerLogDataSource

_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Rows come unsorted by topic and day, of which a task has few: so many files at once, before it has to sort them.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
}


def job_session(name: str, master: str | None, conf: Iterable[str]) -> SparkSession:
    """A session with both sources. `conf`: NAME=VALUE each. Raises ValueError for one that is not."""
    # Workers run the same interpreter, or they may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"pybroker-pipeline {name}")
    if master is not None:
        builder = builder.master(master)
    for key, value in (_DEFAULTS | settings_of(conf)).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.dataSource.register(PybrokerDataSource)
    session.dataSource.register(PybrokerLogDataSource)
    return session


def settings_of(pairs: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE each, the last one of a name counts. Raises ValueError."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{pair} must be NAME=VALUE")
        found[name.strip()] = value
    return found
