"""``pybroker consume TOPIC``: its arguments, and how they become a run."""

import argparse
import os
import stat
import sys

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.progress_line import ProgressLine
from ...base.topic_partition import TopicPartition
from ...client.fetching.partition_reader import PartitionReader
from ...client.record_filter import BatchSearch, QueryError, parse_query
from ..exit_codes import DONE
from ..verb import Call, Noun, Verb
from .consumption import Consumption
from .forms import FORMS, Printer, chosen_form
from .places import Place, chosen_partitions, ends_of, parse_start, parse_until, starts_of
from .shapes import ConsumedRecord

__all__ = ["CONSUME"]

_SUMMARY = "prints the records of topics"
_RETRY_S = 60.0


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topics", metavar="TOPIC[:P[-P]]", nargs="+", help="a topic, one of its partitions, or a range of them")
    add(
        "-o",
        "--offset",
        metavar="PLACE",
        default="start",
        help="start, end, 500, -10 (the last 10), @TIME, @-15m (%(default)s)",
    )
    add("--until", metavar="PLACE", help="end, +10 (so many offsets further), @TIME; without it reading goes on and on")
    add("--follow", action="store_true", help="go on and on, as without --until")
    add("-n", "--count", metavar="N", type=_count, help="stop after so many records")
    add("-f", "--format-string", metavar="TEXT", help=r"as in kcat, such as '%%t %%p %%o %%T %%k %%v %%h\n'")
    add(
        "--format",
        metavar="FORM",
        choices=FORMS,
        help=f"{', '.join(FORMS)} ({FORMS[0]}: one value a line)",
    )
    add("--headers", action="store_true", help="put the headers and a tab in front of each value")
    add("-g", "--group", metavar="GROUP", help="read as a member of this group, from its committed offsets")
    add("--commit", action="store_true", help="with -g: commit the offsets of what was printed")
    add("--filter", metavar="QUERY", help="records that match, such as 'status:failed user.id=42 offset>=100'")
    add("--rate", metavar="N", type=_rate, help="at most so many records a second")
    add(
        "--read-committed",
        dest="settings",
        action="append_const",
        const="isolation.level=read_committed",
        default=[],
        help="leave out records of transactions that are open or aborted",
    )


def _run(call: Call) -> int:
    options = call.options
    if options.follow and options.until is not None:
        raise CommandError("--follow and --until exclude each other", BAD_INPUT)
    if options.commit and options.group is None:
        raise CommandError("--commit needs --group", BAD_INPUT)
    if options.format_string is not None and (options.format is not None or options.headers):
        raise CommandError("--format-string excludes --format and --headers: it says all", BAD_INPUT)
    start = parse_start(options.offset)
    until = None if options.until is None else parse_until(options.until)
    is_terminal = sys.stdout.isatty() and options.format != "raw"
    form = chosen_form(
        options.format or FORMS[0], options.format_string, with_headers=options.headers, is_terminal=is_terminal
    )
    printer = Printer(form, sys.stdout.buffer)
    consumption = Consumption(printer, limit=options.count, search=_search(options.filter), rate=options.rate)
    try:
        if options.group is not None:
            _read_as_member(call, start, until, consumption)
        else:
            starts = starts_of(call.cluster, chosen_partitions(call.cluster, options.topics), start, call.output.say)
            reader = _reader(call, starts, until)
            progress = _progress(call, reader)
            for found in reader.batches():
                consumption.take(found)
                progress.tick()
                if consumption.is_full:
                    break
            progress.clear()
    finally:
        printer.end()
    return DONE


def _reader(call: Call, starts: dict[TopicPartition, int], until: Place | None) -> PartitionReader:
    ends = ends_of(call.cluster, starts, until)
    return PartitionReader(call.cluster, starts, ends, call.output.say, max(_RETRY_S, call.options.timeout))


def _progress(call: Call, reader: PartitionReader) -> ProgressLine:
    """How far the reading is, while the records go into a file and there is an end."""
    total = reader.left
    if not total or not _goes_into_file():
        return ProgressLine(None, str)
    return call.output.progress(
        lambda elapsed_s: (
            f"{total - (reader.left or 0):,} of {total:,} offsets, "
            f"{(total - (reader.left or 0)) / elapsed_s:,.0f} a second"
        ),
        lambda: 1 - (reader.left or 0) / total,
    )


def _goes_into_file() -> bool:
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except OSError:  # it is no file of the system
        return False


def _read_as_member(call: Call, start: Place, until: Place | None, consumption: Consumption) -> None:
    from .group_reading import read_as_member

    options = call.options
    if any(":" in topic for topic in options.topics):
        raise CommandError("--group reads whole topics, because the group assigns the partitions", BAD_INPUT)
    chosen_partitions(call.cluster, options.topics)

    def make_reader(committed: dict[TopicPartition, int], others: list[TopicPartition]) -> PartitionReader:
        return _reader(call, committed | starts_of(call.cluster, others, start, call.output.say), until)

    read_as_member(
        *(call.cluster, options.group, options.topics, consumption, make_reader),
        commits=options.commit,
        waits=until is None,
    )


def _search(query: str | None) -> BatchSearch | None:
    if query is None:
        return None
    try:
        return BatchSearch(parse_query(query))
    except QueryError as error:
        raise CommandError(f"--filter: {error} (at character {error.at + 1})", BAD_INPUT) from None


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 < rate < 1e12:
        raise argparse.ArgumentTypeError("must be above 0")
    return rate


_VERB = Verb("", _SUMMARY, _arguments, _run, row=ConsumedRecord, prints_itself=True)
CONSUME = Noun("consume", f"{_SUMMARY.capitalize()}.", (_VERB,))
