"""Checks imports between the pipeline and the other folders."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHER_PACKAGES = ("base", "broker", "client", "config", "controller", "protocol", "replication", "storage")
HEAVY = {"numba", "numpy", "pyarrow", "pyspark"}


def imported(package: str) -> Iterator[tuple[Path, list[str]]]:
    """Yields each module of a package with its imports, as parts of full names."""
    for path in sorted((ROOT / package).rglob("*.py")):
        parents = ["pybroker", *path.parent.relative_to(ROOT).parts]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield path, alias.name.split(".")
            elif isinstance(node, ast.ImportFrom):
                above = parents[: len(parents) - node.level + 1] if node.level else []
                yield path, [*above, *(node.module or "").split(".")]


def test_no_other_folder_imports_the_pipeline_or_its_dependencies() -> None:
    for package in OTHER_PACKAGES:
        for path, parts in imported(package):
            assert parts[0] not in HEAVY, f"{path} imports {parts[0]}"
            assert parts[:2] != ["pybroker", "pipeline"], f"{path} imports the pipeline"


def test_pipeline_imports_only_base_client_protocol_and_storage() -> None:
    found = {parts[1] for _, parts in imported("pipeline") if parts[0] == "pybroker"}
    assert found == {"base", "client", "pipeline", "protocol", "storage"}


@pytest.mark.parametrize("name", ["PybrokerDataSource", "PybrokerLogDataSource"])
def test_data_source_is_created_without_pyarrow(name: str) -> None:
    """Spark keeps a Python process for it, whose memory PyArrow would double."""
    pytest.importorskip("pyspark")
    program = f"""
import sys
from pybroker.pipeline import {name}
{name}({{"path": "/"}}).schema()
print(*sorted({{"numpy", "pyarrow"}} & sys.modules.keys()))
"""
    found = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert found.stdout.split() == []
