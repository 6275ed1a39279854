"""A pytest plugin that ends a process in which a test hangs where pytest-timeout cannot reach it.

**Why.** pytest-timeout raises an exception in the test by a signal. Python handles signals only between its own
instructions, so a call into C that never returns, such as closing a librdkafka consumer, never sees it; and after a
failure pytest-timeout no longer watches the teardown. One such test would hold the whole run until the machine's limit.
Here a thread in C prints all stacks and ends the process; pytest-xdist counts the test as failed and goes on with
another process.
"""

import faulthandler
from collections.abc import Generator
from typing import Protocol

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

GRACE_S = 60.0
"""Seconds in which pytest-timeout can end a test by its own means."""
LIMIT_S = pytest.StashKey[float]()


class TimeoutSettings(Protocol):
    """The settings of pytest-timeout for one test. ``timeout``: seconds."""

    timeout: float


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: TimeoutSettings) -> Generator[None, object, object]:
    item.stash[LIMIT_S] = settings.timeout + GRACE_S
    watch(item)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    if LIMIT_S in item.stash:
        watch(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def watch(item: pytest.Item) -> None:
    """Ends this process when the test's limit is over, from now on; replaces an earlier call."""
    stderr = item.config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(item.stash[LIMIT_S], file=stderr, exit=True)
