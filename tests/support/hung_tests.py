"""A pytest plugin that ends a process in which a test hangs where pytest-timeout cannot reach it.

**Why.** pytest-timeout raises an exception in the test by a signal. Python handles signals only between its own
instructions, so a call into C that never returns, such as closing a librdkafka consumer, never sees it; and after a
failure pytest-timeout no longer watches the teardown. One such test would hold the whole run until the machine's limit.
Here a thread in C prints all stacks and ends the process; pytest-xdist counts the test as failed and goes on with
another process. Its scheduler 3.8 would hand out again what the ended process had finished: a file without tests left
to run, for which the next process would wait for ever. `OnlyUnfinishedFiles` hands out the rest alone.
"""

import faulthandler
import time
from collections.abc import Generator
from typing import Any, Protocol

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from support.file_groups import scope_of
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

GRACE_S = 60.0
"""Seconds in which pytest-timeout can end a test by its own means."""
LIMIT_S = pytest.StashKey[float]()
_ends: dict[float, float] = {}
"""When this process ends if nothing happens, by the limit of which test; empty or one entry."""


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
def pytest_runtest_protocol(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        if nextitem is None:
            faulthandler.cancel_dump_traceback_later()
            _ends.clear()


def watch(item: pytest.Item) -> None:
    """Ends this process when the test's limit is over, from now on; replaces an earlier call.

    An earlier call for the same limit is left as it is when it ends the process nearly as late. Otherwise each test
    would start and end two threads, and wait for a processor each time.
    """
    limit_s, now_s = item.stash[LIMIT_S], time.monotonic()
    if limit_s - GRACE_S / 6 < _ends.get(limit_s, 0.0) - now_s:
        return
    _ends.clear()
    _ends[limit_s] = now_s + limit_s
    stderr = item.config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(limit_s, file=stderr, exit=True)


class OnlyUnfinishedFiles(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives whole files of tests to processes, and of a process that ended those tests alone that have not run."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Returns the test during which the process ended; None when it had nothing left to do."""
        files = self.assigned_work.pop(node)
        waiting = [(file, test) for file, tests in files.items() for test, is_done in tests.items() if not is_done]
        if not waiting:
            return None
        (file, test), *_ = waiting
        files[file][test] = True
        self.workqueue.update({each: tests for each, tests in files.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return str(test)

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def schedule(self) -> None:
        super().schedule()
        for node in self.nodes:  # a process starts its last test only when it knows what comes next
            self._reschedule(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Any:
    return OnlyUnfinishedFiles(config, log) if config.getvalue("dist") == "loadfile" else None
