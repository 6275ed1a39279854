"""Runs the examples of README and docs/ as they stand, and checks the defaults they name."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest
from pybroker import Broker
from pybroker.config.load import load_config
from pybroker.config.table import BROKER_SETTINGS

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_DEFAULT_ADDRESS = "localhost:9092"


class Example(NamedTuple):
    """A block of Python with its page and the line where it begins."""

    page: str
    line: int
    code: str

    def compiled(self) -> CodeType:
        """The code, with empty lines before it so that a traceback names the page's line."""
        return compile("\n" * self.line + self.code, str(ROOT / self.page), "exec")


def examples(page: str) -> list[Example]:
    text = (ROOT / page).read_text()
    return [Example(page, text.count("\n", 0, match.start("code")), match["code"]) for match in _BLOCK.finditer(text)]


def name_of(example: Example) -> str:
    return f"{example.page}:{example.line}"


LIBRARY = [*examples("docs/user/library.md"), *examples("docs/user/test-kit.md")]


def test_the_examples_are_found() -> None:
    assert len(LIBRARY) >= 8
    assert len(examples("README.md")) >= 1


@pytest.mark.parametrize("example", LIBRARY, ids=name_of)
def test_examples_of_the_pages_for_programs_run(example: Example, tmp_path: Path) -> None:
    if "def test_" in example.code:
        file = tmp_path / "test_example.py"
        file.write_text(example.code)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        exec(example.compiled(), {"__name__": "__main__"})


@pytest.mark.parametrize("example", examples("README.md")[1:], ids=name_of)
def test_examples_of_the_readme_run(example: Example) -> None:
    """Uses a broker of its own in place of the one that a reader has started."""
    with Broker() as broker:
        code = example.code.replace(_DEFAULT_ADDRESS, broker.bootstrap_servers)
        exec(example._replace(code=code).compiled(), {"__name__": "__main__"})


def test_the_first_example_of_the_readme_reads_what_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    first = examples("README.md")[0]
    assert _DEFAULT_ADDRESS in first.code
    test_examples_of_the_readme_run(first)
    assert len(capsys.readouterr().out.splitlines()) == 100


def test_old_defaults_are_compared_with_those_of_kafka_and_ours() -> None:
    rows = re.findall(r"^\| `([a-z.]+)` \| `(\S+)` \| .* \| `(\S+)` \|$", page("user/outdated-claims"), re.MULTILINE)
    assert len(rows) >= 8
    reference = json.loads((ROOT / "tests/reference/settings.json").read_text())
    kafkas = {setting["name"]: setting["default"] for setting in reference["broker"]}
    for name, told, default in rows:
        assert told != default
        assert kafkas[name] == BROKER_SETTINGS[name].default_text(embedded_store=False) == default


def test_file_to_begin_a_cluster_with_is_taken_as_it_stands() -> None:
    (text,) = re.findall(r"^```properties\n(.*?)^```", page("operator/operations"), re.MULTILINE | re.DOTALL)
    config = load_config(text)
    assert not config.unknown
    assert not config.uses_embedded_store
    assert config.int("min.insync.replicas") < config.int("default.replication.factor") == 3


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()
