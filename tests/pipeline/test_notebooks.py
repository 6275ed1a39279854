"""Runs the cells of the notebooks in examples/notebooks, in the Spark session of the tests."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples" / "notebooks"


def run(name: str) -> dict[str, Any]:
    """Runs the code cells of a notebook in turn; returns its variables."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads((NOTEBOOKS / name).read_text())["cells"]):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "the notebook is kept without outputs"
            parsed = ast.parse("".join(cell["source"]))
            exec(compile(parsed, f"{name}, cell {number}", "exec"), variables)
    return variables


@pytest.mark.usefixtures("spark")
def test_notebook_about_topics_reads_and_writes_a_topic() -> None:
    found = run("topics.ipynb")
    assert found["totals"] == {
        item: sum(number % 10 for number in range(300) if number % 3 == at)
        for at, item in enumerate(("tea", "coffee", "milk"))
    }
    assert found["by_customer"] == {f"customer-{at}": len(range(at, 300, 7)) for at in range(7)}


@pytest.mark.usefixtures("spark")
def test_notebook_about_archives_archives_each_record_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("archive.ipynb")
    assert (found["archived"], found["faults"]) == (300, [])
    assert capsys.readouterr().out.splitlines()[:2] == ["300 rows in 1 files", "0 rows in 0 files"]


def test_each_notebook_is_run() -> None:
    assert {path.name for path in NOTEBOOKS.iterdir()} == {"topics.ipynb", "archive.ipynb"}
