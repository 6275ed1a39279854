"""Runs of pytest inside a test, with pybroker's plugin."""

import importlib
import importlib.metadata
from contextlib import suppress

import pybroker.broker.library.cluster.cluster
import pybroker.broker.library.inspection.appending
import pybroker.broker.library.inspection.record_files
import pybroker.testkit.brokers
import pytest

__all__ = ["WITHOUT", "run_inside", "run_outside"]

MODULE = "pybroker.testkit.plugin"
IMPORTED_ONCE = (pybroker.broker.library.cluster.cluster, pybroker.broker.library.inspection.appending,
                 pybroker.broker.library.inspection.record_files, pybroker.testkit.brokers)  # fmt: skip
"""A run in this process forgets the modules that it imports; those that are here before stay."""


def _import_once(*names: str) -> None:
    """Import the libraries that are installed: a client has up to 150 modules, which each run would import again."""
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


_import_once("aiokafka", "confluent_kafka.admin", "confluent_kafka.aio", "kafka", "sqlite3", "unittest", "uvloop")
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:hypothesispytest")
"""Plugins that take a moment to load and that no test here needs."""


def _arguments() -> tuple[str, ...]:
    """Also names the plugin when pybroker was installed before it had one."""
    found = importlib.metadata.entry_points(group="pytest11")
    named = () if MODULE in {each.value for each in found} else ("-p", MODULE)
    loop_scope = ("-o", "asyncio_default_fixture_loop_scope=function")
    return (*named, *loop_scope, *WITHOUT, "-W", "ignore::DeprecationWarning")


ARGUMENTS = _arguments()


def run_inside(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process."""
    return pytester.runpytest_inprocess(*ARGUMENTS, *arguments)


def run_outside(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in a process of its own."""
    return pytester.runpytest_subprocess(*ARGUMENTS, *arguments)
