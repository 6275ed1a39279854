"""The Spark session of a job, and the errors that become one line on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ...client.given_options import OptionError
from ..log_directories.log_data_source import PybrokerLogDataSource
from ..topics.data_source import PybrokerDataSource
from .command import BAD_INPUT, JobError, failure_line, on_terminal

_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    # Rows are not sorted by topic and day. A task has few of these, so it can keep this many files open instead of
    # sorting.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    # The type that archive tasks write; Spark's default, INT96, is deprecated in Parquet.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Defaults of the jobs; `--conf`, spark-submit and spark-defaults.conf override them."""
_BARS = "spark.ui.showConsoleProgress"
"""Spark's setting for progress bars. When PySpark starts the JVM, it does so as a shell, whose bars would be on."""
SECRETS = "(?i)secret|password|passwd|token|access[.]?key|credential|jaas|keystore[.]key"
"""Names of settings whose values Spark leaves out of plans, its log and its event log. By default it would show a
key in `ssl.keystore.key`.
"""


@contextmanager
def job_session(name: str, master: str | None, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yields a Spark session in which both data sources are registered, and stops it at the end."""
    # Workers must run the same interpreter, because another one may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"pybroker-pipeline {name}")
    if master is not None:
        builder = builder.master(master)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    bars = {} if is_submitted else {_BARS: str(on_terminal()).lower()}
    for key, value in {"spark.redaction.regex": SECRETS, **bars, **conf}.items():
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
def errors_in_one_line(*failures: type[Exception], refusals: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turns Spark's errors and `failures` into JobError; wrong options and `refusals` become a JobError with exit code
    2.
    """
    refused: tuple[type[Exception], ...] = (OptionError, *refusals)
    try:
        yield
    except refused as error:
        raise JobError(str(error), BAD_INPUT) from None
    except (PySparkException, Py4JError) as error:
        raise JobError(failure_line(error)) from None
    except failures as error:
        raise JobError(str(error)) from None
