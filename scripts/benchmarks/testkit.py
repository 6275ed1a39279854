"""Rows about the test kit, without Kafka: `scripts/bench --only "test kit"`."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pybroker.broker.library.cluster.cluster import Cluster

from benchmarks.contestants import Contestant
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_most

__all__ = ["TEST_KIT"]

_TESTS = 100
_FILE = """\
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_with_a_broker_of_its_own(kafka_broker, number):
    kafka_broker.append("orders", b"a record")
    assert len(kafka_broker.records("orders")) == 1
"""
_PLUGINS = ("-p", "no:cacheprovider", "-p", "pybroker.testkit.plugin", "-p", "xdist", "-p", "pytest_asyncio")
_RUN_TOOK = re.compile(r"\b(\d+) passed\b.* in ([\d.]+)s")


def tests_with_brokers(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures what pytest says of its run: its own start is not in it, that of its workers is.

    Each worker imports the plugins of pytest that it finds. Only those of a project that installs the test kit are
    loaded, not the many of pybroker's own tests, which take each worker a second of CPU time.
    """
    tests = max(int(_TESTS * scale), 1)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        (Path(directory) / "test_orders.py").write_text(_FILE.format(tests=tests))
        return {"pybroker": {"s": _pytest_s(directory, tests), "s with -n 2": _pytest_s(directory, tests, "-n", "2")}}


def _pytest_s(directory: str, tests: int, *options: str) -> float:
    command = [sys.executable, "-m", "pytest", "-q", *_PLUGINS, "--rootdir", directory, *options, directory]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = _RUN_TOOK.search(done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) == tests, done.stdout
    return float(found[2])


def cluster_of_three(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures from the call until three brokers are registered and ready. The first start also imports the broker."""
    seconds = []
    for _ in range(3):
        started = time.monotonic()
        with Cluster(3):
            seconds.append(time.monotonic() - started)
    return {"pybroker": {"s": seconds[0], "s later": min(seconds[1:])}}


TEST_KIT = (
    Scenario(
        "test kit: 100 tests with a broker each", (at_most("s", 3), at_most("s with -n 2", 3)), tests_with_brokers
    ),
    Scenario("test kit: a cluster of three", (at_most("s", 0.4),), cluster_of_three),
)
