"""The broker knows nothing of the pipeline, nor the pipeline of the broker."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OTHER_ROOMS = ("base", "broker", "config", "controller", "protocol", "replication", "storage")
HEAVY = {"numba", "numpy", "pyarrow", "pyspark"}


def imported(room: str) -> Iterator[tuple[Path, list[str]]]:
    """What each module of a room imports from where, by the parts of the whole name."""
    for path in sorted((ROOT / room).rglob("*.py")):
        package = ["pybroker", *path.parent.relative_to(ROOT).parts]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield path, alias.name.split(".")
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                yield path, [*above, *(node.module or "").split(".")]


def test_no_other_room_imports_the_pipeline_or_what_it_needs() -> None:
    for room in OTHER_ROOMS:
        for path, parts in imported(room):
            assert parts[0] not in HEAVY, f"{path} imports {parts[0]}"
            assert parts[:2] != ["pybroker", "pipeline"], f"{path} imports the pipeline"


def test_the_pipeline_imports_no_more_than_the_protocol_and_the_files() -> None:
    rooms = {parts[1] for _, parts in imported("pipeline") if parts[0] == "pybroker"}
    assert rooms == {"base", "pipeline", "protocol", "storage"}
