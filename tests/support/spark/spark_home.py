"""PySpark's files as a home from which Spark starts fast, and where its workers may write."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__all__ = ["installed_pyspark", "spark_home"]

_SOURCES = "python"


def spark_home(directory: Path, package: Path | None = None) -> Path:
    """Links to what is in the package (that of this interpreter) but its sources in a zip. Made once.

    Spark puts `python/lib/pyspark.zip` of its home before all else that its Python processes import from, and what
    comes from a zip is compiled each time: 0.7 s of a processor for each of the dozen processes of a session. Where
    there is no such file they import the installed package. Workers of a cluster keep the logs of executors there.
    """
    if not directory.exists():
        directory.mkdir()
        for path in (package or installed_pyspark()).iterdir():
            if path.name != _SOURCES:
                (directory / path.name).symlink_to(path)
    return directory


def installed_pyspark() -> Path:
    """The folder of the package; what asks for it has skipped the test where there is none."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))
