"""Prints what was done with topics, and the failures."""

from collections.abc import Sequence

from ...protocol.errors import KafkaError
from ..exit_codes import DONE, refusal
from ..output.columns import Column
from ..verb import Call
from .shapes import TopicChange

__all__ = ["print_changes"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("CHANGE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)


def print_changes(call: Call, changes: Sequence[TopicChange], failures: Sequence[KafkaError]) -> int:
    """Print the changes as data; each failure is a line on standard error. Returns the exit code.""" ""
    call.output.rows(changes, _COLUMNS, name=lambda row: row.topic)
    refused = [found for failure in failures if (found := refusal(failure)) is not None]
    for each in refused:
        call.output.fail(str(each))
    return refused[0].exit_code if refused else DONE
