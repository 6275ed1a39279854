"""Prints what was done with topics, and the failures."""

from collections.abc import Sequence

from ..output.columns import Column
from ..results import print_results
from ..verb import Call
from .shapes import TopicChange

__all__ = ["print_changes"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("CHANGE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)


def print_changes(call: Call, changes: Sequence[TopicChange], failures: Sequence[Exception]) -> int:
    """Print the changes as data; each failure is a line on standard error. Returns the exit code."""
    return print_results(call.output, changes, _COLUMNS, lambda row: row.topic, failures)
