"""Tests of the arguments with which `scripts/test` runs pytest."""

import importlib.util
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "test_suite.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scripts_test_suite", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(script: ModuleType, *given: str) -> str:
    return " ".join(script.pytest_arguments(*script.parse(list(given))))


@pytest.mark.parametrize(
    ("given", "rounds"),
    [
        (("--long",), "--kill-rounds 50"),
        (("--long", "--kill-rounds", "7"), "--kill-rounds 7"),
        (("--long", "--kill-rounds=70"), "--kill-rounds=70"),
        (("--kill-rounds", "9"), "--kill-rounds 9"),
    ],
)
def test_long_form_kills_brokers_fifty_times_by_default(
    script: ModuleType, given: tuple[str, ...], rounds: str
) -> None:
    chosen = arguments(script, *given)
    assert rounds in chosen
    assert chosen.count("--kill-rounds") == 1


def test_long_tests_run_only_with_long(script: ModuleType) -> None:
    assert "-m not long" in arguments(script)
    assert "-m not long" not in arguments(script, "--long")
    assert "--kill-rounds" not in arguments(script)


QUICK = ("-p", "no:schemathesis", "-p", "no:anyio")
"""Leaves out plugins that take a moment to load, and that no test here needs."""
FAILS_ONCE = """
from pathlib import Path
from support.load.cluster_promises import check_offsets


def test_that_fails_once() -> None:
    mark = Path(__file__).with_name("failed")
    if not mark.exists():
        mark.touch()
        {failure}
"""


@pytest.mark.parametrize(
    ("failure", "passes"),
    [("raise OSError('the machine is busy')", True), ("check_offsets([(1, b'')], 'events-0')", False)],
    ids=["noise", "a lost record"],
)
def test_failure_that_passes_alone_is_forgiven_except_a_lost_record(
    script: ModuleType, failure: str, passes: bool, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text((SCRIPT.parent.parent / "tests" / "conftest.py").read_text())
    (tmp_path / "test_once.py").write_text(FAILS_ONCE.format(failure=failure))
    options, further = script.parse(["-c", str(SCRIPT.parent.parent / "pyproject.toml"), "-n", "1", *QUICK])
    assert script.run_suite(options, [*further, str(tmp_path)]) is passes


def test_crash_tests_are_not_repeated(script: ModuleType) -> None:
    failed = ["tests/cluster/test_faults.py::a", "tests/crash/test_power_cut.py::b", "tests/interop/test_admin.py::c"]
    assert script.never_repeated(failed, []) == [failed[1]]
    assert script.never_repeated(failed, [failed[0]]) == failed[:2]


def test_the_run_has_one_more_worker_than_processors_and_four_at_most(script: ModuleType) -> None:
    assert [script.workers(processors) for processors in (1, 2, 3, 64)] == [2, 3, 4, 4]
    assert "--no-loadscope-reorder" in arguments(script)
    assert "-n 0" in arguments(script, "-n", "0")
    assert "--dist" not in arguments(script, "-n", "0")


def test_files_of_the_pipeline_come_first_and_those_of_quick_folders_last(script: ModuleType) -> None:
    files = ["pipeline/test_audit.py", "interop/groups/test_rebalancing.py", "test_image.py", "broker/test_restart.py"]
    assert [script.place_in_order(f"tests/{file}::test_it") for file in files] == [0, 1, 1, 2]


def test_tests_are_compiled_although_python_keeps_no_bytecode(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "test_one.py").write_text("def test_one() -> None:\n    assert 1\n")
    options, further = script.parse(["-c", str(SCRIPT.parent.parent / "pyproject.toml"), str(tmp_path)])
    assert script.compile_tests(options, further).wait() == 0
    assert list(tmp_path.rglob("test_one.*-pytest-*.pyc"))


def test_types_are_checked_while_tests_run_and_mistakes_are_printed_at_the_end(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tests_run = threading.Event()

    def types() -> object:
        return script.Outcome("types", not tests_run.wait(timeout=30), 7, "a.py:1: error: no such name\n")

    def run_suite(options: object, further: list[str]) -> bool:
        print("1 passed")
        tests_run.set()
        return True

    nothing = subprocess.Popen([sys.executable, "-c", ""])
    monkeypatch.setattr(script, "compile_tests", lambda options, further: nothing)
    monkeypatch.setattr(script, "lint", lambda: True)
    monkeypatch.setattr(script, "prepare", lambda: None)
    monkeypatch.setattr(script, "types", types)
    monkeypatch.setattr(script, "run_suite", run_suite)
    assert script.main([]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["1 passed", "a.py:1: error: no such name"]
    assert printed[2].endswith("types 7 s; failed: types")


def test_archives_of_classes_are_made_of_fetched_jars(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for step in ("prepare_java", "fetch_kafka", "archive_classes", "install_extras", "fetch_connector"):
        monkeypatch.setattr(script, step, lambda step=step: done.append(step))
    monkeypatch.setattr(script, "fetch_clients", lambda *clients: done.extend(clients))
    script.prepare()
    others = {"go", "node", "java", "streams", "install_extras", "fetch_connector"}
    assert {*done} == {"prepare_java", "fetch_kafka", "archive_classes"} | others
    assert done[0] == "prepare_java"
    assert done.index("fetch_kafka") < min(map(done.index, ("archive_classes", "java", "streams", "fetch_connector")))


def test_failed_preparation_is_raised(script: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError):
        script.run_beside_each_other(lambda: None, lambda: 1 // 0)
