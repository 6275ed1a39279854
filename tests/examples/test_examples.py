"""Runs each example of the folder ``examples``."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from support.clients.foreign_clients import CACHE, bring
from support.plugin_runs import run_inside
from support.processes.java_programs import java_program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def places() -> Iterator[tuple[str, str]]:
    """The bootstrap servers and the HTTP address of a broker with the test kit."""
    with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.test.kit": "true"}) as broker:
        assert broker.http_url is not None
        yield broker.bootstrap_servers, broker.http_url


def run_example(pytester: pytest.Pytester, name: str) -> pytest.RunResult:
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    return run_inside(pytester)


def test_the_pytest_example_passes(pytester: pytest.Pytester) -> None:
    run_example(pytester, "pytest").assert_outcomes(passed=3)


def test_the_fastapi_example_passes(pytester: pytest.Pytester) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    run_example(pytester, "fastapi").assert_outcomes(passed=2)


def test_the_go_example_passes_again_on_the_same_broker(places: tuple[str, str]) -> None:
    bring("go")  # its modules, too
    servers, http = places
    settings = {
        "GOMODCACHE": str(CACHE / "modules"),
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
        "KAFKA": servers,
        "KAFKA_HTTP": http,
    }
    command = ["go", "test", "-count=2", "."]
    done = subprocess.run(
        command, cwd=EXAMPLES / "go", env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_java_example_passes_again_on_the_same_broker(places: tuple[str, str]) -> None:
    bring("java")
    command = [*java_program(EXAMPLES / "java" / "FaultsTest.java", CACHE / "kafka-clients-4.1.1" / "libs"), *places]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1:] == ["passed"], done.stdout + done.stderr


def steps_of(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_the_github_workflow_runs_the_tests_here_and_on_kafka() -> None:
    yaml = pytest.importorskip("yaml")
    text = (EXAMPLES / "github-actions" / "test.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert steps_of(jobs["test"])[-1] == "pytest -n auto"
    assert steps_of(jobs["kafka"])[-1] == "pytest --kafka=localhost:9092"
    assert json.dumps(jobs["kafka"]["services"]["kafka"]["ports"]) == '["9092:9092"]'
