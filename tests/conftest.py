"""Adds the time that each folder of tests took, and the figures that tests record, to pytest's summary.

Also makes hypothesis try the same examples in every run.
"""

import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support.log_records import hold_no_objects
from support.source_tree import tree_of

FOLDER_SECONDS: dict[str, float] = defaultdict(float)
FOLDER_PROCESSOR_SECONDS: dict[str, float] = defaultdict(float)
FOLDER_COUNTS: dict[str, int] = defaultdict(int)
FIGURES: list[str] = []
BROKEN_PROMISES: list[str] = []  # tests that found something acknowledged lost, doubled or moved

# The same examples in every run: fresh ones are for the long forms. No deadline: machines are shared and noisy.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
hold_no_objects()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--against-kafka", action="store_true", help="run the interop tests against Apache Kafka")
    parser.addoption("--kill-rounds", type=int, default=5, help="how often the crash tests kill the broker")
    parser.addoption("--kill-seed", type=int, default=1, help="fixes the moments at which it does")
    parser.addoption("--fault-minutes", type=float, default=10, help="for how long brokers of a cluster fail")
    parser.addoption("--fault-seed", type=int, default=None, help="fixes how they do, as far as processes let that be")
    parser.addoption("--fuzz-frames", type=int, default=20_000, help="how many mutated frames a broker is sent")
    parser.addoption("--fuzz-seed", type=int, default=1, help="fixes the frames")
    parser.addoption("--fuzz-replay", default=None, help="a file that a failure saved: send its frames again")


@pytest.fixture(autouse=True, scope="module")
def forget_syntax_trees() -> Iterator[None]:
    """Free what a module has parsed: the trees of the whole repository are millions of objects, which every garbage
    collection of later tests in this process would visit.
    """
    yield
    tree_of.cache_clear()


def folder_of(node_id: str) -> str:
    parts = Path(node_id.partition("::")[0]).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


_used_before = sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what processor time a step of a test took, with the child processes that it waited for."""
    global _used_before
    report = yield
    used = sum(os.times()[:4])
    vars(report)["processor_s"] = used - _used_before
    _used_before = used
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    folder = folder_of(report.nodeid)
    FOLDER_SECONDS[folder] += report.duration
    FOLDER_PROCESSOR_SECONDS[folder] += getattr(report, "processor_s", 0.0)
    FOLDER_COUNTS[folder] += report.when == "call"
    if report.failed and "BrokenPromiseError" in report.longreprtext:
        BROKEN_PROMISES.append(report.nodeid)
    if report.when == "call" and report.user_properties:
        figures = ", ".join(f"{name} {value}" for name, value in report.user_properties)
        FIGURES.append(f"{report.nodeid.rpartition('::')[2]}: {figures}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    cache = getattr(session.config, "cache", None)  # none with ``-p no:cacheprovider``
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set("broken/promises", BROKEN_PROMISES)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in FIGURES:
        terminalreporter.write_line(line)
    terminalreporter.write_sep("-", "seconds of each folder (summed over workers), and those of processors")
    for folder in sorted(FOLDER_SECONDS):
        terminalreporter.write_line(
            f"{FOLDER_SECONDS[folder]:8.1f} s {FOLDER_PROCESSOR_SECONDS[folder]:8.1f} s  "
            f"{FOLDER_COUNTS[folder]:5d} tests  {folder}"
        )
