"""Gives the tests of the console's pages a browser and a console that serves a made-up cluster."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.console.browser import browser as started_browser
from support.console.fake_cluster import FakeCluster
from support.console.fake_console import FakeConsole, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="module")
def module_console() -> Iterator[FakeConsole]:
    with serving(FakeConsole(FakeCluster())) as console:
        yield console


@pytest.fixture
def console(module_console: FakeConsole) -> FakeConsole:
    """The console of the module with a new cluster, which a test may replace."""
    module_console.cluster = FakeCluster()
    return module_console
