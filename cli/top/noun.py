"""``pybroker top``: its arguments, the live screen on a terminal, and tables elsewhere."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from itertools import count

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ..connecting.v1_reader import add_v1_options, v1_reader
from ..exit_codes import DONE
from ..output.table import table
from ..verb import Call, Noun, Verb
from .keys import KEYS_HELP
from .live import Looks, watch
from .protocol_looks import ProtocolLooks
from .sections import SECTIONS
from .shapes import TopView
from .v1_looks import V1Looks

__all__ = ["TOP"]

_SUMMARY = "shows the busiest brokers and topics, and the groups that are behind"
_MOST_ROWS = 20
"""Rows of a table for people; JSON has all."""


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("-d", "--delay", metavar="SECONDS", type=_seconds, default=1.0, help="between two looks (%(default)g)")
    add(
        "-n",
        "--looks",
        metavar="N",
        type=_positive,
        help=f"print tables, so many times; without it, on a terminal, a live screen with keys: {KEYS_HELP}",
    )
    add("-f", "--filter", metavar="TEXT", default="", help="only topics, groups and brokers whose name has this text")
    add_v1_options(parser)


def _run(call: Call) -> int:
    options = call.options
    reader = v1_reader(options)
    looks: Looks = ProtocolLooks(call.cluster) if reader is None else V1Looks(reader)
    if options.looks is None and call.output.form == "table" and _is_terminal():
        from .terminal import Terminal

        return watch(looks, options.delay, Terminal(sys.stdin.fileno(), sys.stdout.fileno()), options.filter)
    if looks.needs_two:
        looks.view()
        time.sleep(options.delay)
    for number in count(1):
        view = looks.view()
        call.output.documents([view], lambda each: _lines(each, options.filter), name=lambda each: each.source)
        for problem in view.problems:
            call.output.say(problem)
        if number >= (options.looks or 1):
            break
        sys.stdout.flush()
        time.sleep(options.delay)
    return DONE


def _lines(view: TopView, text: str) -> Iterator[str]:
    clock = time.strftime("%H:%M:%S", time.localtime(view.time_ms / 1000))
    yield f"{clock}  source: {printable(view.source)}"
    for section in SECTIONS:
        rows = section.chosen(view, text, section.first_sort, is_reversed=False)
        yield ""
        yield from table(rows[:_MOST_ROWS], section.columns)
        if len(rows) > _MOST_ROWS:
            yield f"and {len(rows) - _MOST_ROWS:,} more (-o json)"


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError("must be from 0.1 to 3600")
    return seconds


_VERB = Verb("", _SUMMARY, _arguments, _run, row=TopView)
TOP = Noun("top", f"{_SUMMARY.capitalize()}.", (_VERB,))
