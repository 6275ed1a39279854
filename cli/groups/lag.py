"""``pybroker groups lag``: how far groups are behind, in records and in seconds, with a bound for checks."""

import argparse
import sys
import time
from datetime import UTC, datetime

from ...base.command_parser import CommandParser
from ..exit_codes import DONE, UNHEALTHY
from ..output.columns import Column, duration_text
from ..verb import Call, Verb
from ..visible_topics import none_of
from .describe_groups import described_with_offsets
from .each_group import each_group
from .group_partitions import lost_records, with_lag_seconds
from .lag_bound import lag_bound
from .shapes import GroupPartition

__all__ = ["LAG"]

_COLUMNS = (
    Column("GROUP", lambda row: row.group),
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: str(row.partition)),
    Column("LAG", lambda row: row.lag),
    Column("OLDEST UNREAD", lambda row: _age(row)),
    Column("CLIENT", lambda row: row.client_id),
    Column("OFFSET", lambda row: None if row.committed is None else str(row.committed), is_wide=True),
    Column("END", lambda row: None if row.end_offset is None else str(row.end_offset), is_wide=True),
    Column("HOST", lambda row: row.host, is_wide=True),
    Column("MEMBER", lambda row: row.member_id, is_wide=True),
)
_MOST_REASONS = 20


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("groups", metavar="GROUP", nargs="*", help="name of a group; default: all groups with offsets")
    add("--all", action="store_true", help="also partitions without lag")
    add("--watch", action="store_true", help="look again and again, until Ctrl-C")
    add("--interval", metavar="SECONDS", type=_interval, default=2.0, help="between two looks (%(default)g)")
    add(
        "--fail-above",
        metavar="BOUND",
        type=lag_bound,
        help="exit with 10 when a partition has a larger lag: records, such as 1000, or the age of the oldest unread "
        "record, such as 30s or 5m; also when the lag is unknown, or unread records were deleted",
    )


def _run(call: Call) -> int:
    options = call.options
    while True:
        code = _look(call)
        if not options.watch or code == UNHEALTHY:
            return code
        sys.stdout.flush()
        time.sleep(options.interval)
        if call.output.is_for_people:
            call.output.say(f"-- {datetime.now(UTC):%H:%M:%S} UTC")


def _look(call: Call) -> int:
    options, output = call.options, call.output
    names = options.groups or _groups_with_offsets(call)
    found, code = each_group(call, names, lambda name: _lags(call, name))
    rows = [row for rows in found for row in rows]
    shown = [row for row in rows if options.all or row.lag != 0 or row.problem or row.is_offset_lost]
    output.rows(shown, _COLUMNS, name=lambda row: f"{row.group} {row.topic}-{row.partition}")
    if rows and not shown:
        output.say("no lag")
    elif not rows and code == DONE:
        output.say(none_of(call.cluster, "groups with offsets"))
    if options.fail_above is None:
        return code
    reasons = [reason for row in rows if (reason := options.fail_above.excess(row)) is not None]
    for reason in reasons[:_MOST_REASONS]:
        output.fail(reason)
    return UNHEALTHY if reasons else code


def _groups_with_offsets(call: Call) -> list[str]:
    from .described_groups import listed_groups

    groups, failures = listed_groups(call.cluster)
    if failures:
        raise failures[0]
    return [each.group for each in groups]


def _lags(call: Call, name: str) -> list[GroupPartition]:
    return with_lag_seconds(call.cluster, described_with_offsets(call.cluster, name).partitions)


def _age(row: GroupPartition) -> str | None:
    if row.problem is not None:
        return row.problem
    if row.committed is None:
        return "no offset"
    lost = lost_records(row)
    if row.is_offset_lost:
        said = f"{lost:,} lost" if lost else "offset behind the end"
        return f"{duration_text(row.lag_seconds)}, {said}" if row.lag else said
    return duration_text(row.lag_seconds)


def _interval(text: str) -> float:
    seconds = float(text)
    if not 0.1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError("must be from 0.1 to 86400")
    return seconds


LAG = Verb("lag", "show how far groups are behind, in records and in seconds", _arguments, _run, row=GroupPartition)
