"""Works on several groups: all are tried, and each failure is a line on standard error."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..results import report
from ..verb import Call

__all__ = ["each_group"]

T = TypeVar("T")


def each_group(call: Call, names: Sequence[str], work: Callable[[str], T]) -> tuple[list[T], int]:
    """The results of ``work`` for the groups where it succeeded, and the exit code of the first failure."""
    done: list[T] = []
    failures: list[Exception] = []
    for name in dict.fromkeys(names):
        try:
            done.append(work(name))
        except Exception as error:
            failures.append(error)
    return done, report(call.output, failures)
