"""Adds the time of each folder and of the slowest files, and the figures that tests record, to pytest's summary.

Also makes hypothesis try the same examples in every run.
"""

import gc
import os
from collections import defaultdict
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.examples import choose_profile
from support.file_groups import scope_of
from support.log_records import hold_no_objects
from support.processes.forked_process import forked_cpu_seconds
from support.source_tree import forget_trees
from test_suite import place_in_order

pytest_plugins = ["support.hung_tests"]

SLOWEST_FILES = 30
NEW_OBJECTS_PER_COLLECTION = 10_000


@dataclass
class Spent:
    """Seconds that tests took, by the clock and of processors."""

    seconds: float = 0.0
    processor_seconds: float = 0.0
    tests: int = 0

    def add(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        self.processor_seconds += getattr(report, "processor_s", 0.0)
        self.tests += report.when == "call"


SPENT_IN_FOLDERS: dict[str, Spent] = defaultdict(Spent)
SPENT_IN_FILES: dict[str, Spent] = defaultdict(Spent)
FIGURES: list[str] = []
BROKEN_PROMISES: list[str] = []  # tests that found something acknowledged lost, doubled or moved

hold_no_objects()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--against-kafka", action="store_true", help="run the interop tests against Apache Kafka")
    parser.addoption("--kill-rounds", type=int, default=5, help="how often the crash tests kill the broker")
    parser.addoption("--kill-seed", type=int, default=1, help="fixes the moments at which it does")
    parser.addoption("--fault-minutes", type=float, default=10, help="for how long brokers of a cluster fail")
    parser.addoption("--fault-seed", type=int, default=None, help="fixes how they do, as far as processes let that be")
    parser.addoption("--fuzz-frames", type=int, default=8_000, help="how many mutated frames a broker is sent")
    parser.addoption("--fuzz-seed", type=int, default=1, help="fixes the frames")
    parser.addoption("--fuzz-replay", default=None, help="a file that a failure saved: send its frames again")


def pytest_configure(config: pytest.Config) -> None:
    choose_profile(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place_in_order(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while modules are imported: nearly nothing of it is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude modules and test items, millions of objects, from garbage collections; they live until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_PER_COLLECTION)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Free what files of tests have parsed: the trees of the whole repository are millions of objects, which every
    garbage collection of later tests in this process would visit.
    """
    if nextitem is None or scope_of(item.nodeid) != scope_of(nextitem.nodeid):
        forget_trees()


def folder_of(node_id: str) -> str:
    parts = Path(node_id.partition("::")[0]).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


_used_before = 0.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what processor time a step of a test took, with the child processes that it waited for."""
    global _used_before
    report = yield
    used = sum(os.times()[:4]) + forked_cpu_seconds()
    vars(report)["processor_s"] = used - _used_before
    _used_before = used
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SPENT_IN_FOLDERS[folder_of(report.nodeid)].add(report)
    SPENT_IN_FILES[report.nodeid.partition("::")[0]].add(report)
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
    slowest = sorted(SPENT_IN_FILES, key=lambda file: -SPENT_IN_FILES[file].seconds)[:SLOWEST_FILES]
    write_spent(terminalreporter, "each folder", SPENT_IN_FOLDERS, sorted(SPENT_IN_FOLDERS))
    write_spent(terminalreporter, "the slowest files", SPENT_IN_FILES, slowest)


def write_spent(reporter: pytest.TerminalReporter, title: str, spent: Mapping[str, Spent], places: list[str]) -> None:
    reporter.write_sep("-", f"seconds of {title} (summed over workers), and those of processors")
    for place in places:
        each = spent[place]
        reporter.write_line(f"{each.seconds:8.1f} s {each.processor_seconds:8.1f} s  {each.tests:5d} tests  {place}")
