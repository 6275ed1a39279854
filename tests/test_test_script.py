"""What ``scripts/test`` has pytest do."""

import importlib.util
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
def test_the_long_form_kills_brokers_fifty_times_unless_it_is_told_how_often(
    script: ModuleType, given: tuple[str, ...], rounds: str
) -> None:
    chosen = arguments(script, *given)
    assert rounds in chosen
    assert chosen.count("--kill-rounds") == 1


def test_long_tests_run_in_the_long_form_only(script: ModuleType) -> None:
    assert "-m not long" in arguments(script)
    assert "-m not long" not in arguments(script, "--long")
    assert "--kill-rounds" not in arguments(script)
