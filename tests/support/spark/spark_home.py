"""A home directory for Spark from which it starts fast and to which its workers may write."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__all__ = ["installed_pyspark", "pyspark_alone", "spark_home"]

_SOURCES = "python"


def spark_home(directory: Path, package: Path | None = None) -> Path:
    """Returns a home with links to this interpreter's PySpark, except the zip of its sources. Made once.

    Spark puts `python/lib/pyspark.zip` of its home first on the path of its Python processes, which compile zipped
    sources at each start: 0.7 s of CPU for each of the dozen processes of a session. Without the zip they import the
    installed package. Workers of a cluster also write executor logs there.
    """
    if not directory.exists():
        directory.mkdir()
        for path in (package or installed_pyspark()).iterdir():
            if path.name != _SOURCES:
                (directory / path.name).symlink_to(path)
    return directory


def installed_pyspark() -> Path:
    """Returns the folder of the installed PySpark; callers have skipped the test without it."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def pyspark_alone(directory: Path, packages: Path) -> Path:
    """Returns a folder with links to PySpark and Py4J in these site-packages, and nothing else of them. Made once."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("pyspark", "py4j"):
        if not (directory / name).exists():
            (directory / name).symlink_to(packages / name)
    return directory
