"""The versions of the program that runs, for ``/buildinfo``."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["KAFKA_VERSION", "build_info"]

KAFKA_VERSION = "3.9"


@cache
def build_info() -> Mapping[str, str]:
    """Reads the metadata of the installed package; blocks at the first call."""
    try:
        number = version("pybroker")
    except PackageNotFoundError:
        number = "unknown"
    return {
        "version": number,
        "kafka": KAFKA_VERSION,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
