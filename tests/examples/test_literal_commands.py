"""The commands that the examples tell people to run, in a fresh environment beside a copy of this checkout."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from pybroker import Broker
from support.clients.foreign_clients import CACHE, bring, java_from_source
from support.source_tree import ROOT

EXAMPLES = ROOT / "examples"
RUNS = re.compile(r"^ +- run: (.+)$", re.MULTILINE)
QUOTED = re.compile(r"`((?:pip install|pip wheel|pytest)[^`]*)`")
NOT_COPIED = shutil.ignore_patterns(".*", "tests", "*.egg-info", "__pycache__", "build")
NAMED_SERVER = "localhost:9092"
NAMED_KIT = "http://localhost:8092"
WITH_KIT = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.test.kit": "true"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this checkout, which builds may change."""
    copy = tmp_path_factory.mktemp("checkout") / "pybroker"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    return copy


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Variables with which ``pip`` and ``pytest`` are those of a new environment."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True)
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    return {**own, "PATH": path, "VIRTUAL_ENV": str(place)}


def run(command: str, directory: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-ec", command], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("example", "file", "passed"), [("pytest", "test_totals.py", 3), ("fastapi", "test_app.py", 2)]
)
def test_commands_in_the_docstring_of_an_example_pass(
    environment: Mapping[str, str], checkout: Path, example: str, file: str, passed: int
) -> None:
    directory = checkout / "examples" / example
    docstring = (directory / file).read_text().split('"""')[1]
    commands = [" ".join(each.split()) for each in QUOTED.findall(docstring)]
    assert [command.split()[0] for command in commands] == ["pip", "pytest"]
    *_, said = [run(command, directory, environment) for command in commands]
    assert f"{passed} passed" in said


def test_steps_of_the_github_workflow_pass(environment: Mapping[str, str], checkout: Path, tmp_path: Path) -> None:
    """The service with Apache Kafka is another broker here, whose address takes the place of the named one."""
    shutil.copytree(EXAMPLES / "pytest", tmp_path, dirs_exist_ok=True)
    here, there = (EXAMPLES / "github-actions" / "test.yml").read_text().split("\n  kafka:\n")
    (making_the_wheel,) = QUOTED.findall(here)
    run(making_the_wheel.replace("CHECKOUT", str(checkout)), tmp_path, environment)
    *_, said = [run(command, tmp_path, environment) for command in RUNS.findall(here)]
    assert "3 passed" in said
    with Broker() as broker:
        steps = [step.replace(NAMED_SERVER, broker.bootstrap_servers) for step in RUNS.findall(there)]
        assert broker.bootstrap_servers in steps[-1]
        *_, said = [run(step, tmp_path, environment) for step in steps]
    assert re.search(r"\b2 passed, 1 skipped\b", said), said


@pytest.mark.long
def test_command_in_the_comment_of_the_java_example_passes() -> None:
    java_from_source()
    bring("java")
    (command,) = re.findall(r"java -cp .+", (EXAMPLES / "java" / "FaultsTest.java").read_text())
    libs = CACHE / "kafka-clients-4.1.1" / "libs"
    with Broker(WITH_KIT) as broker:
        assert broker.http_url is not None
        places = {"libs": str(libs), NAMED_SERVER: broker.bootstrap_servers, NAMED_KIT: broker.http_url}
        for named, here in places.items():
            assert named in command
            command = command.replace(named, here)
        said = run(command, EXAMPLES / "java", os.environ)
    assert said.splitlines()[-1] == "passed"
