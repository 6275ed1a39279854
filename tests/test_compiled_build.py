"""Tests of the optional build (setup.py): the wheel has modules compiled by mypyc that behave like their sources."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.compiled_package import build_compiled, missing_for_compiling

ROOT = Path(__file__).resolve().parent.parent
RUN_AGAIN = (
    "tests/protocol/compiled_parity.py",
    "tests/protocol/records/test_varint.py",
    "tests/protocol/records/test_walk.py",
    "tests/protocol/test_compaction_walk.py",
    "tests/protocol/test_summary_walk.py",
    "tests/storage/compaction/test_compaction.py",
)
"""A test for each compiled module."""
RUN_AGAIN_WHEN_LONG = (
    "tests/protocol/records/test_fuzz.py",
    "tests/protocol/records/test_log_directories.py",
    "tests/protocol/records/test_round_trip.py",
    "tests/storage/test_append.py",
    "tests/storage/test_misshapen_records.py",
    "tests/storage/compaction/test_key_table.py",
)
"""The other tests that examine records closely; `scripts/test --compiled` runs every test."""

pytestmark = pytest.mark.timeout(1200)  # a compiler on a busy machine
MISSING = missing_for_compiling()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if MISSING is not None:
        pytest.skip(MISSING)
    return build_compiled(tmp_path_factory.mktemp("compiled"), level=0)  # half of the time of level 3


def listed_modules() -> set[str]:
    """Returns the modules listed in setup.py, as paths without suffix."""
    found = re.search(r"^COMPILED = \(([^)]*)\)", (ROOT / "setup.py").read_text(), re.MULTILINE)
    assert found is not None
    return set(re.findall(r'"([^"]+)\.py"', found[1]))


def test_each_listed_module_is_in_the_wheel_compiled_and_as_source(compiled: Path) -> None:
    package = compiled / "pybroker"
    libraries = {str(path.relative_to(package)).partition(".")[0] for path in package.rglob("*.so")}
    assert libraries == listed_modules()
    assert all((package / f"{module}.py").exists() for module in libraries)


@pytest.mark.parametrize("files", [RUN_AGAIN, pytest.param(RUN_AGAIN_WHEN_LONG, marks=pytest.mark.long)])
def test_compiled_modules_pass_the_tests_of_their_sources(compiled: Path, files: tuple[str, ...]) -> None:
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *files]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(compiled)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
