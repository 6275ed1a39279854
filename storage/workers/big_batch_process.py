"""The child process that runs work on large batches; `big_batches.py` starts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .child_process import serve_tasks
from .unpacking import read_all_in_this_process

_NICENESS = 5
"""Lower priority than the broker, so that small batches come first; but producers wait for this work."""
_IDLE_S = 10.0


def main() -> None:
    """Run tasks; each is a function and its arguments."""
    read_all_in_this_process()
    serve_tasks(_run, niceness=_NICENESS, idle_s=_IDLE_S)


def _run(task: tuple[Callable[..., Any], tuple[Any, ...]], report: Callable[[Any], None]) -> Any:
    function, arguments = task
    return function(*arguments)
