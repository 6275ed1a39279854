"""pybroker with its hot modules compiled (see setup.py), built from this checkout into a folder for PYTHONPATH."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

__all__ = ["build_compiled", "missing_for_compiling"]

ROOT = Path(__file__).resolve().parents[2]
_NOT_FOR_A_WHEEL = shutil.ignore_patterns(".*", "tests", "scripts", "docs", "*.egg-info", "__pycache__", "build")


def missing_for_compiling() -> str | None:
    """The reason why this machine cannot compile; None when it can."""
    compiler = str(sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler}) on PATH"
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    return None if headers.exists() else f"no Python headers ({headers})"


def build_compiled(directory: Path, *, level: int = 3) -> Path:
    """Build the wheel as a user would and unpack it; return the folder that contains the package. Raises
    AssertionError with the build's output. ``level``: of the C compiler's optimisation.
    """
    source, wheels, unpacked = directory / "source", directory / "wheels", directory / "compiled"
    shutil.copytree(ROOT, source, ignore=_NOT_FOR_A_WHEEL)
    command = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source)]
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYBROKER_COMPILE": "1", "PYBROKER_COMPILE_LEVEL": str(level)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"the compiled build failed:\n{done.stdout}")
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    return unpacked
