"""Prints what a command changed, and why parts of the work failed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .exit_codes import DONE, refusal
from .output.columns import Column
from .output.output import Output

__all__ = ["print_results", "report"]


def print_results(
    output: Output,
    rows: Sequence[Any],
    columns: Sequence[Column],
    name: Callable[[Any], str],
    failures: Iterable[Exception],
) -> int:
    """Print rows as data and each failure as a line on standard error. Returns the exit code."""
    output.rows(rows, columns, name)
    return report(output, failures)


def report(output: Output, failures: Iterable[Exception]) -> int:
    """Print each failure. Returns the exit code of the first, or DONE. An error that is a bug of ours is raised."""
    code = DONE
    for failure in failures:
        refused = refusal(failure)
        if refused is None:
            raise failure
        output.fail(str(refused))
        code = code or refused.exit_code
    return code
