"""The Spark session of a job, and what of its failures the person at the terminal gets to see."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..data_source import PybrokerDataSource
from ..log_data_source import PybrokerLogDataSource
from ..options import OptionError
from .command import BAD_INPUT, JobError, failure_line

_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Rows come unsorted by topic and day, of which a task has few: so many files at once, before it has to sort them.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
}


@contextmanager
def job_session(name: str, master: str | None, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session with both sources, for as long as this lasts."""
    # Workers run the same interpreter, or they may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"pybroker-pipeline {name}")
    if master is not None:
        builder = builder.master(master)
    for key, value in {**_DEFAULTS, **conf}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
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
