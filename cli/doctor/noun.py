"""The command ``pybroker doctor``."""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from ...base.command_parser import CommandParser
from ..connecting.v1_reader import add_v1_options, v1_reader
from ..exit_codes import DONE, UNHEALTHY
from ..verb import Call, Noun, Verb
from .checks import results
from .gathering import gathered
from .shapes import Diagnosis

__all__ = ["DOCTOR"]

_SUMMARY = "checks a cluster from the side of its clients, and tells how to mend what is wrong"


def _arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "bootstrap_server",
        metavar="HOST:PORT",
        nargs="?",
        default=argparse.SUPPRESS,  # so that its absence leaves the value of -b alone
        help="brokers to begin with, as with -b",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="on a broker's machine: also check its settings file, open files, disks and how long fsync takes",
    )
    add_v1_options(parser)


def _run(call: Call) -> int:
    """Exit code 10 when a check fails."""
    rows = list(results(gathered(call.cluster, v1_reader(call.options), call.options.config)))
    output = call.output
    if output.is_for_people:
        output.lines(list(_lines(rows)), str, name=str)
    else:
        output.rows(rows, (), name=lambda row: row.check)
    return UNHEALTHY if any(row.verdict == "FAIL" for row in rows) else DONE


def _lines(rows: Iterable[Diagnosis]) -> Iterator[str]:
    """One line a check, and one for its remedy. Checks in a row that were skipped for one reason share a line."""
    for (verdict, reason), group in groupby(
        rows, key=lambda row: (row.verdict, row.verdict == "skipped" and row.finding)
    ):
        together = list(group)
        if reason and len(together) > 1:
            yield f"{verdict:<7}  {together[0].check} to {together[-1].check}: {reason}"
            continue
        for row in together:
            yield f"{row.verdict:<7}  {row.check}  {row.title}: {row.finding}"
            if row.remedy is not None:
                yield f"{'':14}try  {row.remedy}"


DOCTOR = Noun("doctor", f"{_SUMMARY[0].upper()}{_SUMMARY[1:]}.", (Verb("", _SUMMARY, _arguments, _run, row=Diagnosis),))
