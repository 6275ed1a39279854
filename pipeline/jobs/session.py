"""The Spark session of a job, and what of its failures the person at the terminal gets to see."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..log_directories.log_data_source import PybrokerLogDataSource
from ..options.options import OptionError
from ..topics.data_source import PybrokerDataSource
from .command import BAD_INPUT, JobError, failure_line

_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    # Rows come unsorted by topic and day, of which a task has few: so many files at once, before it has to sort them.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    # As tasks of the archive write them, and not as the type that Parquet has given up.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Where nobody said otherwise: `--conf`, spark-submit, spark-defaults.conf."""
_OF_NO_SHELL = {"spark.ui.showConsoleProgress": "false"}
"""PySpark starts a JVM of its own as a shell, which would have it."""


@contextmanager
def job_session(name: str, master: str | None, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session with both sources, for as long as this lasts."""
    # Workers run the same interpreter, or they may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"pybroker-pipeline {name}")
    if master is not None:
        builder = builder.master(master)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    for key, value in {**({} if is_submitted else _OF_NO_SHELL), **conf}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        given = session.sparkContext.getConf()
        for key, value in _DEFAULTS.items():
            if key not in conf and not given.contains(key):
                session.conf.set(key, value)
        session.sparkContext.setLogLevel("ERROR")
        session.dataSource.register(PybrokerDataSource)
        session.dataSource.register(PybrokerLogDataSource)
        yield session
    finally:
        session.stop()


@contextmanager
def told_in_a_line(*failures: type[Exception], refusals: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Makes a JobError of what Spark raises and of `failures`, and of wrong options and `refusals` one of bad input."""
    refused: tuple[type[Exception], ...] = (OptionError, *refusals)
    try:
        yield
    except refused as error:
        raise JobError(str(error), BAD_INPUT) from None
    except (PySparkException, Py4JError) as error:
        raise JobError(failure_line(error)) from None
    except failures as error:
        raise JobError(str(error)) from None
