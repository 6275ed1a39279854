"""Finds the packages and, with `PYBROKER_COMPILE=1 pip install .`, compiles the modules below with mypyc.

The modules are the loops over records (validation, compaction, reading) and compaction's table of keys. Sources and
tests are the same as without compilation (`scripts/test --compiled`). Compiling needs a C compiler. Without the
variable, and in an editable install, the result is pure Python.
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

COMPILED = (
    "protocol/records/compaction_walk.py",
    "protocol/records/summary_walk.py",
    "protocol/records/value_split.py",
    "protocol/records/varint.py",
    "protocol/records/walk.py",
    "storage/compaction/key_table.py",
)
LEVEL = os.environ.get("PYBROKER_COMPILE_LEVEL", "3")  # of the C compiler's optimisation
ROOT = Path(__file__).resolve().parent
_NOT_INSTALLED = ("build", "dist", "docs", "scripts", "tests")
# scripts/test checks the types; an isolated build lacks most imported packages.
_MYPY_OPTIONS = ["--ignore-missing-imports", "--config-file=", "--explicit-package-bases"]


def packages() -> list[str]:
    """Every folder with an ``__init__.py``, by its name in the package ``pybroker``."""
    top = [path for path in ROOT.iterdir() if path.name not in _NOT_INSTALLED and (path / "__init__.py").exists()]
    folders = [path.parent.relative_to(ROOT) for package in top for path in package.rglob("__init__.py")]
    return ["pybroker", *sorted(".".join(("pybroker", *folder.parts)) for folder in folders)]


def compiler_requirement() -> str:
    """The requirement of mypy that the tests use; mypyc is a part of mypy."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return next(str(requirement) for requirement in extras["test"] if requirement.startswith("mypy"))


def extensions() -> list[Extension]:
    """The compiled modules. mypyc names a module by its folders, so the root is used through a link called pybroker."""
    from mypyc.build import mypycify

    os.chdir(ROOT)
    link = Path("build", "compiled", "pybroker")
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(ROOT)
    os.environ["MYPYPATH"] = str(link.parent)
    return mypycify([*_MYPY_OPTIONS, *(str(link / path) for path in COMPILED)], opt_level=LEVEL, debug_level="0")


asked = os.environ.get("PYBROKER_COMPILE", "0") not in ("", "0")
setup(
    packages=packages(),
    script_name="setup.py",  # so that setuptools does not take this file for a module of the package
    setup_requires=[compiler_requirement()] if asked and "egg_info" in sys.argv else [],
    ext_modules=extensions() if asked and "bdist_wheel" in sys.argv else [],
)
