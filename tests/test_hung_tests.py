"""Tests that a test which no signal can end fails alone, and that the run goes on."""

from pathlib import Path

import pytest
from support.file_groups import scope_of

TESTS = Path(__file__).parent
QUICK = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:anyio", "-o", f"pythonpath={TESTS}")
"""Leaves out plugins that take a moment to load, and that no test here needs."""
HUNG = """
    import signal, threading, time
    import pytest

    def hang():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        threading.Event().wait()

    @pytest.fixture
    def hangs_at_the_end():
        yield
        hang()

    {hung}

    def test_that_passes():
        pass
"""
IN_THE_CALL = "def test_that_hangs(): hang()"
IN_THE_TEARDOWN = "def test_that_hangs(hangs_at_the_end): assert 1 == 2"


@pytest.mark.parametrize(("hung", "failed"), [(IN_THE_CALL, 1), (IN_THE_TEARDOWN, 2)])
def test_test_that_ignores_signals_fails_and_the_next_one_runs(
    hung: str, failed: int, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest("import support.hung_tests as hung\nhung.GRACE_S = 0.1\npytest_plugins = [hung.__name__]")
    pytester.makepyfile(HUNG.format(hung=hung))
    result = pytester.runpytest_subprocess("-n", "1", "--timeout", "3", *QUICK)
    result.assert_outcomes(passed=1, failed=failed)
    result.stdout.fnmatch_lines("*crashed while running*test_that_hangs*")
    result.stderr.fnmatch_lines("*in hang")


def test_run_by_files_goes_on_after_a_hung_test_and_ends(pytester: pytest.Pytester) -> None:
    """The process that hangs has run a whole file before, and two of three tests of its second one."""
    pytester.makeconftest("import support.hung_tests as hung\nhung.GRACE_S = 0.1\npytest_plugins = [hung.__name__]")
    passing = "import pytest\n\n@pytest.mark.parametrize('n', range(3))\ndef test_that_passes(n): pass\n"
    hung = HUNG.format(hung=IN_THE_CALL)
    files = {f"test_{n}": passing for n in range(6)} | {"test_hung": f"{hung}\n\n    def test_last(): pass"}
    pytester.makepyfile(
        **dict(sorted(files.items(), key=lambda each: each[0] not in ("test_0", "test_1", "test_hung")))
    )
    by_file = ("--dist", "loadfile", "--no-loadscope-reorder")
    result = pytester.runpytest_subprocess("-n", "2", *by_file, "--timeout", "3", *QUICK, timeout=120)
    result.assert_outcomes(passed=6 * 3 + 2, failed=1)


def test_files_of_the_pipeline_and_rules_of_the_house_run_in_one_process_each_and_others_in_any() -> None:
    files = ["tests/pipeline/test_jobs.py", "tests/pipeline/spark/test_spark_write.py", "tests/cli/test_command.py"]
    assert [scope_of(f"{file}::test_it[a::b]") for file in files] == ["pipeline", "pipeline", files[2]]
    rules = [scope_of(f"tests/{file}.py::test_it") for file in ("test_pages", "test_tidy", "test_wording")]
    assert len({*rules, files[2]}) == 2
