"""A pytest plugin that ends a process in which a test hangs where pytest-timeout cannot reach it.

**Why.** pytest-timeout raises an exception in the test by a signal. Python handles signals only between its own
instructions, so a call into C that never returns, such as closing a librdkafka consumer, never sees it; and after a
failure pytest-timeout no longer watches the teardown. One such test would hold the whole run until the machine's limit.
Here a thread in C prints all stacks and ends the process; pytest-xdist counts the test as failed and goes on with
another process. Its scheduler 3.8 would hand out again what the ended process had finished: a file without tests left
to run, for which the next process would wait for ever. `OnlyUnfinishedFiles` hands out the rest alone.
"""

import faulthandler
from collections.abc import Generator
from typing import Any, Protocol

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

GRACE_S = 60.0
"""Seconds in which pytest-timeout can end a test by its own means."""
LIMIT_S = pytest.StashKey[float]()
TOGETHER = ("tests/pipeline",)
"""Folders whose files run in one process. A Spark session of `tests/pipeline` takes 10 s of CPU to start, and its first
queries take several times as long as later ones.
"""


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


def scope_of(node_id: str) -> str:
    """Returns the file, or the folder, whose tests run in the same process as this test."""
    return next((folder for folder in TOGETHER if node_id.startswith(f"{folder}/")), node_id.partition("::")[0])


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
