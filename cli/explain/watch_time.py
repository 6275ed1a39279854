"""The arguments that name a group, and say for how long it is watched and how long a rebalance may take."""

import argparse

from ...base.command_parser import CommandParser
from ..connecting.v1_reader import add_v1_options

__all__ = ["add_group_arguments"]

_LONGEST_S = 3600


def add_group_arguments(parser: CommandParser, watch_s: float) -> None:
    """Add the arguments to the parser of a verb that watches a group for ``watch_s`` by default."""
    parser.add_argument("group", metavar="GROUP", help="name of a group")
    parser.add_argument(
        "--for",
        dest="watch",
        metavar="SECONDS",
        type=_seconds,
        default=watch_s,
        help="for how long to watch a group that has lag or rebalances (%(default)g)",
    )
    parser.add_argument(
        "--stuck-after",
        metavar="SECONDS",
        type=_seconds,
        default=5.0,
        help="a rebalance that takes longer is trouble (%(default)g)",
    )
    add_v1_options(parser)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be from 0 to {_LONGEST_S}")
    return seconds
