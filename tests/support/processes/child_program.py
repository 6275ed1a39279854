"""A child process for `test_child_process.py`. A task is the name of a function below and its arguments."""

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from pybroker.protocol.errors import UnknownTopicOrPartitionError
from pybroker.storage.errors import InvalidRecordsError, RecordError
from pybroker.storage.workers.child_process import serve_tasks


def main() -> None:
    serve_tasks(lambda task, report: TASKS[task[0]](report, *task[1:]), niceness=3)


def main_with_little_patience() -> None:
    serve_tasks(lambda task, report: task, idle_s=0.01)


def _count(report: Callable[[Any], None], count: int) -> str:
    for number in range(count):
        report(number)
    return "counted"


def _print(report: Callable[[Any], None]) -> str:
    sys.stdout.write("not a message\n")
    sys.stdout.flush()
    os.write(1, b"nor is this")
    logging.warning("nor a log line")
    return "printed"


def _refuse(report: Callable[[Any], None]) -> None:
    raise InvalidRecordsError("no", [RecordError(3, "key")])


def _miss(report: Callable[[Any], None]) -> None:
    raise UnknownTopicOrPartitionError


def _open(report: Callable[[Any], None], path: str) -> None:
    with open(path, "rb"):
        pass


def _fail(report: Callable[[Any], None]) -> None:
    raise ZeroDivisionError("a bug")


def _report_for_ever(report: Callable[[Any], None]) -> None:
    while True:
        report(b"x" * 1000)


def _sleep(report: Callable[[Any], None]) -> None:
    report("asleep")
    time.sleep(3600)


TASKS: dict[str, Callable[..., Any]] = {
    "echo": lambda report, value: value,
    "priority": lambda report: os.getpriority(os.PRIO_PROCESS, 0),
    "count": _count,
    "print": _print,
    "refuse": _refuse,
    "miss": _miss,
    "open": _open,
    "fail": _fail,
    "report for ever": _report_for_ever,
    "sleep": _sleep,
}
